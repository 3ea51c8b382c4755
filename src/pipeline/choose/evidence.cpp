// How far predictions are from what was published, near the question that was asked. The numbers are those of
// published/*.toml, computed again by `reproduce`; nothing is kept of earlier results.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/explain.hpp"
#include "cortado/pipeline/gemm_bench.hpp"
#include "cortado/published/products.hpp"

#include "pipeline/reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kTimesOfCollectives{"dma-latte", "nccl", "rccl"};
constexpr double kNear = 2;  // factor between sizes, or extents of GEMMs, that are near
constexpr std::string_view kAhead = "+PL";

bool is_speed_up(std::string_view unit) {
  return unit == "x";
}

void add_rows(const report::ReproducedTable& table, std::vector<Evidence>& all) {
  const published::Table& given = table.published;
  for (std::size_t i = 0; i < given.sizes.size(); ++i) {
    for (std::size_t j = 0; j < given.columns.size(); ++j) {
      if (!given.values[i][j] || given.columns[j] == "best") continue;
      const double published = *given.values[i][j];
      const double ours = table.ours[i][j];
      all.push_back({given.title, given.columns[j], given.sizes[i], given.unit, published, ours,
                     is_speed_up(given.unit) ? published / ours - 1 : ours / published - 1, given.used_for,
                     given.source.text});
    }
  }
}

bool is_near(Bytes one, Bytes other) {
  const double ratio = static_cast<double>(one.value) / static_cast<double>(std::max<std::uint64_t>(1, other.value));
  return ratio <= kNear && ratio >= 1 / kNear;
}

/// Whether a column is about the way that the request names.
bool is_about(const Evidence& row, const CollectiveRequest& request, const Machine& machine) {
  const std::uint32_t ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  if (row.column.ends_with(" ranks")) {
    return request.variant == kLibraryVariant && row.column == fmt::format("{} ranks", ranks);
  }
  if (ranks != machine.gpus) return false;
  if (row.column == "library") return request.variant == kLibraryVariant;
  if (row.column == "direct") return request.variant == "cores-ll" || request.variant == "cores-simple";
  if (row.column == "engines") return request.runtime == RuntimeMode::library;
  if (row.column == "device") return request.runtime == RuntimeMode::device;
  if (request.runtime != RuntimeMode::raw) return false;
  return row.column == request.variant + std::string(request.prelaunch ? kAhead : "");
}

std::string line_of(const std::vector<const Evidence*>& rows) {
  double sum = 0;
  const Evidence* worst = rows.front();
  for (const Evidence* row : rows) {
    sum += row->time_error;
    if (std::abs(row->time_error) > std::abs(worst->time_error)) worst = row;
  }
  const Bytes from = rows.front()->bytes;
  const Bytes to = rows.back()->bytes;
  const std::string sizes = from == to ? format_bytes(from) : fmt::format("{} to {}", format_bytes(from), format_bytes(to));
  return fmt::format("known error: {} ({}), {}: predicted times are {:+.0f} % off on the average, at most {:+.0f} % ({}; {})",
                     worst->title, worst->column, sizes, 100 * sum / static_cast<double>(rows.size()),
                     100 * worst->time_error,
                     worst->used_for == published::UsedFor::calibration ? "constants were fitted to it"
                                                                        : "nothing was fitted to it",
                     worst->source);
}

/// Greatest ratio of extents.
double distance(const published::MeasuredProduct& point, const GemmShape& shape) {
  const auto ratio = [](std::uint64_t a, std::uint64_t b) {
    return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
  };
  return std::exp(std::max({ratio(point.m, shape.m), ratio(point.n, shape.n), ratio(point.k, shape.k)}));
}

