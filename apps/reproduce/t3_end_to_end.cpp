#include "reproduce/t3_end_to_end.hpp"

#include <vector>

#include "base/check.hpp"
#include "gemm/kernels.hpp"

namespace cortado::pipeline {
namespace {

// Shares of run time in the measured breakdown that the paper scaled: attention 0.40 to 0.45, all-reduces up to this.
constexpr double kAttentionShare = 0.42;
constexpr double kTrainingReduces = 0.34;
constexpr double kPromptReduces = 0.43;

// Of the operations of all GEMMs, those of the all-reduced sub-layers: 3 of 9 and 1.25 of 3 times those of FC-2.
constexpr double kTrainingProducts = 3.0 / 9;
constexpr double kPromptProducts = 1.25 / 3;

constexpr double kSequence = 1024;  // tokens
constexpr std::uint64_t kHeadDim = 128;

// Operations of the GEMMs that are not all-reduced, in those of FC-2.
constexpr double kForwardProducts = 0.75 + 1;                         // IP, FC-1
constexpr double kBackwardProducts = 0.25 + 1 + 0.75 + 0.25 + 1 + 1;  // inputs of OP and FC-2; weights of all four

/// Of tokens x hidden, that norms, dropout and residuals of a layer read and write.
constexpr double kNormPasses = 10;

double fused_rest(const T3Layer& layer, bool training) {
  const GemmShape& gemm = layer.fc2->problem.gemm();
  const auto tokens = static_cast<double>(gemm.m);
  const auto hidden = static_cast<double>(gemm.n);
  const double width = hidden / layer.fc2->problem.ranks;
  AttentionShape attention{.scores = tokens * kSequence / 2 * width / static_cast<double>(kHeadDim),
                           .key_dim = kHeadDim,
                           .value_dim = kHeadDim,
                           .bytes = 4 * 2 * tokens * width,
                           .dtype = gemm.dtype};
  const double stream = stream_seconds(2 * tokens * (kNormPasses * hidden + 8 * width), *layer.machine);
  double seconds = attention_seconds(attention, *layer.machine) + stream;
  if (!training) return seconds;
  attention.backward = true;
  return seconds + attention_seconds(attention, *layer.machine) + 2 * stream;
}

}  // namespace

double t3_end_to_end(const T3Layer& layer, std::string_view way, bool training, bool fused) {
  std::vector<const OverlapReport*> reduced{layer.op, layer.fc2};
  if (training) reduced.insert(reduced.end(), {layer.fc1, layer.ip});
  double serial = 0;
  double with = 0;
  for (const OverlapReport* report : reduced) {
    const OverlapRow* row = report->row(way);
    CORTADO_CHECK(row != nullptr, "the way was simulated");
    serial += to_seconds(report->in_parts->time);
    with += to_seconds(row->time);
  }
  if (fused) {
    const double others = to_seconds(layer.fc2->gemm_alone) * (kForwardProducts + (training ? kBackwardProducts : 0)) +
                          fused_rest(layer, training);
    return (serial + others) / (with + others);
  }
  const double reduces = training ? kTrainingReduces : kPromptReduces;
  const double products = training ? kTrainingProducts : kPromptProducts;
  const double share = reduces + products * (1 - kAttentionShare - reduces);
  return 1 / (1 - share + share * with / serial);
}

}  // namespace cortado::pipeline
