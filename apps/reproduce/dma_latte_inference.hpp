// The inference half of DMA-Latte. Its models, contexts, hit rates and baseline are not published: a stated set of them
// gives a distribution, which is compared with the published maxima. Nothing was fitted to these.
//
//   latency      time to the first token of one request on an idle machine, part of whose prompt is in host memory
//   throughput   prompts per second of many concurrent requests, one token each
//   loop         a runtime call for every fragment of a block; batch: calls with lists of fragments. Fragments are
//   those of
//                a layer; with blocks in one piece (cross-layer) there are 61 to 160 times fewer
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "reproduce/reproduction.hpp"

namespace cortado::pipeline {

/// The gain of b2b over a baseline, in one case.
struct InferenceGain {
  std::string model;
  std::uint32_t tp = 1;
  std::uint32_t context = 0;  ///< tokens of a prompt
  double hit_rate = 0;
  double loop_latency = 0;  ///< over b2b
  double batch_latency = 0;
  double loop_throughput = 0;
  double batch_throughput = 0;
  double recompute_latency = 0;
  std::optional<double> whole_latency{};  ///< loop over b2b, blocks in one piece; none: latents have no such layout
  std::optional<double> whole_throughput{};
};

Outcome<std::vector<InferenceGain>> inference_gains(const Machine& machine);

/// "inference latency over loop" and so on: the largest gain.
double inference_figure(const std::string& name, const std::vector<InferenceGain>& gains);

/// Every case, and least, median and most.
report::Table inference_table(const std::vector<InferenceGain>& gains);

}  // namespace cortado::pipeline
