#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/text.hpp"
#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

using report::Cell;
using report::Field;
using report::Notation;
using report::View;

/// Empty if there is nothing to divide by.
Cell share(double part, double whole) {
  return whole > 0 ? Cell(part / whole) : Cell();
}

/// Three digits, or all before the point.
std::string plain_rate(double rate) {
  return rate < 1000 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

std::string length_text(const Length& length) {
  return length.least == length.most ? fmt::format("{}", length.least)
                                     : fmt::format("{} to {}", length.least, length.most);
}

std::string arrivals_text(const ServeRequest& request) {
  const auto* generated = std::get_if<Generated>(&request.arrivals);
  if (generated == nullptr) return fmt::format("requests of {}", std::get<std::string>(request.arrivals));
  std::string text = fmt::format("{} of {} tokens in, {} out", counted(generated->requests, "request"),
                                 length_text(generated->input), length_text(generated->output));
  if (generated->users) {
    text += fmt::format(", {} at a time", *generated->users);
  } else if (generated->rate) {
    text += fmt::format(", {:g} per second (Poisson)", *generated->rate);
  } else {
    text += ", all at once";
  }
  if (generated->turns > 1) text += fmt::format(", conversations of {} turns", generated->turns);
  if (generated->hit_rate > 0) text += fmt::format(", {:g} % of a prompt already stored", 100 * generated->hit_rate);
  return text;
}

void add_spread(std::vector<Field<ServeRow>>& fields, const std::string& key, const std::string& head,
                const Spread ServeRow::*spread) {
  const auto add = [&](const char* name, double Spread::*value, View view) {
    fields.push_back(
        {{.key = fmt::format("{}_us.{}", key, name),
          .head = fmt::format("{} {}", head, name),
          .unit = "ms",
          .digits = 4,
          .meaning = fmt::format("{}, {}",
                                 key == "ttft"   ? "time to first token"
                                 : key == "tpot" ? "time per output token after the first"
                                                 : "end-to-end time of a request",
                                 std::string(name) == "mean" ? "mean" : std::string("percentile ") + (name + 1)),
          .view = view,
          .notation = Notation::significant,
          .scale = 1e-3,
          .csv = fmt::format("{}_{}_us", key, name)},
         [spread, value](const ServeRow& row) {
           return (row.*spread).values == 0 ? Cell() : Cell(row.*spread.*value * 1e6);
         }});
  };
  const bool narrow = key != "latency";
  add("mean", &Spread::mean, View::wide);
  add("p50", &Spread::p50, narrow ? View::narrow : View::wide);
  add("p90", &Spread::p90, View::wide);
  add("p99", &Spread::p99, narrow ? View::narrow : View::wide);
}

std::vector<Field<ServeRow>> fields_of(const ServeReport& report) {
  const std::uint32_t replicas = report.request.replicas;
  std::vector<Field<ServeRow>> fields{
      {{.key = "way", .head = "prefixes by", .meaning = "how the KV cache of known prompts is obtained"},
       [](const ServeRow& row) { return Cell(row.way); }}};
  add_spread(fields, "ttft", "TTFT", &ServeRow::ttft);
  add_spread(fields, "tpot", "TPOT", &ServeRow::tpot);
  add_spread(fields, "latency", "latency", &ServeRow::latency);
  const auto count = [&](const char* key, const char* head, const char* meaning, std::uint64_t Tally::*value,
                         View view) {
    fields.push_back({{.key = key, .head = head, .meaning = meaning, .view = view},
                      [value](const ServeRow& row) { return Cell(row.tally.*value); }});
  };
  const auto rate = [&](const char* key, const char* head, int digits, const char* meaning, View view, auto value) {
    fields.push_back({{.key = key, .head = head, .unit = "/s", .digits = digits, .meaning = meaning, .view = view},
                      [value](const ServeRow& row) { return share(value(row), row.seconds()); }});
  };
  rate("requests_per_s", "requests", 2, "answered requests, from the first arrival to the last token", View::narrow,
       [](const ServeRow& row) { return static_cast<double>(row.tally.finished); });
  rate("output_tokens_per_s", "tokens out", 0, "output tokens", View::narrow,
       [](const ServeRow& row) { return static_cast<double>(row.tally.output_tokens); });
  rate("input_tokens_per_s", "tokens in", 0, "prompt tokens, cached or computed", View::wide,
       [](const ServeRow& row) { return static_cast<double>(row.tally.prompt_tokens); });
  rate("goodput_requests_per_s", "good requests", 2, "requests answered within the limits (--slo-ttft, --slo-tpot)",
       report.request.slo_ttft || report.request.slo_tpot ? View::narrow : View::wide,
       [](const ServeRow& row) { return static_cast<double>(row.tally.good); });
  fields.push_back({{.key = "sustained_requests_per_s",
                     .head = "sustained",
                     .unit = "/s",
                     .digits = 2,
                     .meaning = "if overloaded, answered requests, as in requests_per_s; otherwise null",
                     .view = View::wide},
                    [](const ServeRow& row) { return row.overload ? Cell(row.overload->served) : Cell(); }});
  const auto percent = [&](const char* key, const char* head, const char* meaning, View view, auto value) {
    fields.push_back(
        {{.key = key, .head = head, .unit = "%", .digits = 1, .meaning = meaning, .view = view, .scale = 100},
         [value](const ServeRow& row) { return Cell(value(row)); }});
  };
  percent("hits.hbm", "HBM hits", "share of prompt tokens found in GPU memory", View::narrow, [](const ServeRow& row) {
    return share(static_cast<double>(row.tally.hbm_tokens), static_cast<double>(row.tally.prompt_tokens));
  });
  percent("hits.host", "host hits", "share of prompt tokens fetched from host memory", View::narrow,
          [](const ServeRow& row) {
            return share(static_cast<double>(row.tally.host_tokens), static_cast<double>(row.tally.prompt_tokens));
          });
  const auto of_time = [replicas](double seconds, const ServeRow& row) {
    const double whole = row.seconds() * replicas;
    return share(std::min(seconds, whole), whole);  // the sum of many parts may be rounded up
  };
  percent("link.load", "link in", "share of the time that the host link carries blocks to the GPU", View::narrow,
          [of_time](const ServeRow& row) { return of_time(row.tally.load_s, row); });
  percent("link.store", "link out", "the same for blocks to host memory", View::wide,
          [of_time](const ServeRow& row) { return of_time(row.tally.store_s, row); });
  percent("host_submits", "host busy", "share of the time that steps wait for the host to submit copies", View::wide,
          [of_time](const ServeRow& row) { return of_time(row.tally.host_s, row); });
  percent("steps_busy", "steps", "share of the time that steps run", View::wide,
          [of_time](const ServeRow& row) { return of_time(row.tally.step_s, row); });
  percent("pool.mean", "pool", "share of KV cache pages that sequences use, mean over time", View::narrow,
          [of_time](const ServeRow& row) { return of_time(row.tally.pool_s, row); });
  percent("pool.peak", "pool peak", "maximum of that share", View::wide,
          [](const ServeRow& row) { return row.tally.pool_peak; });
  count("arrived", "arrived", "requests", &Tally::arrived, View::wide);
  count("finished", "finished", "requests that were answered", &Tally::finished, View::wide);
  fields.push_back({{.key = "refused.all", .head = "refused", .meaning = "requests that were not answered"},
                    [](const ServeRow& row) { return Cell(row.tally.refused()); }});
  count("refused.context", "too long", "of these, longer than the model's context", &Tally::refused_length, View::data);
  count("refused.pool", "beyond pool", "of these, larger than the pool", &Tally::refused_pool, View::data);
  count("refused.empty", "empty", "of these, for 0 tokens", &Tally::refused_empty, View::data);
  count("preempted", "pre- empted", "how often a sequence lost its pages and was recomputed", &Tally::preempted,
        View::narrow);
  count("recomputed_tokens", "recomputed", "tokens recomputed for that reason", &Tally::recomputed, View::wide);
  count("deadlocks", "dead- locks",
        "how often prefixes from host memory held all pages, so that none could make progress and one was dropped",
        &Tally::deadlocks, View::wide);
  count("fetches", "fetches", "requests whose prefix came from host memory", &Tally::fetches, View::wide);
  count("stores", "stores", "requests whose blocks were written to host memory", &Tally::stores, View::wide);
  count("steps", "steps", "of all replicas", &Tally::steps, View::wide);
  fields.push_back({{.key = "time_us",
                     .head = "time",
                     .unit = "s",
                     .digits = 4,
                     .meaning = "from the first arrival to the last token",
                     .view = View::wide,
                     .notation = Notation::significant,
                     .scale = 1e-6},
                    [](const ServeRow& row) { return Cell(row.seconds() * 1e6); }});
  return fields;
}

std::vector<report::Chart> charts_over_time() {
  const auto chart = [](const char* title, const char* value) {
    return report::Chart{.kind = report::Chart::Kind::lines,
                         .title = title,
                         .values = {value},
                         .labels = {"from_us"},
                         .series = {"way"}};
  };
  return {chart("Output tokens per second", "output_tokens_per_s"), chart("Time to first token, by arrival", "ttft_us"),
          chart("Running sequences", "running"), chart("KV cache pages in use", "pool"),
          chart("Host-to-GPU link, busy", "link_load")};
}

/// One row per way and bin; its charts have one line per way.
report::Table time_table(const ServeReport& report) {
  report::Table table{.key = "over_time", .meaning = "activity over time, by way", .title = "Over time"};
  table.columns = {
      {.key = "way", .head = "prefixes by", .meaning = "as in rows"},
      {.key = "from_us",
       .head = "from",
       .unit = "s",
       .digits = 3,
       .meaning = "start of the interval, after the first arrival",
       .scale = 1e-6},
      {.key = "output_tokens_per_s", .head = "tokens out", .unit = "/s", .meaning = "output tokens"},
      {.key = "prompt_tokens_per_s", .head = "tokens in", .unit = "/s", .meaning = "prompt tokens that were computed"},
      {.key = "ttft_us",
       .head = "TTFT",
       .unit = "ms",
       .digits = 1,
       .meaning = "mean time to first token of requests that arrived in the interval",
       .scale = 1e-3},
      {.key = "running", .head = "running", .digits = 1, .meaning = "sequences of all replicas"},
      {.key = "pool", .head = "pool", .unit = "%", .digits = 1, .meaning = "share of pages in use", .scale = 100},
      {.key = "link_load",
       .head = "link in",
       .unit = "%",
       .digits = 1,
       .meaning = "share of the time that it is busy",
       .scale = 100},
      {.key = "link_store",
       .head = "link out",
       .unit = "%",
       .digits = 1,
       .meaning = "share of the time that it is busy",
       .scale = 100}};
  table.data_only = true;
  table.charts = charts_over_time();
  for (const ServeRow& row : report.rows) {
    const auto rates = row.tally.over_time.rates(row.tally.end_ns);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double from = static_cast<double>(i) * static_cast<double>(row.tally.over_time.bin_ns()) * 1e-3;
      const Cell ttft = share(1e6 * rates[i].waited, rates[i].arrived);
      table.add({row.way, from, rates[i].tokens, rates[i].prompt_tokens, ttft, rates[i].running, rates[i].pool,
                 rates[i].load, rates[i].store});
    }
  }
  return table;
}

}  // namespace

