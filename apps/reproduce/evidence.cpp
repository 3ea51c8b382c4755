// How far predictions are from published results for similar questions. The numbers are those of
// published/*.toml, recomputed by `reproduce`; earlier results are not kept.
#include "reproduce/evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gemm/gemm.hpp"
#include "pipeline/gemm_bench.hpp"
#include "reproduce/published/products.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kTimesOfCollectives{"dma-latte", "nccl", "rccl"};
constexpr double kNear = 2;  // factor between extents of GEMMs

void add_rows(const report::ReproducedTable& table, std::vector<Evidence>& all) {
  const published::Table& given = table.published;
  for (std::size_t i = 0; i < given.sizes.size(); ++i) {
    for (std::size_t j = 0; j < given.columns.size(); ++j) {
      if (!given.values[i][j] || given.columns[j] == "best") continue;
      const double published = *given.values[i][j];
      const double ours = table.ours[i][j];
      all.push_back({given.title, given.columns[j], given.sizes[i], given.unit, published, ours,
                     given.unit == "x" ? published / ours - 1 : ours / published - 1,
                     given.used_for == published::UsedFor::calibration, given.source.text});
    }
  }
}

/// Greatest ratio of extents.
double distance(const published::MeasuredProduct& point, const GemmShape& shape) {
  const auto ratio = [](std::uint64_t a, std::uint64_t b) {
    return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
  };
  return std::exp(std::max({ratio(point.m, shape.m), ratio(point.n, shape.n), ratio(point.k, shape.k)}));
}

/// Nothing if no measured shape is near.
Result<std::optional<std::string>> line_of(const published::ProductList& list, const GemmShape& gemm,
                                           const Machine& machine) {
  double sum = 0;
  double nearest = INFINITY;
  std::string text;
  for (const published::MeasuredProduct& point : list.points) {
    const GemmShape shape{
        .m = point.m, .n = point.n, .k = point.k, .dtype = gemm.dtype, .result = usual_result(gemm.dtype)};
    CORTADO_ASSIGN_OR_RETURN(const GemmBenchReport ours, predict_gemms({shape}, machine, point.units));
    const double error = ours.rows.front().time_us / point.us - 1;
    sum += std::abs(error);
    const bool whole = point.units == 0 || point.units == machine.compute_units;
    if (!whole || distance(point, gemm) >= nearest) continue;
    nearest = distance(point, gemm);
    text = fmt::format("{} is {:+.0f} % off", to_string(shape), 100 * error);
  }
  if (nearest > kNear) return std::optional<std::string>{};
  return std::optional(fmt::format("known error: {}, {}: {:.0f} % on average over {} measured; the nearest, {} ({})",
                                   list.title, list.dtype, 100 * sum / static_cast<double>(list.points.size()),
                                   list.points.size(), text, list.source.text));
}

}  // namespace

Outcome<std::vector<Evidence>> collective_evidence(Collective collective, const Machine& machine) {
  std::vector<Evidence> all;
  for (const std::string_view name : kTimesOfCollectives) {
    const auto publication = published::load_publication(std::string(name));
    if (!publication) return fail_at(Stage::plan, publication.error());
    const auto concerns = [&](const published::Table& table) {
      return table.name.substr(0, table.name.find(' ')) == collective.name() &&
             machine_of_table(*publication, table) == machine.name;
    };
    if (std::ranges::none_of(publication->tables, concerns)) continue;
    const bool own = publication->machine == machine.name;
    const auto ours =
        reproduce(std::string(name), own ? std::optional(machine) : std::nullopt, {.collectives_only = true});
    if (!ours) return fail(ours.error());
    for (const report::ReproducedTable& table : ours->tables) {
      if (concerns(table.published)) add_rows(table, all);
    }
  }
  return all;
}

Result<std::vector<std::string>> gemm_evidence(const GemmShape& gemm, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const auto lists, published::load_products());
  std::vector<std::string> lines;
  for (const published::ProductList& list : lists) {
    if (list.machine != machine.name || list.dtype != to_string(gemm.dtype)) continue;
    CORTADO_ASSIGN_OR_RETURN(const auto line, line_of(list, gemm, as_measured(list, machine)));
    if (line) lines.push_back(*line);
  }
  if (lines.empty()) {
    lines.push_back(fmt::format("known error: none; no GEMM of {} near this shape was measured on {}",
                                to_string(gemm.dtype), machine.name));
  }
  return lines;
}

Outcome<std::vector<std::string>> overlap_evidence(const OverlapProblem& problem, const Machine& machine) {
  auto lines = gemm_evidence(problem.gemm(), machine);
  if (!lines) return fail_at(Stage::plan, lines.error());
  for (const CollectiveRequest& one : problem.collectives) {
    const auto evidence = collective_evidence(one.collective, machine);
    if (!evidence) return fail(evidence.error());
    for (std::string& line : evidence_lines(*evidence, one, machine)) lines->push_back(std::move(line));
  }
  return *std::move(lines);
}

}  // namespace cortado::pipeline
