// kraken (PyTorch): all-gather and GEMM on H100, by tiles that wait and by a GEMM for every shard
// (published/kraken.toml).
#include <algorithm>
#include <map>

#include "cortado/study.hpp"

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

/// The last word of a figure's name: MxNxK.
GemmShape kraken_shape(const std::string& figure) {
  GemmShape shape;
  const std::size_t m = figure.rfind(' ') + 1;
  const std::size_t n = figure.find('x', m) + 1;
  const std::size_t k = figure.find('x', n) + 1;
  shape.m = std::stoull(figure.substr(m));
  shape.n = std::stoull(figure.substr(n));
  shape.k = std::stoull(figure.substr(k));
  return shape;
}

double kraken_speedup(const OverlapReport& report, const char* strategy) {
  const OverlapRow* serial = report.row("serial");
  const OverlapRow* row = report.row(strategy);
  if (serial == nullptr || row == nullptr) return 0;
  return microseconds(serial->time) / microseconds(row->time);
}

double kraken_value(const std::string& figure, const OverlapReport& report) {
  if (figure.starts_with("serial")) return microseconds(report.row("serial")->time);
  const double shards = kraken_speedup(report, "shard-p2p");
  if (figure.starts_with("async-tp")) return shards;
  CORTADO_CHECK(figure.starts_with("best"), "every figure of kraken.toml is computed here");
  return std::max(shards, kraken_speedup(report, "tiles-ag"));
}

}  // namespace

Outcome<report::Reproduction> reproduce_kraken(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options) {
  std::map<std::string, OverlapReport> reports;  // by shape
  std::vector<GemmShape> shapes;
  for (const published::Figure& figure : publication.figures) {
    const GemmShape shape = kraken_shape(figure.name);
    if (reports.try_emplace(to_string(shape)).second) shapes.push_back(shape);
  }
  const auto studied = run_all(shapes.size(), options, [&](std::size_t i) -> Outcome<void> {
    const OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                                 .gemms = {shapes[i]},
                                 .collectives = {{.collective = "all-gather", .runtime = RuntimeMode::library}}};
    // Every key exists already, and is set by one thread.
    CORTADO_ASSIGN_OR_RETURN(reports.at(to_string(shapes[i])),
                             study_overlap(problem, machine, {.strategies = {"serial", "shard-p2p", "tiles-ag"}}));
    return {};
  });
  if (!studied) return tl::unexpected(studied.error());
  return with_figures(publication, machine, [&](const std::string& name) {
    return kraken_value(name, reports.at(to_string(kraken_shape(name))));
  });
}

}  // namespace cortado::pipeline
