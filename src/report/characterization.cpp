#include "report/characterization.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/energy.hpp"

namespace cortado::report {
namespace {

/// Limits of the charts, in percent of the whole GEMM and in multiples of the serial time: differences beyond that do
/// not matter.
constexpr double kMostLoss = 60;
constexpr double kMostTime = 1.25;

constexpr const char* kDecomposition =
    "The GEMM's pieces run one after another, each alone, compared with the whole GEMM. Idle: compute units without "
    "work in partly filled waves. Tiles: smaller tiles, and tiles that reach past the edges. Operands: memory and "
    "caches that are slower than the compute units. Results: C is also read when it is added to. Starts: start-up of "
    "tiles. Kernel starts are not part of DIL. Below zero: less than in the whole GEMM.";
constexpr const char* kContention =
    "GEMMs and copies at the same time, compared with the same ones alone, with copies by DMA engines and by compute "
    "units; waiting does not count. Times of the rank whose GEMMs take longest.";

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
  return fmt::format(
      "the whole GEMM takes {:.1f} us alone at a fixed clock, with kernel {}{}; GEMM and collective in sequence take "
      "{:.1f} us",
      microseconds(report.gemm_alone), report.kernel, losses.empty() ? "" : fmt::format(" (of which {})", join(losses)),
      microseconds(report.serial));
}

constexpr std::array<std::string_view, 5> kCauseMeanings{
    "compute units without work in partly filled waves", "smaller tiles, and tiles that reach past the edges",
    "memory and caches that deliver operands more slowly than the compute units consume them",
    "C is also read when it is added to", "start-up of tiles: first loads and stores of the result"};

Column share_column(std::string key, std::string head, std::string meaning) {
  return {std::move(key), std::move(head), "%", 1, std::move(meaning), View::narrow, Notation::with_sign, 100};
}

std::vector<Field<DecompositionRow>> decomposition_fields() {
  using R = DecompositionRow;
  std::vector<Field<R>> fields{
      {{"schedule", "schedule", "", 0, "a published one"}, &R::schedule},
      {{"chunks", "chunks", "", 0, "number of exchange steps"}, &R::chunks},
      {{"pieces", "pieces", "", 0, "GEMMs per GPU"}, &R::pieces},
      {{"largest", "largest piece", "", 0, "the largest of them", View::wide}, &R::largest},
      {{"kernels", "kernels", "", 0, "tiles that are used, those that take most time first"}, &R::kernels},
      {{"time_us", "time", "us", 1, "all pieces alone, without kernel starts"}, &R::time_us},
      {{"dil", "DIL", "", 3, "decomposition loss: the pieces one after another, each alone, over the whole GEMM"},
       &R::dil}};
  for (std::size_t i = 0; i < kCauseMeanings.size(); ++i) {
    const std::string name(DecompositionCauses::kNames[i]);
    fields.push_back({share_column(name, name, fmt::format("share of `dil` - 1: {}", kCauseMeanings[i])),
                      [i](const R& row) { return row.causes.values()[i]; }});
  }
  fields.push_back({share_column("kernel_starts", "kernel starts",
                                 "starts of all kernels but one, over the whole; not part of `dil`"),
                    &R::kernel_starts});
  return fields;
}

Field<ContentionRow> time_field(std::string key, std::string head, std::string meaning,
                                Nanoseconds ContentionRow::*time, View view = View::narrow) {
  return {{std::move(key), std::move(head), "us", 1, std::move(meaning), view},
          [time](const ContentionRow& row) { return microseconds(row.*time); }};
}

/// What the time of a row consists of, besides its other kernels and waits.
std::vector<Field<ContentionRow>> part_fields(Nanoseconds whole) {
  using R = ContentionRow;
  const auto part = [](const char* key, const char* head, const char* meaning, auto value) {
    return Field<R>{{.key = fmt::format("parts_us.{}", key),
                     .head = head,
                     .unit = "us",
                     .digits = 1,
                     .meaning = meaning,
                     .view = View::data},
                    [value](const R& row) { return microseconds(value(row)); }};
  };
  return {part("whole", "whole GEMM", "part of `time_us`: the whole GEMM alone", [whole](const R&) { return whole; }),
          part("cutting", "splitting and starts", "extra time of its pieces alone, with their starts",
               [whole](const R& row) { return row.products_alone - whole; }),
          part("contention", "contention", "extra time when they run beside copies",
               [](const R& row) { return row.products - row.products_alone; }),
          part("rest", "rest", "what remains of `time_us` without pieces, other kernels and waits", [](const R& row) {
            return row.time - row.products - row.other_kernels - row.first_wait - row.later_waits;
          })};
}

std::vector<Field<ContentionRow>> contention_fields(Nanoseconds whole) {
  using R = ContentionRow;
  std::vector<Field<R>> fields = {
      {{"schedule", "schedule", "", 0, "with default chunks"}, &R::schedule},
      {{"chunks", "chunks", "", 0, "number of exchange steps"}, &R::chunks},
      {{"means", "copies by", "", 0, "`dma` or `cores`"},
       [](const R& row) { return Cell(row.on_cores ? "cores" : "dma").shown_as(std::string(row.means())); }},
      time_field("time_us", "time", "time of GEMM and copies", &R::time),
      {{"speedup", "speed-up", "", 2, "over `serial_us`, which is on DMA engines"}, &R::speedup},
      {{"cil_gemm", "CIL GEMM", "", 2,
        "contention loss: GEMMs beside copies over the same ones alone; waiting does not count"},
       &R::cil_gemm},
      {{"cil_comm", "CIL copies", "", 2, "the same for copies"}, &R::cil_comm},
      time_field("products_alone_us", "pieces alone",
                 "its pieces with nothing beside them, on the GPU whose GEMMs take longest, as for the next four",
                 &R::products_alone, View::wide),
      time_field("products_us", "pieces", "its pieces beside copies", &R::products),
      time_field("other_kernels_us", "other kernels", "gathering and scattering rows, sums", &R::other_kernels,
                 View::wide),
      time_field("first_wait_us", "first wait", "before the first GEMM that needs data from other GPUs",
                 &R::first_wait),
      time_field("later_waits_us", "later waits", "all others", &R::later_waits)};
  for (Field<R>& part : part_fields(whole)) fields.push_back(std::move(part));
  return with_energy<R>(std::move(fields), &R::energy);
}

}  // namespace

