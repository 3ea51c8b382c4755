#include "cortado/report/characterization.hpp"

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/report/energy.hpp"

#include "report/characterization_parts.hpp"

namespace cortado::report {
namespace {

std::string characterization_title(const Characterization& report) {
  const std::string size = format_bytes(report.bytes);
  return report.product_first ? fmt::format("{}, then {} of its {}, on {} ranks of {}", report.gemm, report.collective,
                                            size, report.ranks, report.machine)
                              : fmt::format("{} of {}, then {} of what it brings, on {} ranks of {}", report.collective,
                                            size, report.gemm, report.ranks, report.machine);
}

std::string whole_product(const Characterization& report) {
  std::vector<std::string> losses;
  const auto values = report.whole.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0.0005) losses.push_back(fmt::format("{} {:.1f} %", report.whole.kNames[i], 100 * values[i]));
  }
  return fmt::format("the whole product takes {:.1f} us alone, with kernel {}{}; one after the other {:.1f} us",
                     microseconds(report.gemm_alone), report.kernel,
                     losses.empty() ? "" : fmt::format(" (of it {})", join(losses)), microseconds(report.serial));
}

constexpr std::array<std::string_view, 5> kCauseMeanings{
    "compute units without work in waves that are filled in part",
    "smaller tiles, and tiles that reach beyond the edges",
    "memory and caches that bring operands more slowly than units multiply", "what is added to is read as well",
    "of tiles: first loads and stores of the result"};

Column share_column(std::string key, std::string head, std::string meaning) {
  return {.key = std::move(key),
          .head = std::move(head),
          .unit = "%",
          .digits = 1,
          .meaning = std::move(meaning),
          .notation = Notation::with_sign,
          .scale = 100};
}

std::vector<Field<DecompositionRow>> decomposition_fields() {
  using R = DecompositionRow;
  std::vector<Field<R>> fields{
      {{.key = "schedule", .head = "schedule", .meaning = "a published one"},
       [](const R& row) { return row.schedule; }},
      {{.key = "chunks", .head = "chunks", .meaning = "exchanges one after another"},
       [](const R& row) { return row.chunks; }},
      {{.key = "pieces", .head = "pieces", .meaning = "products of one GPU"}, [](const R& row) { return row.pieces; }},
      {{.key = "largest", .head = "largest piece", .meaning = "of them", .view = View::wide},
       [](const R& row) { return row.largest; }},
      {{.key = "kernels", .head = "kernels", .meaning = "tiles that are chosen, those with most time first"},
       [](const R& row) { return row.kernels; }},
      {{.key = "time_us",
        .head = "time",
        .unit = "us",
        .digits = 1,
        .meaning = "all pieces alone, without kernel starts"},
       [](const R& row) { return row.time_us; }},
      {{.key = "dil",
        .head = "DIL",
        .digits = 3,
        .meaning = "decomposition loss: the pieces one after the other, each alone, over the whole product"},
       [](const R& row) { return row.dil; }}};
  for (std::size_t i = 0; i < kCauseMeanings.size(); ++i) {
    const std::string name(DecompositionCauses::kNames[i]);
    fields.push_back({share_column(name, name, fmt::format("share of `dil` - 1: {}", kCauseMeanings[i])),
                      [i](const R& row) { return row.causes.values()[i]; }});
  }
  fields.push_back({share_column("kernel_starts", "kernel starts",
                                 "of the kernels more than one, over the whole; not a part of `dil`"),
                    [](const R& row) { return row.kernel_starts; }});
  return fields;
}

Field<ContentionRow> time_field(std::string key, std::string head, std::string meaning,
                                Nanoseconds ContentionRow::*time, View view = View::narrow) {
  return {{.key = std::move(key),
           .head = std::move(head),
           .unit = "us",
           .digits = 1,
           .meaning = std::move(meaning),
           .view = view},
          [time](const ContentionRow& row) { return microseconds(row.*time); }};
}

std::vector<Field<ContentionRow>> contention_fields() {
  using R = ContentionRow;
  return with_energy<R>(
      {{{.key = "schedule", .head = "schedule", .meaning = "with default chunks"},
        [](const R& row) { return row.schedule; }},
       {{.key = "chunks", .head = "chunks", .meaning = "exchanges one after another"},
        [](const R& row) { return row.chunks; }},
       {{.key = "means", .head = "copies by", .meaning = "`dma` or `cores`"},
        [](const R& row) { return Cell(row.on_cores ? "cores" : "dma").shown_as(std::string(row.means())); }},
       time_field("time_us", "time", "of both", &R::time),
       {{.key = "speedup", .head = "speed-up", .digits = 2, .meaning = "over `serial_us`, which is on DMA engines"},
        [](const R& row) { return row.speedup; }},
       {{.key = "cil_gemm",
         .head = "CIL product",
         .digits = 2,
         .meaning = "contention loss: products beside copies over the same ones alone; waiting does not count"},
        [](const R& row) { return row.cil_gemm; }},
       {{.key = "cil_comm", .head = "CIL copies", .digits = 2, .meaning = "the same of copies"},
        [](const R& row) { return row.cil_comm; }},
       time_field("products_alone_us", "pieces alone",
                  "its pieces with nothing beside them, of the GPU whose products take longest, as the next four",
                  &R::products_alone, View::wide),
       time_field("products_us", "pieces", "its pieces beside copies", &R::products),
       time_field("other_kernels_us", "other kernels", "gathered and scattered rows, sums", &R::other_kernels,
                  View::wide),
       time_field("first_wait_us", "first wait", "before the first product that needs what others send",
                  &R::first_wait),
       time_field("later_waits_us", "later waits", "all others", &R::later_waits)},
      &R::energy);
}

}  // namespace

Document characterization_document(const Characterization& report) {
  Document document{.schema = "cortado.characterization", .title = characterization_title(report)};
  document.about = {whole_product(report)};
  document.facts = {
      {"gemm", report.gemm, "the product of one GPU"},
      {"collective", report.collective, "which one"},
      {"product_first", report.product_first,
       "the collective takes the product away; else it brings what is multiplied"},
      {"bytes", report.bytes, "of the whole matrix that travels"},
      {"ranks", report.ranks, "GPUs that take part"},
      {"machine", report.machine, "modelled machine"},
      {"kernel", report.kernel, "tile of the whole product (`/4`: k split in 4)"},
      {"gemm_alone_us", microseconds(report.gemm_alone), "the whole product alone by the model, without launch"},
      {"serial_us", microseconds(report.serial), "one after the other, on DMA engines"}};
  const auto whole = report.whole.values();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    document.facts.push_back(
        {fmt::format("whole.{}", report.whole.kNames[i]), whole[i],
         fmt::format("what the whole product loses itself, as a share of its time: {}", kCauseMeanings[i])});
  }
  Table cut =
      table_of("decomposition", "a published schedule in so many chunks", decomposition_fields(), report.decomposition);
  cut.title = "DIL: pieces alone against the whole product, and what makes the difference, in % of the whole";
  cut.pictures = decomposition_picture(report);
  Table beside = table_of("contention", "a schedule with copies by DMA engines or by compute units",
                          contention_fields(), report.contention);
  beside.title = "CIL: side by side against alone; times of the rank whose products take longest";
  beside.pictures = contention_pictures(report);
  document.tables = {std::move(cut), std::move(beside), skipped_table(report.skipped, "schedule")};
  document.notes = skipped_notes(report.skipped);
  return document;
}

}  // namespace cortado::report
