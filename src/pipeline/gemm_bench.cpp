#include "pipeline/gemm_bench.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "plan/c3.hpp"

namespace cortado::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kExtents{"m", "n", "k"};

/// Without blanks around them, and without the byte order mark that spreadsheets put first.
std::vector<std::string> cells_of(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  constexpr std::string_view kBlanks = " \t\r";
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> cells = split(line, ',');
  for (std::string& cell : cells) {
    const std::size_t first = cell.find_first_not_of(kBlanks);
    cell = first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(kBlanks) - first + 1);
  }
  return cells;
}

Diagnostic not_a_file(const std::string& path, std::string what) {
  Diagnostic diagnostic{"gemm.file", std::move(what), "give a CSV whose first line names the columns m, n and k"};
  diagnostic.place.file = path;
  return diagnostic;
}

Result<std::vector<GemmShape>> read_shapes(const std::string& path, DType dtype) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return fail(not_a_file(path, "it cannot be read or is empty"));
  const std::vector<std::string> names = cells_of(line);
  std::array<std::size_t, 3> columns{};
  for (std::size_t i = 0; i < kExtents.size(); ++i) {
    const auto found = std::ranges::find(names, kExtents[i]);
    if (found == names.end()) return fail(not_a_file(path, fmt::format("it has no column {}", kExtents[i])));
    columns[i] = static_cast<std::size_t>(found - names.begin());
  }
  const auto types = static_cast<std::size_t>(std::ranges::find(names, "dtype") - names.begin());
  std::vector<GemmShape> shapes;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (join(cells).empty()) continue;
    DType type = dtype;
    if (types < cells.size()) {
      const auto own = parse_dtype(cells[types]);
      if (!own) return fail(not_a_file(path, fmt::format("line {}: {}", number, own.error().message)));
      type = *own;
    }
    std::array<std::uint64_t, 3> extents{};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto value = columns[i] < cells.size() ? parse_number<std::uint64_t>(cells[columns[i]]) : std::nullopt;
      if (!value) return fail(not_a_file(path, fmt::format("line {} has no whole number {}", number, kExtents[i])));
      extents[i] = *value;
    }
    shapes.push_back({.m = extents[0], .n = extents[1], .k = extents[2], .dtype = type});
  }
  if (shapes.empty()) return fail(not_a_file(path, "it has no rows"));
  return shapes;
}

std::string bound_of(const GemmModel::Terms& terms, double start) {
  struct Part {
    std::string_view name;
    double seconds;
  };
  const std::array parts{Part{"compute", terms.products}, Part{"latency", terms.latency}, Part{"L2", terms.l2},
                         Part{"memory", terms.memory}, Part{"start", start + terms.beside}};
  return std::string(std::ranges::max_element(parts, {}, &Part::seconds)->name);
}

GemmBenchRow predicted_row(const GemmShape& shape, const Machine& machine, std::uint32_t units) {
  GemmBenchRow row{.shape = shape};
  row.tiling = choose_tiling(shape, machine, units);
  const GemmEstimate estimate = estimate_gemm(shape, row.tiling, machine, units);
  const double start = static_cast<double>(gemm_start(machine).value) * 1e-9;
  row.time_us = (start + estimate.seconds) * 1e6;
  row.tflops = flops(shape) / row.time_us * 1e-6;
  row.clock_ghz = estimate.clock_ghz;
  const GemmModel model(shape, row.tiling, machine);
  row.bound = bound_of(model.terms(units, estimate.clock_ghz), start);
  if (machine.power && machine.power->xcd) row.watts = gemm_watts(model, machine, units, estimate.clock_ghz);
  return row;
}

Status check_units(std::uint32_t units, const Machine& machine) {
  if (units <= machine.compute_units) return {};
  return fail("gemm.units", fmt::format("{} compute units on GPUs that have {}", units, machine.compute_units),
              fmt::format("give 1 to {}, or leave them out", machine.compute_units));
}

std::string tile_text(const Tiling& tiling) {
  const std::string tile = fmt::format("{}x{}", tiling.tile_m, tiling.tile_n);
  return tiling.split_k == 1 ? tile : fmt::format("{}/{}", tile, tiling.split_k);
}

}  // namespace

Result<std::vector<GemmShape>> parse_gemm_shapes(const std::string& text, DType dtype) {
  if (text.ends_with(".csv") || text.find('/') != std::string::npos) return read_shapes(text, dtype);
  std::vector<GemmShape> shapes;
  const auto no_shape = [](const std::string& one) {
    return fail("gemm.shape", fmt::format("'{}' is not a GEMM shape", one), "write MxNxK, for example 4096x4096x4096");
  };
  for (const std::string& one : split(text, ',')) {
    const auto shape = parse_gemm(one, dtype);
    if (!shape) return no_shape(one);
    shapes.push_back(*shape);
  }
  if (shapes.empty()) return no_shape(text);
  return shapes;
}