report::Document serve_document(const ServeReport& report) {
  const ServeRequest& request = report.request;
  report::Document document{.schema = "cortado.serve"};
  document.title =
      fmt::format("{} on {}: {} of {}, {}", request.model.name, report.machine, counted(request.replicas, "replica"),
                  counted(request.layout.tp, "GPU"), arrivals_text(request));
  const double pool_tokens = static_cast<double>(report.pool_pages) * request.page;
  document.about = {fmt::format(
      "step: at most {} tokens and {} sequences; KV cache per replica: {} blocks of {} tokens, {:.4g} million tokens",
      request.limits.max_tokens, request.limits.max_sequences, report.pool_pages, request.page, pool_tokens * 1e-6)};
  if (request.host_tier) {
    document.about.push_back(
        fmt::format("host memory: {:.4g} GB for prefixes{}", static_cast<double>(request.host_tier->value) * 1e-9,
                    request.shared_tier && request.replicas > 1 ? ", shared by all replicas" : ""));
  }
  document.facts = {
      {"model", request.model.name, "name of the model", true},
      {"machine", report.machine, "modelled machine", true},
      {"tp", request.layout.tp, "GPUs per replica", false},
      {"replicas", request.replicas, "replicas of the model", false},
      {"dtype", std::string(to_string(request.dtype)), "element type of GEMMs", false},
      {"kv_dtype", std::string(to_string(request.kv_dtype)), "element type of the KV cache", false},
      {"arrivals", arrivals_text(request), "where requests come from", false},
      {"max_tokens", request.limits.max_tokens, "maximum tokens per step", false},
      {"max_seqs", request.limits.max_sequences, "maximum sequences per step", false},
      {"block_tokens", request.page, "tokens per KV cache block", false},
      {"pool_blocks", report.pool_pages, "KV cache blocks per replica", false},
      {"block_bytes", report.page_bytes, "bytes of a block on one GPU", false},
      {"host_tier_bytes", request.host_tier ? Cell(*request.host_tier) : Cell(), "host memory for prefixes", false},
      {"host_tier_shared", request.shared_tier, "replicas find each other's blocks in it"}};
  document.tables.push_back(
      report::table_of<ServeRow>("rows", "one per way to obtain prefixes", fields_of(report), report.rows));
  document.tables.push_back(time_table(report));
  document.notes = report.notes;
  for (const ServeRow& row : report.rows) {
    const Tally& tally = row.tally;
    if (row.overload) {
      document.answer.push_back(
          fmt::format("{}: overloaded: {} requests per second arrive but only {} are served, so the queue grows",
                      row.way, plain_rate(row.overload->arriving), plain_rate(row.overload->served)));
    } else if (row.ends_early) {
      document.notes.push_back(fmt::format(
          "{}: requests stop arriving before half of them are answered, too soon to know whether all could be served",
          row.way));
    }
    if (tally.refused() > 0) {
      document.notes.push_back(
          fmt::format("{}: {} of {} requests refused: {} longer than the context of {} tokens, {} larger than the KV "
                      "cache, {} for 0 tokens",
                      row.way, tally.refused(), tally.arrived, tally.refused_length, request.model.context,
                      tally.refused_pool, tally.refused_empty));
    }
    if (tally.deadlocks > 0) {
      document.notes.push_back(
          fmt::format("{}: restored prefixes filled the whole KV cache {}, and one was dropped each time", row.way,
                      counted(tally.deadlocks, "time")));
    }
  }
  return document;
}

}  // namespace cortado::serve
