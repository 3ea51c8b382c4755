#include "plan/heuristic/fit/table.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "plan/choose_schedule.hpp"
#include "plan/heuristic/heuristic.hpp"

namespace cortado::schedules {
namespace {

constexpr std::array kShapeColumns{"collective", "direction", "dtype", "m", "n", "k"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::optional<TimedShape> parse_row(const std::vector<std::string_view>& cells) {
  TimedShape row;
  const auto collective = find_collective(cells[0]);
  if (!collective) return std::nullopt;
  row.request.collective = *collective;
  row.request.ranks = 8;
  if (cells[1] != "collective" && cells[1] != "product") return std::nullopt;
  if (cells[1] == "product") row.request.dependence = Dependence::product_first;
  const auto dtype = parse_dtype(cells[2]);
  const auto m = number(cells[3]);
  const auto n = number(cells[4]);
  const auto k = number(cells[5]);
  if (!dtype || !m || !n || !k) return std::nullopt;
  row.request.gemm = {static_cast<std::uint64_t>(*m), static_cast<std::uint64_t>(*n), static_cast<std::uint64_t>(*k),
                      *dtype};
  for (std::size_t i = kShapeColumns.size(); i < cells.size(); ++i) {
    const auto time = number(cells[i]);
    if (!time && cells[i] != "-") return std::nullopt;
    row.times.push_back(time ? std::optional(Nanoseconds{*time}) : std::nullopt);
  }
  return row;
}

std::string csv_header(const std::vector<std::string>& candidates) {
  std::string line;
  for (const char* column : kShapeColumns) line += fmt::format("{},", column);
  return line + join(candidates, ",");
}

bool concerns_candidate(const Diagnostic& reason) {
  return reason.about == About::strategy;
}

}  // namespace

std::vector<FiccoSchedule> candidates(ShapeSet set, const Machine& machine) {
  // Both directions: a shape has no time of candidates that its direction does not have.
  if (set == ShapeSet::unseen) return schedule_candidates({.dependence = Dependence::product_first}, machine);
  std::vector<FiccoSchedule> all(plan::guessed_schedules().begin(), plan::guessed_schedules().end());
  for (FiccoSchedule& schedule : all) {
    if (schedule.grain == Grain::chunks) schedule.chunks = machine.gpus;
  }
  return all;
}

std::string column_name(FiccoSchedule candidate) {
  if (candidate.grain == Grain::whole || candidate.grain == Grain::shards) candidate.chunks = 0;
  return full_name(candidate);
}

Result<std::optional<Nanoseconds>> simulated_time(const DependentRequest& request, const FiccoSchedule& candidate,
                                                  const CostModel& cost) {
  const auto time = cost.exact(request, candidate);
  if (!time && concerns_candidate(time.error())) return std::nullopt;
  if (!time) return fail(time.error());
  return *time;
}

Status simulate_row(TimedShape& row, const std::vector<FiccoSchedule>& candidates, const CostModel& cost) {
  for (const FiccoSchedule& candidate : candidates) {
    CORTADO_ASSIGN_OR_RETURN(row.times.emplace_back(), simulated_time(row.request, candidate, cost));
  }
  return {};
}

std::string csv_line(const TimedShape& row) {
  const DependentRequest& request = row.request;
  const char* first = request.dependence == Dependence::product_first ? "product" : "collective";
  std::string line = fmt::format("{},{},{},{},{},{}", request.collective, first, to_string(request.gemm.dtype),
                                 request.gemm.m, request.gemm.n, request.gemm.k);
  for (const auto& time : row.times) line += time ? fmt::format(",{}", time->value) : ",-";
  return line;
}

std::string csv_text(const std::vector<TimedShape>& rows, const std::vector<FiccoSchedule>& candidates,
                     const Machine& machine) {
  std::vector<std::string> names;
  for (const FiccoSchedule& candidate : candidates) names.push_back(column_name(candidate));
  std::string text = fmt::format("# Nanoseconds on {}, simulated; README.md says how this is made.\n{}\n", machine.name,
                                 csv_header(names));
  for (const TimedShape& row : rows) text += csv_line(row) + "\n";
  return text;
}

Result<Table> parse_table(std::string_view text, std::string_view file) {
  Table table;
  std::size_t line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> cells = split(line, ',');
    if (table.candidates.empty()) {
      if (cells.size() <= kShapeColumns.size() || line.rfind(csv_header({}), 0) != 0) {
        return fail("table.csv", fmt::format("{}:{}: no header of a table of schedules", file, line_number));
      }
      table.candidates.assign(cells.begin() + kShapeColumns.size(), cells.end());
      continue;
    }
    auto row = cells.size() == kShapeColumns.size() + table.candidates.size() ? parse_row(cells) : std::nullopt;
    if (!row) return fail("table.csv", fmt::format("{}:{}: no row of this table", file, line_number));
    table.rows.push_back(*std::move(row));
  }
  if (table.candidates.empty()) return fail("table.csv", fmt::format("{}: no table of schedules", file));
  return table;
}

Result<Table> read_table(const std::string& path) {
  CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  return parse_table(text, path);
}

}  // namespace cortado::schedules
