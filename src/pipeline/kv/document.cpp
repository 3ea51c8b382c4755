#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "pipeline/kv/study.hpp"

namespace cortado::pipeline {
namespace {

using report::Cell;
using report::Field;

constexpr double kMicro = 1e6;

Cell micro(const std::optional<double>& seconds) {
  return seconds ? Cell(*seconds * kMicro) : Cell();
}

report::Table kv_table(const KvReport& report) {
  const std::vector<Field<KvRow>> fields{
      {{.key = "strategy", .head = "strategy", .meaning = "how the blocks are fetched"},
       [](const KvRow& row) { return Cell(row.strategy); }},
      {{.key = "time_us", .head = "time", .unit = "us", .digits = 1, .meaning = "until the last byte is in place"},
       [](const KvRow& row) { return Cell(row.transfer.seconds * kMicro); }},
      {{.key = "GBps", .head = "GB/s", .digits = 2, .meaning = "KV bytes of one GPU over the time"},
       [](const KvRow& row) { return Cell(row.gbps); }},
      {{.key = "host_us", .head = "host", .unit = "us", .digits = 1, .meaning = "processor time of one GPU's thread"},
       [](const KvRow& row) { return Cell(row.transfer.host_seconds * kMicro); }},
      {{.key = "cus", .head = "CUs", .meaning = "compute units that are busy meanwhile; 0: DMA engines"},
       [](const KvRow& row) { return Cell(row.compute_units); }},
      {{.key = "energy_J",
        .head = "energy",
        .unit = "J",
        .digits = 4,
        .meaning = "energy of all GPUs, including idle power; null if the machine does not describe power",
        .notation = report::Notation::significant},
       [](const KvRow& row) { return row.transfer.joules > 0 ? Cell(row.transfer.joules) : Cell(); }},
      {{.key = "first_layer_us",
        .head = "first layer",
        .unit = "us",
        .digits = 1,
        .meaning = "until attention of the first layer can start; null: with the last byte"},
       [](const KvRow& row) { return micro(row.first_layer_seconds); }},
      {{.key = "of_recompute",
        .head = "of re- compute",
        .digits = 3,
        .meaning = "its time over that of recomputing the prefix"},
       [&report](const KvRow& row) { return Cell(row.transfer.seconds / report.recompute_seconds); }}};
  return report::table_of<KvRow>("rows", "one per strategy", fields, report.rows);
}

std::string answer_of(const KvReport& report) {
  if (report.rows.empty()) return "recompute: no strategy applies";
  const KvRow& best = report.rows[report.best];
  // Where the GPUs have no room for the prompt, only the prefix can be compared.
  const bool first_token = report.fetch_ttft_seconds && report.recompute_ttft_seconds;
  const double fetch = first_token ? *report.fetch_ttft_seconds : best.transfer.seconds;
  const double recompute = first_token ? *report.recompute_ttft_seconds : report.recompute_seconds;
  const std::string_view what = first_token ? "time to first token" : "the prefix takes";
  if (!report.fetch) {
    return fmt::format("recompute: {} {:.1f} us; fetching with {} {:.1f} us", what, recompute * kMicro, best.strategy,
                       fetch * kMicro);
  }
  std::string from;
  if (report.break_even_tokens) {
    from = *report.break_even_tokens <= report.request.blocks.tokens
               ? "; it pays off from the first block"
               : fmt::format("; it pays off from {} tokens", *report.break_even_tokens);
  }
  const double times = recompute / fetch;
  return fmt::format("fetch with {}: {} {:.1f} us, recomputing {:.1f} us ({:.{}f} times as long){}", best.strategy,
                     what, fetch * kMicro, recompute * kMicro, times, times < 10 ? 2 : 1, from);
}

}  // namespace

report::Document kv_document(const KvReport& report) {
  const KvStudyRequest& request = report.request;
  const plan::KvRequest& transfer = report.transfer;
  report::Document document{.schema = "cortado.kv"};
  document.title = fmt::format("{}: KV of {} from host memory to {} of {}", request.model.name,
                               counted(request.tokens, "token"), counted(request.blocks.tp, "GPU"), report.machine);
  const Bytes of_gpu = transfer.fragment * transfer.fragments * transfer.blocks;
  document.about = {fmt::format("{} of {}, layout {}: {} of {} for each GPU, {}", counted(transfer.blocks, "block"),
                                counted(request.blocks.tokens, "token"), request.blocks.layout,
                                transfer.blocks * transfer.fragments == 1
                                    ? "1 copy"
                                    : fmt::format("{} copies", transfer.blocks * transfer.fragments),
                                format_bytes(transfer.fragment), format_bytes(of_gpu)),
                    transfer.group > 1 ? fmt::format("{} GPUs each hold the same bytes", transfer.group)
                                       : std::string("each GPU holds different bytes"),
                    fmt::format("recomputing takes {:.1f} us, the pass for the last token {:.1f} us; {:.0f} us of "
                                "scheduling is an assumption",
                                report.recompute_seconds * kMicro, report.last_token_seconds * kMicro,
                                report.scheduling_seconds * kMicro),
                    "predicted by the simulator; long prefixes are extrapolated linearly from two simulations"};
  document.facts = {{"model", request.model.name, "the model"},
                    {"machine", report.machine, "modelled machine", true},
                    {"tp", request.blocks.tp, "GPUs of the tensor-parallel group", true},
                    {"tokens", request.tokens, "tokens of the cached prefix", true},
                    {"block_tokens", request.blocks.tokens, "tokens per block"},
                    {"layout", request.blocks.layout, "what is contiguous in a block"},
                    {"fragments", transfer.fragments, "copies of one block for one GPU"},
                    {"fragment_bytes", transfer.fragment, "bytes of one copy"},
                    {"replicated", transfer.group, "GPUs that hold the same bytes"},
                    {"recompute_us", report.recompute_seconds * kMicro, "time to recompute the prefix"},
                    {"ttft_us", micro(report.ttft_seconds()),
                     "time to first token of one request on an idle machine with this choice: scheduling, the prefix "
                     "and the pass of the last token, as in serve-sim; null: the GPUs have no room for it"},
                    {"ttft_fetch_us", micro(report.fetch_ttft_seconds), "the same with the fastest strategy"},
                    {"ttft_recompute_us", micro(report.recompute_ttft_seconds),
                     "the same if prefix and last token are computed in one pass"},
                    {"break_even_tokens", Cell(report.break_even_tokens),
                     "shortest prefix with which the first token comes earlier if it is fetched; null: none up to the "
                     "given length"},
                    {"kappa", report.kappa, "cached tokens per new token at which fetching takes as long as computing"},
                    {"choice", report.choice(), "recommended strategy, or recompute"}};
  document.tables.push_back(kv_table(report));
  document.tables.back().charts = {{.title = "Time by strategy", .values = {"time_us"}, .labels = {"strategy"}}};
  for (const KvSkipped& skipped : report.skipped) {
    document.notes.push_back(fmt::format("{} left out: {}", skipped.strategy, skipped.why));
  }
  if (!report.engine_counts.empty()) {
    document.notes.push_back(fmt::format("tried with {} engines; one engine and the fastest number are shown",
                                         fmt::join(report.engine_counts, ", ")));
  }
  document.notes.push_back(fmt::format(
      "kappa {:.1f}: beyond this many cached tokens per new token, the host link is the limit", report.kappa));
  if (!report.ttft_seconds())
    document.notes.emplace_back("no time to first token: the GPUs have no room for the prompt");
  document.answer = {answer_of(report)};
  return document;
}

}  // namespace cortado::pipeline
