#include "report/characterization.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/bar_chart.hpp"
#include "report/energy.hpp"

namespace cortado::report {
namespace {

BarGroup& group_of(const std::string& label, BarChart& chart) {
  if (chart.groups.empty() || chart.groups.back().label != label) chart.groups.push_back({label, {}});
  return chart.groups.back();
}

/// Percent of the whole GEMM, and times one after the other: beyond that nobody compares any more.
constexpr double kMostLoss = 60;
constexpr double kMostTime = 1.25;

BarChart decomposition_chart(const Characterization& report) {
  BarChart chart{"What pieces take more than the whole GEMM", "% of the whole GEMM", "below the bars: chunks", {}, {}};
  for (const std::string_view cause : DecompositionCauses::kNames) chart.series.emplace_back(cause);
  chart.series.emplace_back("kernel starts");
  chart.most = kMostLoss;
  for (const DecompositionRow& row : report.decomposition) {
    Bar bar{fmt::format("{}", row.chunks), {}, {}};
    bar.tooltip = fmt::format("{}, {} chunks: DIL {:.3f}; {} pieces, kernels {}", row.schedule, row.chunks, row.dil,
                              row.pieces, row.kernels);
    std::vector<double> values;
    for (const double value : row.causes.values()) values.push_back(value);
    values.push_back(row.kernel_starts);
    for (std::size_t i = 0; i < values.size(); ++i) {
      bar.parts.push_back({i, 100 * values[i]});
      bar.tooltip += fmt::format("\n{} {:+.1f} %", chart.series[i], 100 * values[i]);
    }
    group_of(row.schedule, chart).bars.push_back(std::move(bar));
  }
  return chart;
}

BarChart contention_chart(const Characterization& report) {
  BarChart chart{
      "What GEMMs and copies lose to each other",
      "% slower than alone",
      {},
      {"GEMMs beside DMA engines", "copies by DMA engines", "GEMMs beside copying units", "copies by compute units"},
      {}};
  for (const ContentionRow& row : report.contention) {
    std::vector<Bar>& bars = group_of(row.schedule, chart).bars;
    const std::size_t first = row.on_cores ? 2 : 0;
    const std::array losses{row.cil_gemm, row.cil_comm};
    for (std::size_t i = 0; i < losses.size(); ++i) {
      bars.push_back({{},
                      {{first + i, 100 * (losses[i] - 1)}},
                      fmt::format("{}: {}: CIL {:.3f}", row.schedule, chart.series[first + i], losses[i])});
    }
  }
  return chart;
}

BarChart time_chart(const Characterization& report) {
  BarChart chart{
      "Where the time goes",
      "ms",
      "D: copies by DMA engines, U: by compute units",
      {"whole GEMM", "cutting and starts", "contention", "other kernels", "first wait", "later waits", "rest"},
      {},
      kMostTime * microseconds(report.serial) / 1e3};
  for (const ContentionRow& row : report.contention) {
    const Nanoseconds known = row.products + row.other_kernels + row.first_wait + row.later_waits;
    const std::array parts{report.gemm_alone,
                           row.products_alone - report.gemm_alone,
                           row.products - row.products_alone,
                           row.other_kernels,
                           row.first_wait,
                           row.later_waits,
                           row.time - known};
    Bar bar{row.on_cores ? "U" : "D", {}, {}};
    bar.tooltip = fmt::format("{}, copies by {}: {:.1f} us, {:.2f} times as fast as serial", row.schedule, row.means(),
                              microseconds(row.time), row.speedup);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      bar.parts.push_back({i, microseconds(parts[i]) / 1e3});
      bar.tooltip += fmt::format("\n{} {:.1f} us", chart.series[i], microseconds(parts[i]));
    }
    group_of(row.schedule, chart).bars.push_back(std::move(bar));
  }
  return chart;
}

constexpr const char* kDecomposition =
    "The pieces of the GEMM one after the other, each alone, against the whole GEMM. Idle: compute units without "
    "work in waves that are filled in part. Tiles: smaller tiles, and tiles beyond the edges. Operands: memory and "
    "caches slower than the units. Results: what is added to is read as well. Starts: of tiles. Starts of kernels are "
    "not a part of DIL. Below zero: less than in the whole GEMM.";
constexpr const char* kContention =
    "GEMMs and copies at the same time against the same ones alone, with copies by DMA engines and by compute "
    "units; "
    "waiting does not count. Times of the rank whose GEMMs take longest.";

std::string decomposition_picture(const Characterization& report) {
  return fmt::format("<p>{}</p>\n", kDecomposition) + svg(decomposition_chart(report));
}

std::string contention_pictures(const Characterization& report) {
  return fmt::format("<p>{}</p>\n", kContention) + svg(contention_chart(report)) + svg(time_chart(report));
}

std::string characterization_title(const Characterization& report) {
  const std::string size = format_bytes(report.bytes);
  return report.product_first ? fmt::format("{}, then {} of its {}, on {} ranks of {}", report.gemm, report.collective,
                                            size, report.ranks, report.machine)
                              : fmt::format("{} of {}, then {} of its output, on {} ranks of {}", report.collective,
                                            size, report.gemm, report.ranks, report.machine);
}

std::string whole_product(const Characterization& report) {
  std::vector<std::string> losses;
  const auto values = report.whole.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0.0005) losses.push_back(fmt::format("{} {:.1f} %", report.whole.kNames[i], 100 * values[i]));
  }
  return fmt::format("the whole GEMM takes {:.1f} us alone, with kernel {}{}; one after the other {:.1f} us",
                     microseconds(report.gemm_alone), report.kernel,
                     losses.empty() ? "" : fmt::format(" (of it {})", join(losses)), microseconds(report.serial));
}