Result<std::string> line_of(const published::ProductList& list, const GemmShape& gemm, const Machine& machine) {
  double sum = 0;
  double nearest = INFINITY;
  std::string text;
  for (const published::MeasuredProduct& point : list.points) {
    const GemmShape shape{.m = point.m, .n = point.n, .k = point.k, .dtype = gemm.dtype};
    CORTADO_ASSIGN_OR_RETURN(const GemmBenchReport ours, predict_gemms({shape}, machine, point.units));
    const double error = ours.rows.front().time_us / point.us - 1;
    sum += std::abs(error);
    const bool whole = point.units == 0 || point.units == machine.compute_units;
    if (!whole || distance(point, gemm) >= nearest) continue;
    nearest = distance(point, gemm);
    text = fmt::format("{} is {:+.0f} % off", to_string(shape), 100 * error);
  }
  return fmt::format("known error: {}, {}: {:.0f} % on the average of {} measured; {} ({})", list.title, list.dtype,
                     100 * sum / static_cast<double>(list.points.size()), list.points.size(),
                     nearest <= kNear ? "the nearest, " + text : "none of them is near this shape", list.source.text);
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
    const auto ours = reproduce(std::string(name), own ? std::optional(machine) : std::nullopt);
    if (!ours) return tl::unexpected(ours.error());
    for (const report::ReproducedTable& table : ours->tables) {
      if (concerns(table.published)) add_rows(table, all);
    }
  }
  return all;
}

std::optional<double> known_error(const std::vector<Evidence>& evidence, const CollectiveRequest& request,
                                  const Machine& machine) {
  const Evidence* nearest = nullptr;
  bool measured_against = false;
  const auto gap = [&](const Evidence& row) {
    return std::abs(std::log(static_cast<double>(row.bytes.value) / static_cast<double>(request.bytes.value)));
  };
  for (const Evidence& row : evidence) {
    if (!is_near(row.bytes, request.bytes)) continue;
    measured_against = measured_against || is_speed_up(row.unit);
    if (is_about(row, request, machine) && (nearest == nullptr || gap(row) < gap(*nearest))) nearest = &row;
  }
  if (nearest != nullptr) return nearest->time_error;
  const bool basis = request.variant == "pcpy" && !request.prelaunch && request.runtime == RuntimeMode::raw;
  return basis && measured_against ? std::optional(0.0) : std::nullopt;  // speed-ups are over pcpy
}

std::vector<std::string> evidence_lines(const std::vector<Evidence>& evidence, const CollectiveRequest& request,
                                        const Machine& machine) {
  std::map<std::pair<std::string, std::string>, std::vector<const Evidence*>> rows;
  for (const Evidence& row : evidence) {
    if (is_near(row.bytes, request.bytes)) rows[{row.title, row.column}].push_back(&row);
  }
  std::vector<std::string> lines;
  for (const auto& [name, found] : rows) lines.push_back(line_of(found));
  if (lines.empty()) {
    lines.push_back(fmt::format("known error: none, nothing published of {} near {} on {}", request.collective,
                                format_bytes(request.bytes), machine.name));
  }
  return lines;
}

Result<std::vector<std::string>> evidence_lines(const GemmShape& gemm, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const auto lists, published::load_products());
  std::vector<std::string> lines;
  for (const published::ProductList& list : lists) {
    if (list.machine != machine.name || list.dtype != to_string(gemm.dtype)) continue;
    CORTADO_ASSIGN_OR_RETURN(lines.emplace_back(), line_of(list, gemm, machine));
  }
  if (lines.empty()) {
    lines.push_back(
        fmt::format("known error: none, no GEMMs of {} were measured on {}", to_string(gemm.dtype), machine.name));
  }
  return lines;
}

Outcome<std::vector<std::string>> overlap_evidence(const OverlapProblem& problem, const Machine& machine) {
  auto lines = evidence_lines(problem.gemm(), machine);
  if (!lines) return fail_at(Stage::plan, lines.error());
  for (const CollectiveRequest& one : problem.collectives) {
    const auto evidence = collective_evidence(one.collective, machine);
    if (!evidence) return tl::unexpected(evidence.error());
    std::ranges::move(evidence_lines(*evidence, one, machine), std::back_inserter(*lines));
  }
  return *std::move(lines);
}

}  // namespace cortado::pipeline
