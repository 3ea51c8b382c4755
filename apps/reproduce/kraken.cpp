// kraken (PyTorch): all-gather and GEMM on H100, by tiles that wait and by a GEMM for every shard; GEMM and
// reduce-scatter by kraken and by Triton-distributed (published/kraken.toml).
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

/// What a figure is about: the number of GPUs, if not all, and MxNxK are the last words of its name. Those of a GEMM
/// before a reduce-scatter begin with "rs".
struct KrakenCase {
  bool gemm_first = false;
  std::uint32_t ranks = 0;
  GemmShape shape;

  explicit KrakenCase(const std::string& figure) : gemm_first(figure.starts_with("rs")) {
    const std::size_t m = figure.rfind(' ') + 1;
    const std::size_t n = figure.find('x', m) + 1;
    const std::size_t k = figure.find('x', n) + 1;
    shape.m = std::stoull(figure.substr(m));
    shape.n = std::stoull(figure.substr(n));
    shape.k = std::stoull(figure.substr(k));
    const std::size_t word = figure.rfind(' ', m - 2) + 1;
    if (std::isdigit(static_cast<unsigned char>(figure[word])) != 0) {
      ranks = static_cast<std::uint32_t>(std::stoul(figure.substr(word)));
    }
  }
  std::string key() const { return fmt::format("{} {} {}", gemm_first, ranks, to_string(shape)); }
};

Outcome<OverlapReport> study(const KrakenCase& one, const Machine& machine) {
  OverlapProblem problem{.relation = Relation::gemm_needs_collective,
                         .gemms = {one.shape},
                         .collectives = {{.collective = "all-gather", .runtime = RuntimeMode::library}},
                         .ranks = one.ranks};
  if (one.gemm_first) {
    problem.relation = Relation::collective_needs_gemm;
    problem.collectives.front().collective = "reduce-scatter";
  }
  return study_overlap(problem, machine,
                       {.strategies = {"serial", "shard-p2p", one.gemm_first ? "tiles-rs" : "tiles-ag"}});
}

double kraken_speedup(const OverlapReport& report, const char* strategy) {
  const OverlapRow* serial = report.row("serial");
  const OverlapRow* row = report.row(strategy);
  if (serial == nullptr || row == nullptr) return 0;
  return microseconds(serial->time) / microseconds(row->time);
}

double kraken_value(const std::string& figure, const OverlapReport& report) {
  if (figure.starts_with("serial") || figure.starts_with("rs serial")) return microseconds(report.row("serial")->time);
  if (figure.starts_with("rs tiles")) return kraken_speedup(report, "tiles-rs");
  const double shards = kraken_speedup(report, "shard-p2p");
  if (figure.starts_with("async-tp") || figure.starts_with("rs async-tp")) return shards;
  CORTADO_CHECK(figure.starts_with("best"), "every figure of kraken.toml is computed here");
  return std::max(shards, kraken_speedup(report, "tiles-ag"));
}

}  // namespace

Outcome<report::Reproduction> reproduce_kraken(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options) {
  std::map<std::string, OverlapReport> reports;
  std::vector<KrakenCase> cases;
  for (const published::Figure& figure : publication.figures) {
    const KrakenCase one(figure.name);
    if (reports.try_emplace(one.key()).second) cases.push_back(one);
  }
  const auto studied = run_all(cases.size(), options, [&](std::size_t i) -> Outcome<void> {
    // Every key already exists and is set by one thread.
    CORTADO_ASSIGN_OR_RETURN(reports.at(cases[i].key()), study(cases[i], machine));
    return {};
  });
  if (!studied) return fail(studied.error());
  return with_figures(publication, machine,
                      [&](const std::string& name) { return kraken_value(name, reports.at(KrakenCase(name).key())); });
}

}  // namespace cortado::pipeline