constexpr std::array<std::string_view, 5> kCauseMeanings{
    "compute units without work in waves that are filled in part",
    "smaller tiles, and tiles that reach beyond the edges",
    "memory and caches that bring operands more slowly than units multiply", "what is added to is read as well",
    "of tiles: first loads and stores of the result"};

Column share_column(std::string key, std::string head, std::string meaning) {
  return {std::move(key), std::move(head), "%", 1, std::move(meaning), View::narrow, Notation::with_sign, 100};
}

std::vector<Field<DecompositionRow>> decomposition_fields() {
  using R = DecompositionRow;
  std::vector<Field<R>> fields{
      {{"schedule", "schedule", "", 0, "a published one"}, &R::schedule},
      {{"chunks", "chunks", "", 0, "exchanges one after another"}, &R::chunks},
      {{"pieces", "pieces", "", 0, "GEMMs of one GPU"}, &R::pieces},
      {{"largest", "largest piece", "", 0, "of them", View::wide}, &R::largest},
      {{"kernels", "kernels", "", 0, "tiles that are chosen, those with most time first"}, &R::kernels},
      {{"time_us", "time", "us", 1, "all pieces alone, without kernel starts"}, &R::time_us},
      {{"dil", "DIL", "", 3, "decomposition loss: the pieces one after the other, each alone, over the whole GEMM"},
       &R::dil}};
  for (std::size_t i = 0; i < kCauseMeanings.size(); ++i) {
    const std::string name(DecompositionCauses::kNames[i]);
    fields.push_back({share_column(name, name, fmt::format("share of `dil` - 1: {}", kCauseMeanings[i])),
                      [i](const R& row) { return row.causes.values()[i]; }});
  }
  fields.push_back({share_column("kernel_starts", "kernel starts",
                                 "of the kernels more than one, over the whole; not a part of `dil`"),
                    &R::kernel_starts});
  return fields;
}

Field<ContentionRow> time_field(std::string key, std::string head, std::string meaning,
                                Nanoseconds ContentionRow::*time, View view = View::narrow) {
  return {{std::move(key), std::move(head), "us", 1, std::move(meaning), view},
          [time](const ContentionRow& row) { return microseconds(row.*time); }};
}

std::vector<Field<ContentionRow>> contention_fields() {
  using R = ContentionRow;
  return with_energy<R>(
      {{{"schedule", "schedule", "", 0, "with default chunks"}, &R::schedule},
       {{"chunks", "chunks", "", 0, "exchanges one after another"}, &R::chunks},
       {{"means", "copies by", "", 0, "`dma` or `cores`"},
        [](const R& row) { return Cell(row.on_cores ? "cores" : "dma").shown_as(std::string(row.means())); }},
       time_field("time_us", "time", "of both", &R::time),
       {{"speedup", "speed-up", "", 2, "over `serial_us`, which is on DMA engines"}, &R::speedup},
       {{"cil_gemm", "CIL GEMM", "", 2,
         "contention loss: GEMMs beside copies over the same ones alone; waiting does not count"},
        &R::cil_gemm},
       {{"cil_comm", "CIL copies", "", 2, "the same of copies"}, &R::cil_comm},
       time_field("products_alone_us", "pieces alone",
                  "its pieces with nothing beside them, of the GPU whose GEMMs take longest, as the next four",
                  &R::products_alone, View::wide),
       time_field("products_us", "pieces", "its pieces beside copies", &R::products),
       time_field("other_kernels_us", "other kernels", "gathered and scattered rows, sums", &R::other_kernels,
                  View::wide),
       time_field("first_wait_us", "first wait", "before the first GEMM that needs what others send", &R::first_wait),
       time_field("later_waits_us", "later waits", "all others", &R::later_waits)},
      &R::energy);
}

}  // namespace

Document characterization_document(const Characterization& report) {
  Document document{.schema = "cortado.characterization", .title = characterization_title(report)};
  document.about = {whole_product(report)};
  document.facts = {
      {"gemm", report.gemm, "the GEMM of one GPU"},
      {"collective", report.collective, "which one"},
      {"product_first", report.product_first,
       "the collective consumes the GEMM's output; else the GEMM consumes the collective's"},
      {"bytes", report.bytes, "of the whole matrix that travels"},
      {"ranks", report.ranks, "GPUs that take part"},
      {"machine", report.machine, "modelled machine"},
      {"kernel", report.kernel, "tile of the whole GEMM (`/4`: k split in 4)"},
      {"gemm_alone_us", microseconds(report.gemm_alone), "the whole GEMM alone by the model, without launch"},
      {"serial_us", microseconds(report.serial), "one after the other, on DMA engines"}};
  const auto whole = report.whole.values();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    document.facts.push_back(
        {fmt::format("whole.{}", report.whole.kNames[i]), whole[i],
         fmt::format("what the whole GEMM loses itself, as a share of its time: {}", kCauseMeanings[i])});
  }
  Table cut =
      table_of("decomposition", "a published schedule in so many chunks", decomposition_fields(), report.decomposition);
  cut.title = "DIL: pieces alone against the whole GEMM, and what makes the difference, in % of the whole";
  cut.pictures = decomposition_picture(report);
  Table beside = table_of("contention", "a schedule with copies by DMA engines or by compute units",
                          contention_fields(), report.contention);
  beside.title = "CIL: side by side against alone; times of the rank whose GEMMs take longest";
  beside.pictures = contention_pictures(report);
  document.tables = {std::move(cut), std::move(beside), skipped_table(report.skipped, "schedule")};
  document.notes = skipped_notes(report.skipped);
  return document;
}

}  // namespace cortado::report