Document characterization_document(const Characterization& report) {
  Document document{.schema = "cortado.characterization", .title = characterization_title(report)};
  document.about = {whole_product(report)};
  document.facts = {
      {"gemm", report.gemm, "the GEMM on each GPU"},
      {"collective", report.collective, "name of the collective"},
      {"product_first", report.product_first,
       "the collective consumes the GEMM's output; else the GEMM consumes the collective's"},
      {"bytes", report.bytes, "size of the whole matrix that is exchanged"},
      {"ranks", report.ranks, "number of GPUs"},
      {"machine", report.machine, "modelled machine"},
      {"kernel", report.kernel, "tile of the whole GEMM (`/4`: k split in 4)"},
      {"gemm_alone_us", microseconds(report.gemm_alone), "the whole GEMM alone by the model, without launch"},
      {"serial_us", microseconds(report.serial), "GEMM and collective in sequence, on DMA engines"}};
  const auto whole = report.whole.values();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    document.facts.push_back(
        {fmt::format("whole.{}", report.whole.kNames[i]), whole[i],
         fmt::format("what the whole GEMM itself loses, as a share of its time: {}", kCauseMeanings[i])});
  }
  Table cut = table_of("decomposition", "a published schedule in a number of chunks", decomposition_fields(),
                       report.decomposition);
  cut.title =
      "DIL: the pieces alone, compared with the whole GEMM at a fixed clock, and where the difference comes from, in % "
      "of the whole";
  cut.charts = {{.title = "Extra time of the pieces over the whole GEMM",
                 .values = {"idle", "tiles", "operands", "results", "starts", "kernel_starts"},
                 .labels = {"schedule", "chunks"},
                 .most = kMostLoss,
                 .about = kDecomposition}};
  Table beside = table_of("contention", "a schedule with copies by DMA engines or by compute units",
                          contention_fields(report.gemm_alone), report.contention);
  beside.title =
      "CIL: side by side compared with alone; speed-up over serial-dma; times of the rank whose GEMMs take longest";
  beside.charts = {{.kind = Chart::Kind::beside,
                    .title = "How much GEMMs and copies slow each other down",
                    .values = {"cil_gemm", "cil_comm"},
                    .labels = {"schedule", "means"},
                    .about = kContention},
                   {.title = "Where the time goes",
                    .values = {"parts_us.whole", "parts_us.cutting", "parts_us.contention", "other_kernels_us",
                               "first_wait_us", "later_waits_us", "parts_us.rest"},
                    .labels = {"schedule", "means"},
                    .most = kMostTime * microseconds(report.serial),
                    .about = "Times of the rank whose GEMMs take longest."}};
  document.tables = {std::move(cut), std::move(beside), skipped_table(report.skipped, "schedule")};
  document.notes = skipped_notes(report.skipped);
  return document;
}

}  // namespace cortado::report
