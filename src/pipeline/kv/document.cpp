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
      {{.key = "ahead_us",
        .head = "ahead",
        .unit = "us",
        .digits = 1,
        .meaning = "of host_us, before time_us begins: packets that are submitted ahead of their trigger",
        .view = report::View::data},
       [](const KvRow& row) { return Cell(row.transfer.ahead_seconds * kMicro); }},
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
      {{.key = "of_recompute", .head = "of re- compute", .digits = 3, .meaning = "its time over recompute_us"},
       [&report](const KvRow& row) { return Cell(row.transfer.seconds / report.recompute_seconds); }}};
  return report::table_of<KvRow>("rows", "one per strategy", fields, report.rows);
}

/// What a time to first token consists of.
std::string parts_of(const KvReport& report) {
  if (report.rows[report.best].first_layer_seconds) {
    return " (layers are computed while others arrive)";
  }
  const KvTransfer& transfer = report.rows[report.best].transfer;
  const std::string ahead =
      transfer.ahead_seconds > 0 ? fmt::format(" + {:.1f} submission", transfer.ahead_seconds * kMicro) : "";
  return fmt::format(" ({:.1f} scheduling{} + {:.1f} fetch + {:.1f} pass)", report.scheduling_seconds * kMicro, ahead,
                     transfer.seconds * kMicro, report.pass_seconds * kMicro);
}

std::string answer_of(const KvReport& report) {
  if (report.transfer.blocks == 0) return "recompute: the prefix does not fill a block";
  if (report.rows.empty()) return "recompute: no strategy applies";
  const KvRow& best = report.rows[report.best];
  // Where the GPUs have no room for the prompt, only the prefix can be compared.
  const double fetch = report.room ? *report.fetch_ttft_seconds : best.transfer.seconds;
  const double recompute = report.room ? report.recompute_ttft_seconds : report.recompute_seconds;
  const std::string_view what = report.room ? "time to first token" : "the prefix takes";
  const std::string parts = report.room ? parts_of(report) : "";
  if (!report.fetch) {
    const std::string some =
        report.break_even_tokens
            ? fmt::format("; fetching pays off with some shorter prefixes, the shortest of which has {}",
                          counted(*report.break_even_tokens, "token"))
            : "";
    return fmt::format("recompute: {} {:.1f} us; fetching with {} {:.1f} us{}{}", what, recompute * kMicro,
                       best.strategy, fetch * kMicro, parts, some);
  }
  std::string from;
  if (report.break_even_tokens) {
    from = *report.break_even_tokens <= report.request.blocks.tokens
               ? "; it pays off even with a single block"
               : fmt::format("; the shortest prefix with which it pays off has {}",
                             counted(*report.break_even_tokens, "token"));
  }
  const double times = recompute / fetch;
  return fmt::format("fetch with {}: {} {:.1f} us{}, with recomputing {:.1f} us ({:.{}f} times as long){}",
                     best.strategy, what, fetch * kMicro, parts, recompute * kMicro, times, times < 10 ? 2 : 1, from);
}

/// What is computed with a fetch and without.
std::string steps_text(const KvReport& report) {
  const KvStudyRequest& request = report.request;
  const std::uint64_t prompt = request.tokens + 1;
  const std::uint64_t steps = (prompt + request.step_tokens - 1) / request.step_tokens;
  const std::uint64_t loose = request.loose_tokens();
  const std::string pass =
      report.transfer.blocks == 0
          ? ""
          : fmt::format("the pass after a fetch, for the last {}, {:.1f} us; ",
                        loose > 0 ? fmt::format("{} tokens", loose + 1) : "token", report.pass_seconds * kMicro);
  return fmt::format("recomputing all {} tokens takes {:.1f} us{}; {}{:.0f} us of scheduling is an assumption", prompt,
                     report.recompute_seconds * kMicro, steps > 1 ? fmt::format(" in {} steps", steps) : "", pass,
                     report.scheduling_seconds * kMicro);
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
                    steps_text(report),
                    "predicted by the simulator; long prefixes are extrapolated linearly from two simulations"};
  const auto ttft = [&](std::optional<double> seconds) { return report.room ? micro(seconds) : Cell(); };
  document.facts = {
      {"model", request.model.name, "the model"},
      {"machine", report.machine, "modelled machine", true},
      {"tp", request.blocks.tp, "GPUs of the tensor-parallel group", true},
      {"tokens", request.tokens, "tokens of the cached prefix", true},
      {"block_tokens", request.blocks.tokens, "tokens per block"},
      {"layout", request.blocks.layout, "what is contiguous in a block"},
      {"fragments", transfer.fragments, "copies of one block for one GPU"},
      {"fragment_bytes", transfer.fragment, "bytes of one copy"},
      {"replicated", transfer.group, "GPUs that hold the same bytes"},
      {"blocks", transfer.blocks, "complete blocks, which are fetched"},
      {"recompute_us", report.recompute_seconds * kMicro,
       "time to compute the prefix and the token after it, in steps of at most 8192 tokens"},
      {"pass_us", report.pass_seconds * kMicro,
       "time of the step after a fetch: the tokens behind the last complete block, and the one after the "
       "prefix"},
      {"scheduling_us", report.scheduling_seconds * kMicro, "time that a request takes in addition to its steps"},
      {"ttft_us", ttft(report.fetch ? report.fetch_ttft_seconds : report.recompute_ttft_seconds),
       "time to first token of one request on an idle machine with this choice, as in serve-sim; null: "
       "the GPUs have no room for it"},
      {"ttft_fetch_us", ttft(report.fetch_ttft_seconds),
       "the same with the fastest strategy: scheduling_us, its ahead_us and time_us, and pass_us; less with "
       "b2b-layers, whose layers are computed while others arrive"},
      {"ttft_recompute_us", ttft(report.recompute_ttft_seconds),
       "the same if nothing is fetched: scheduling_us and recompute_us"},
      {"break_even_tokens", Cell(report.break_even_tokens),
       "shortest prefix with which the first token comes earlier if it is fetched, which need not hold for all longer "
       "ones; null: none up to the given length"},
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
  if (transfer.blocks == 0) {
    document.notes.push_back(fmt::format("{} {} not fill a block of {}, and engines cache complete blocks only",
                                         counted(request.tokens, "token"), request.tokens == 1 ? "does" : "do",
                                         request.blocks.tokens));
  } else if (const std::uint64_t loose = request.loose_tokens(); loose > 0) {
    document.notes.push_back(fmt::format(
        "engines cache complete blocks only: the last {} of the prefix {} computed in the pass after the "
        "fetch, which would take {:.1f} us without {}",
        counted(loose, "token"), loose == 1 ? "is" : "are", report.token_seconds * kMicro, loose == 1 ? "it" : "them"));
  }
  if (!report.rows.empty())
    document.notes.push_back(fmt::format(
        "kappa {:.1f}: beyond this many cached tokens per new token, the host link is the limit", report.kappa));
  if (!report.room) document.notes.emplace_back("no time to first token: the GPUs have no room for the prompt");
  document.answer = {answer_of(report)};
  return document;
}

}  // namespace cortado::pipeline
