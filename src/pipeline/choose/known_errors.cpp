// How far predictions are from published results for similar questions, and what follows for a choice.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/explain.hpp"

namespace cortado::pipeline {
namespace {

constexpr double kNearSizes = 2;  // factor between sizes
constexpr std::string_view kAhead = "+PL";

bool is_speed_up(std::string_view unit) {
  return unit == "x";
}

bool is_near(Bytes one, Bytes other) {
  const double ratio = static_cast<double>(one.value) / static_cast<double>(std::max<std::uint64_t>(1, other.value));
  return ratio <= kNearSizes && ratio >= 1 / kNearSizes;
}

/// Whether a column is about the variant of the request.
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
  const std::string sizes =
      from == to ? format_bytes(from) : fmt::format("{} to {}", format_bytes(from), format_bytes(to));
  return fmt::format(
      "known error: {} ({}), {}: predicted times are {:+.0f} % off on average, {:+.0f} % at most ({}; {})",
      worst->title, worst->column, sizes, 100 * sum / static_cast<double>(rows.size()), 100 * worst->time_error,
      worst->fitted ? "constants were fitted to it" : "nothing was fitted to it", worst->source);
}

}  // namespace

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
    lines.push_back(fmt::format("known error: none; nothing is published about {} near {} on {}", request.collective,
                                format_bytes(request.bytes), machine.name));
  }
  return lines;
}

}  // namespace cortado::pipeline