Result<GemmBenchReport> predict_gemms(const std::vector<GemmShape>& shapes, const Machine& machine,
                                      std::uint32_t units) {
  CORTADO_RETURN_IF_ERROR(check_units(units, machine));
  if (units == 0) units = machine.compute_units;
  GemmBenchReport report{.machine = machine.name, .units = units, .where = machine.name, .rows = {}};
  for (const GemmShape& shape : shapes) {
    CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine));
    report.rows.push_back(predicted_row(shape, machine, units));
  }
  return report;
}

Outcome<GemmBenchReport> measure_gemms(const std::vector<GemmShape>& shapes, const Machine& machine,
                                       std::uint32_t units, Target& target, const RunOptions& options) {
  if (const Status status = check_units(units, machine); !status) return fail_at(Stage::plan, status.error());
  GemmBenchReport report{
      .machine = machine.name, .units = units, .where = target.where(), .predicted = target.predicts(), .rows = {}};
  if (report.units == 0) report.units = machine.compute_units;
  for (const GemmShape& shape : shapes) {
    const GemmUnits on{.count = units, .tuned = units != 0};
    const auto run = run_on(target, plan_gemms({shape}, on, 1, machine), machine, options);
    if (!run) return tl::unexpected(run.error());
    GemmBenchRow row{.shape = shape};
    row.tiling = tiling_on(on, shape, machine);
    row.time_us = microseconds(run->time);
    row.tflops = flops(shape) / row.time_us * 1e-6;
    report.rows.push_back(std::move(row));
  }
  return report;
}

report::Document gemm_bench_document(const GemmBenchReport& report) {
  report::Document document{.schema = "cortado.bench-gemm",
                            .title = fmt::format("GEMMs on {} compute units of {}", report.units, report.machine)};
  document.about = {report.predicted
                        ? fmt::format("predicted by the model of {}: in a stream, from kernel to kernel", report.where)
                        : fmt::format("measured on {}: from the launch until the host sees the result", report.where)};
  document.facts = {{"machine", report.machine, "modelled machine"},
                    {"units", report.units, "compute units that a GEMM may use"},
                    {"where", report.where, "the modelled machine, or the node that it ran on"},
                    {"predicted", report.predicted, "times come from the model"}};
  document.tables.push_back(report::table_of<GemmBenchRow>(
      "rows", "one a shape, in the order asked for",
      {{{.key = "m", .head = "m", .meaning = "rows of A and C"}, [](const GemmBenchRow& r) { return r.shape.m; }},
       {{.key = "n", .head = "n", .meaning = "columns of B and C"}, [](const GemmBenchRow& r) { return r.shape.n; }},
       {{.key = "k", .head = "k", .meaning = "columns of A, rows of B"},
        [](const GemmBenchRow& r) { return r.shape.k; }},
       {{.key = "dtype", .head = "dtype", .meaning = "element type"},
        [](const GemmBenchRow& r) { return std::string(to_string(r.shape.dtype)); }},
       {{.key = "time_us", .head = "time", .unit = "us", .digits = 2, .meaning = "of the GEMM"},
        [](const GemmBenchRow& r) { return r.time_us; }},
       {{.key = "tflops", .head = "TFLOP/s", .digits = 1, .meaning = "2 m n k over the time"},
        [](const GemmBenchRow& r) { return r.tflops; }},
       {{.key = "bound", .head = "bound", .meaning = "what takes longest: start, compute, latency, L2 or memory"},
        [](const GemmBenchRow& r) { return r.bound.empty() ? report::Cell() : report::Cell(r.bound); }},
       {{.key = "tile", .head = "tile", .meaning = "tile of C of a workgroup, and workgroups that share its k"},
        [](const GemmBenchRow& r) { return tile_text(r.tiling); }},
       {{.key = "clock_GHz", .head = "clock", .unit = "GHz", .digits = 2, .meaning = "of the compute units"},
        [](const GemmBenchRow& r) { return r.clock_ghz; }},
       {{.key = "watts", .head = "W", .digits = 0, .meaning = "of the GPU, where the machine describes power"},
        [](const GemmBenchRow& r) { return r.watts; }}},
      report.rows));
  return document;
}

}  // namespace cortado::pipeline
