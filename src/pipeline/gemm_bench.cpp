#include "pipeline/gemm_bench.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/lines.hpp"
#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "plan/c3.hpp"

namespace cortado::pipeline {
namespace {

/// Without surrounding blanks, and without the byte order mark that spreadsheets write first.
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

/// "128", or the rows of each group: "128+64+0+300". Groups without rows are ignored.
Result<GemmShape> with_rows(GemmShape shape, const std::string& text, std::uint64_t batch) {
  const auto wrong = [&](const std::string& why) {
    return fail("gemm.shape", fmt::format("m is '{}'{}", text, why),
                "use a whole number up to 4294967295, or the rows of each group: 128+64+300");
  };
  const std::vector<std::string> parts = split(text, '+');
  if (parts.empty()) return wrong("");
  for (const std::string& part : parts) {
    const auto rows = parse_count(part);
    if (!rows || *rows > std::numeric_limits<std::uint32_t>::max()) return wrong("");
    shape.m += *rows;
    if (*rows == 0) continue;
    if (!shape.groups.empty() && shape.groups.back().rows == *rows) {
      ++shape.groups.back().count;
    } else {
      shape.groups.push_back({*rows, 1});
    }
  }
  if (parts.size() > 1 && batch > 1) return wrong(fmt::format(" and batch {}: groups already form a batch", batch));
  if (parts.size() == 1) {
    shape.groups.clear();
    return batched(shape, batch);
  }
  return shape;
}

/// One row of a list, in text; empty: not given.
struct ShapeText {
  std::string m;
  std::string n;
  std::string k;
  std::string dtype{};
  std::string out_dtype{};
  std::string batch{};
  std::string scale_block{};
};

struct ShapeColumn {
  std::string_view name;
  std::string ShapeText::*text;
  bool needed;
};
constexpr std::array<ShapeColumn, 7> kShapeColumns{{{"m", &ShapeText::m, true},
                                                    {"n", &ShapeText::n, true},
                                                    {"k", &ShapeText::k, true},
                                                    {"dtype", &ShapeText::dtype, false},
                                                    {"out_dtype", &ShapeText::out_dtype, false},
                                                    {"batch", &ShapeText::batch, false},
                                                    {"scale_block", &ShapeText::scale_block, false}}};

Result<std::uint64_t> number_of(std::string_view name, const std::string& text, std::uint64_t otherwise) {
  if (text.empty()) return otherwise;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  const auto value = parse_count(text);
  if (value && *value <= kMost) return *value;
  return fail("gemm.shape", fmt::format("{} is '{}'", name, text), fmt::format("use a whole number up to {}", kMost));
}

Result<GemmShape> shape_from(const ShapeText& text, const GemmDefaults& defaults) {
  GemmShape shape{.dtype = defaults.dtype};
  if (!text.dtype.empty()) {
    CORTADO_ASSIGN_OR_RETURN(shape.dtype, parse_dtype(text.dtype));
  }
  shape.result = defaults.result ? defaults.result : usual_result(shape.dtype);
  if (!text.out_dtype.empty()) {
    CORTADO_ASSIGN_OR_RETURN(shape.result, parse_dtype(text.out_dtype));
  }
  if (shape.result == shape.dtype) shape.result.reset();
  CORTADO_ASSIGN_OR_RETURN(shape.n, number_of("n", text.n.empty() ? "-" : text.n, 0));
  CORTADO_ASSIGN_OR_RETURN(shape.k, number_of("k", text.k.empty() ? "-" : text.k, 0));
  CORTADO_ASSIGN_OR_RETURN(const std::uint64_t scales,
                           number_of("scale_block", text.scale_block, defaults.scale_block));
  shape.scale_block = static_cast<std::uint32_t>(scales);
  CORTADO_ASSIGN_OR_RETURN(const std::uint64_t batch, number_of("batch", text.batch, defaults.batch));
  if (batch == 0) return fail("gemm.shape", "a batch of 0 GEMMs", "use 1 or more");
  return with_rows(std::move(shape), text.m, batch);
}

Diagnostic in_file(const std::string& path, std::size_t line, std::string what,
                   std::string hint = "use a CSV file whose first line names the columns m, n and k") {
  Diagnostic diagnostic{"gemm.file", std::move(what), std::move(hint)};
  diagnostic.place.file = path;
  diagnostic.place.line = static_cast<std::uint32_t>(line);
  return diagnostic;
}

constexpr LineReader::Limits kShapeFiles{{Bytes{16ULL << 20}, "lines of shapes"},
                                         {Bytes{256ULL << 20}, "files of shapes"}};

Result<std::vector<GemmShape>> read_shapes(const std::string& path, const GemmDefaults& defaults) {
  std::ifstream file(path);
  LineReader lines(file, path, kShapeFiles);
  std::string line;
  CORTADO_ASSIGN_OR_RETURN(const bool has_names, lines.next(line));
  if (!has_names) return fail(in_file(path, 0, "it cannot be read or is empty"));
  const std::vector<std::string> names = cells_of(line);
  for (const ShapeColumn& column : kShapeColumns) {
    const auto count = std::ranges::count(names, column.name);
    if (count > 1) return fail(in_file(path, 1, fmt::format("it has {} columns {}", count, column.name)));
    if (column.needed && count == 0) return fail(in_file(path, 1, fmt::format("it has no column {}", column.name)));
  }
  std::vector<GemmShape> shapes;
  while (true) {
    CORTADO_ASSIGN_OR_RETURN(const bool found, lines.next(line));
    if (!found) break;
    const std::uint32_t number = lines.number();
    const std::vector<std::string> cells = cells_of(line);
    if (join(cells).empty()) continue;
    if (cells.size() != names.size()) {
      return fail(in_file(path, number,
                          fmt::format("{} cells in a row, but {} column names", cells.size(), names.size()),
                          "use one cell per column; a cell may be empty"));
    }
    ShapeText text;
    for (const ShapeColumn& column : kShapeColumns) {
      const auto place = std::ranges::find(names, column.name);
      if (place != names.end()) text.*column.text = cells[static_cast<std::size_t>(place - names.begin())];
    }
    auto shape = shape_from(text, defaults);
    if (!shape) return fail(in_file(path, number, shape.error().message, shape.error().hint));
    shapes.push_back(*std::move(shape));
  }
  if (shapes.empty()) return fail(in_file(path, 0, "it has no rows"));
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
  return fail("gemm.units", fmt::format("{} compute units requested, but GPUs have {}", units, machine.compute_units),
              fmt::format("use 1 to {}, or leave it out", machine.compute_units));
}

double host_us(const Timing& timing) {
  return microseconds(timing.cores.launch + timing.cores.flag + timing.host.poll);
}

/// Rows of one GEMM if all have the same number, otherwise of all together.
std::uint64_t shown_rows(const GemmShape& shape) {
  return shape.groups.size() == 1 ? shape.groups.front().rows : shape.m;
}

report::Cell groups_cell(const GemmShape& shape) {
  if (shape.groups.size() < 2) return {};
  const std::string text = to_string(shape);
  return text.substr(0, text.find('x'));
}

std::string tile_text(const Tiling& tiling) {
  const std::string tile = fmt::format("{}x{}", tiling.tile_m, tiling.tile_n);
  return tiling.split_k == 1 ? tile : fmt::format("{}/{}", tile, tiling.split_k);
}

}  // namespace

std::optional<DType> usual_result(DType dtype) {
  if (dtype == DType::f8) return DType::bf16;
  if (dtype == DType::i8) return DType::i32;
  return std::nullopt;
}

Result<std::vector<GemmShape>> parse_gemm_shapes(const std::string& text, const GemmDefaults& defaults) {
  if (text.ends_with(".csv") || text.find('/') != std::string::npos) return read_shapes(text, defaults);
  std::vector<GemmShape> shapes;
  for (const std::string& one : text.empty() ? std::vector<std::string>{text} : split(text, ',')) {
    const std::vector<std::string> extents = split(one, 'x');
    if (extents.size() != 3) {
      std::error_code ignored;
      return fail("gemm.shape", fmt::format("'{}' is not a GEMM shape", one),
                  std::filesystem::is_regular_file(text, ignored)
                      ? "a file of shapes must end in .csv, or be given with its folder, as ./" + text
                      : "use MxNxK, for example 4096x4096x4096");
    }
    auto shape = shape_from({extents[0], extents[1], extents[2]}, defaults);
    if (!shape) return fail("gemm.shape", fmt::format("'{}': {}", one, shape.error().message), shape.error().hint);
    shapes.push_back(*std::move(shape));
  }
  return shapes;
}

Result<GemmBenchReport> predict_gemms(const std::vector<GemmShape>& shapes, const Machine& machine,
                                      std::uint32_t units) {
  CORTADO_RETURN_IF_ERROR(check_units(units, machine));
  if (units == 0) units = machine.compute_units;
  GemmBenchReport report{.machine = machine.name, .units = units, .where = machine.name, .rows = {}};
  report.clock = clock_text(machine);
  if (machine.timing) report.beside_us = host_us(*machine.timing);
  for (const GemmShape& shape : shapes) {
    CORTADO_RETURN_IF_ERROR(check_gemm_alone(shape, machine));
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
    if (const Status status = check_gemm(shape, machine); !status) return fail_at(Stage::plan, status.error());
    const GemmUnits on{.count = units, .tuned = units != 0};
    const auto run = run_on(target, plan_gemms({shape}, on, 1, machine), machine, options);
    if (!run) return fail(run.error());
    GemmBenchRow row{.shape = shape};
    row.tiling = tiling_on(on, shape, machine);
    row.time_us = microseconds(run->time);
    row.tflops = flops(shape) / row.time_us * 1e-6;
    report.rows.push_back(std::move(row));
  }
  return report;
}

report::Document gemm_bench_document(const GemmBenchReport& report) {
  using Row = GemmBenchRow;
  using report::Cell;
  using report::View;
  report::Document document{
      .schema = "cortado.bench-gemm",
      .title = fmt::format("GEMMs on {} of {}", counted(report.units, "compute unit"), report.machine)};
  if (report.predicted) {
    document.about = {
        fmt::format("predicted by the model of {}: back to back in a stream, from kernel to kernel", report.where),
        report.clock,
        fmt::format("run and overlap also count the time from launch until the host sees the end: {:.1f} us more",
                    report.beside_us)};
  } else {
    document.about = {fmt::format("measured on {}: from launch until the host sees the result", report.where)};
  }
  document.facts = {{"machine", report.machine, "modelled machine"},
                    {"units", report.units, "compute units that a GEMM may use"},
                    {"where", report.where, "the modelled machine, or the node that it ran on"},
                    {"predicted", report.predicted, "times are predicted by the model"},
                    {"clock", report.predicted ? Cell(report.clock) : Cell(), "what determines the clock of GEMMs"},
                    {"beside_us", report.predicted ? Cell(report.beside_us) : Cell(),
                     "what run and overlap count in addition: launch, flag and poll"}};
  // Columns that most lists do not need appear in the text only if a row uses them.
  const auto where = [&](auto&& used) {
    return std::ranges::any_of(report.rows, [&](const Row& row) { return used(row.shape); }) ? View::narrow
                                                                                             : View::data;
  };
  const View of_types = where([](const GemmShape& s) { return result_type(s) != s.dtype; });
  const View of_batches = where([](const GemmShape& s) { return !s.groups.empty(); });
  const View of_groups = where([](const GemmShape& s) { return s.groups.size() > 1; });
  const View of_scales = where([](const GemmShape& s) { return s.scale_block > 0; });
  document.tables.push_back(report::table_of<Row>(
      "rows", "one per shape, in the order requested",
      {{{.key = "m", .head = "m", .meaning = "rows of A and C, over all groups if these differ"},
        [](const Row& r) { return shown_rows(r.shape); }},
       {{.key = "n", .head = "n", .meaning = "columns of B and C"}, [](const Row& r) { return r.shape.n; }},
       {{.key = "k", .head = "k", .meaning = "columns of A, rows of B"}, [](const Row& r) { return r.shape.k; }},
       {{.key = "batch", .head = "batch", .meaning = "GEMMs in one kernel, each with its own B", .view = of_batches},
        [](const Row& r) { return group_count(r.shape); }},
       {{.key = "groups",
         .head = "groups",
         .meaning = "rows of the groups if these differ: 128+64*2",
         .view = of_groups},
        [](const Row& r) { return groups_cell(r.shape); }},
       {{.key = "dtype", .head = "dtype", .meaning = "element type of A and B"},
        [](const Row& r) { return std::string(to_string(r.shape.dtype)); }},
       {{.key = "out_dtype", .head = "C", .meaning = "element type of C", .view = of_types},
        [](const Row& r) { return std::string(to_string(result_type(r.shape))); }},
       {{.key = "scale_block", .head = "scales", .meaning = "elements that share a scale; 0: none", .view = of_scales},
        [](const Row& r) { return r.shape.scale_block; }},
       {{.key = "time_us", .head = "time", .unit = "us", .digits = 2, .meaning = "time of the GEMM"},
        [](const Row& r) { return r.time_us; }},
       {{.key = "tflops", .head = "TFLOP/s", .digits = 1, .meaning = "2 m n k of all groups over the time"},
        [](const Row& r) { return r.tflops; }},
       {{.key = "bound", .head = "bound", .meaning = "what takes longest: start, compute, latency, L2 or memory"},
        [](const Row& r) { return r.bound.empty() ? Cell() : Cell(r.bound); }},
       {{.key = "tile", .head = "tile", .meaning = "tile of C per workgroup, and workgroups that share its k"},
        [](const Row& r) { return tile_text(r.tiling); }},
       {{.key = "clock_GHz", .head = "clock", .unit = "GHz", .digits = 2, .meaning = "clock of the compute units"},
        [](const Row& r) { return r.clock_ghz; }},
       {{.key = "watts",
         .head = "W",
         .digits = 0,
         .meaning =
             "power of the GPU while such GEMMs follow each other without a pause, if the machine describes power"},
        [](const Row& r) { return r.watts; }}},
      report.rows));
  document.tables.back().charts = {{.title = "Rate by shape",
                                    .values = {"tflops"},
                                    .labels = {"m", "n", "k", "dtype"},
                                    .about = "Rows, columns and depth of each GEMM, and its element type."}};
  document.measured = !report.predicted;
  if (std::ranges::any_of(report.rows, [](const Row& r) { return r.watts && r.bound == "start"; })) {
    document.notes.emplace_back(
        "W is that of GEMMs without a pause: the dies stay awake from kernel to kernel; for `cortado power`, they "
        "sleep "
        "until the next one holds compute units");
  }
  return document;
}

}  // namespace cortado::pipeline
