// KV blocks from host memory (published/kv-fetch.toml), and the time to fetch a token by model, next to computing it.
#include <algorithm>
#include <map>
#include <string>

#include "cortado/model.hpp"
#include "cortado/study.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "pipeline/kv/host_copy.hpp"
#include "pipeline/kv/transfer.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

/// Of one transfer in the published sweeps.
constexpr std::uint64_t kSweptBlocks = 1000;
constexpr std::uint64_t kPinnedEntries = 4096;

struct KvMachines {
  Machine h100;
  Machine mi300x;
  Machine mi355x;
};

Result<KvMachines> kv_machines(const Machine& given) {
  KvMachines all;
  CORTADO_ASSIGN_OR_RETURN(all.h100, machine_of_row("h100-8", given));
  CORTADO_ASSIGN_OR_RETURN(all.mi300x, machine_of_row("mi300x-8", given));
  CORTADO_ASSIGN_OR_RETURN(all.mi355x, machine_of_row("mi355x-8", given));
  return all;
}

Outcome<double> both_ways(const std::string& strategy, const Machine& machine) {
  const auto target = simulator();
  constexpr Bytes kBlock{2 << 20};
  const auto row = host_copy(kBlock, kSweptBlocks, strategy, plan::KvDirection::both, machine, *target);
  if (!row) return fail(row.error());
  return row->gbps;
}

/// The rows of a sweep: "loop to GPU".
Outcome<report::ReproducedTable> kv_sweep(const published::Table& table, const KvMachines& machines) {
  const bool amd = table.name.ends_with(" mi300x");
  const Machine& machine = amd ? machines.mi300x : machines.h100;
  const std::uint64_t blocks = amd ? kPinnedEntries : kSweptBlocks;
  report::ReproducedTable ours{table, {}};
  const auto target = simulator();
  for (const Bytes size : table.sizes) {
    std::vector<double>& row = ours.ours.emplace_back();
    for (const std::string& column : table.columns) {
      const auto direction = column.ends_with("from GPU") ? plan::KvDirection::store : plan::KvDirection::fetch;
      const auto point = host_copy(size, blocks, column.substr(0, column.find(' ')), direction, machine, *target);
      if (!point) return fail(point.error());
      row.push_back(table.unit == "us" ? point->seconds * 1e6 / static_cast<double>(blocks) : point->gbps);
    }
  }
  return ours;
}

/// Calls of the published benchmark from one synchronization to the next.
constexpr std::uint64_t kCallsInARow = 10;

/// GB/s of calls of `request` on one stream, without synchronization in between.
Outcome<double> rate_in_a_row(plan::KvRequest request, const plan::NamedKvStrategy& batch, const Machine& machine) {
  request.call = request.blocks;
  request.blocks *= kCallsInARow;
  const auto run = simulate_kv(batch, request, machine);
  if (!run) return fail(run.error());
  return static_cast<double>(request.fragment.value * request.blocks) / run->seconds * 1e-9;
}

/// "batch 28KiB 10000" of one call, "alone 8KiB 8192" its ms, "enqueue ..." of the host, "in a row ..." of several
/// calls.
Outcome<double> batch_value(const std::string& name, const Machine& machine) {
  const std::size_t last = name.rfind(' ');
  const std::size_t before = name.rfind(' ', last - 1);
  const Bytes size = parse_bytes(name.substr(before + 1, last - before - 1)).value();
  const plan::KvRequest request{.blocks = std::stoull(name.substr(last + 1)), .fragment = size};
  const plan::NamedKvStrategy batch = plan::find_kv_strategy("batch").value();
  if (name.starts_with("in a row")) return rate_in_a_row(request, batch, machine);
  const auto line = kv_line(batch, request, machine);
  if (!line) return fail(line.error());
  const auto one = kv_transfer(batch, request, machine, *line);
  if (!one) return fail(one.error());
  if (name.starts_with("enqueue")) return one->host_seconds * 1e3;
  if (name.starts_with("alone")) return one->seconds * 1e3;
  return static_cast<double>(size.value) * static_cast<double>(request.blocks) / one->seconds * 1e-9;
}

Outcome<double> prefill_milliseconds(const std::string& name, ModelStudy& study, std::uint32_t threads) {
  const std::uint64_t tokens = std::stoull(name.substr(name.rfind(' ') + 1));
  const auto model = load_model("llama-3.1-8b");
  if (!model) return fail_at(Stage::plan, model.error());
  const auto report = study.run({*model, {}, {.kind = PhaseKind::prefill, .tokens = tokens}},
                                {.systems = {"serial"}, .threads = threads});
  if (!report) return fail(report.error());
  return report->rows.front().seconds * 1e3;
}

struct ModelOfTokens {
  const char* model;
  std::uint32_t tp;
  DType dtype;
};

/// The time of a cached token on MI300X by strategy, next to computing it: which is faster.
Outcome<report::Table> token_costs(const Machine& machine, std::uint32_t threads) {
  report::Table table =
      report::own_table("token costs", "MI300X: us for the KV of one token, in a prompt of 2048 tokens",
                        {{"model"},
                         {"tp", 0},
                         {"recompute", 2},
                         {"loop", 2},
                         {"batch", 2},
                         {"b2b", 2},
                         {"loop cross-layer", 2},
                         {"b2b cross-layer", 2},
                         {"link", 2}});
  constexpr std::uint64_t kPrompt = 2048;
  constexpr double kBlockTokens = 16;
  ModelStudy study(machine);
  for (const ModelOfTokens& one : {ModelOfTokens{"llama-3.1-8b", 1, DType::bf16},
                                   {"llama-3.1-70b", 8, DType::bf16},
                                   {"llama-3.1-405b", 8, DType::f8},
                                   {"qwen3-30b-a3b", 1, DType::bf16},
                                   {"deepseek-v3", 8, DType::f8}}) {
    const auto model = load_model(one.model);
    if (!model) return fail_at(Stage::plan, model.error());
    const Phase phase{.kind = PhaseKind::prefill, .tokens = kPrompt, .dtype = one.dtype};
    const auto prompt = study.run({*model, {.tp = one.tp}, phase}, {.systems = {"serial"}, .threads = threads});
    if (!prompt) return fail(prompt.error());
    KvFetchQuestion question{.model = *model, .tp = one.tp};
    double link = 0;
    const auto us = [&](const char* strategy, const char* layout) -> Outcome<report::Cell> {
      if (model->attention.latent && std::string_view(layout) == "cross-layer") return report::Cell();
      question.strategy = strategy;
      question.layout = layout;
      const auto cost = kv_fetch_cost(question, machine);
      if (!cost) return fail(cost.error());
      link = cost->link_bytes_per_block / machine.timing->host_link->to_gpu.bytes_per_second();
      return report::Cell(cost->seconds_per_block * 1e6 / kBlockTokens);
    };
    report::Row row{one.model, one.tp, prompt->rows.front().seconds * 1e6 / static_cast<double>(kPrompt)};
    for (const auto& [strategy, layout] : {std::pair("loop", "per-layer"),
                                           {"batch", "per-layer"},
                                           {"b2b", "per-layer"},
                                           {"loop", "cross-layer"},
                                           {"b2b", "cross-layer"}}) {
      const auto cell = us(strategy, layout);
      if (!cell) return fail(cell.error());
      row.push_back(*cell);
    }
    row.emplace_back(link * 1e6 / kBlockTokens);
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

Outcome<report::Reproduction> reproduce_kv_fetch(const published::Publication& publication, const Machine& machine,
                                                 const ReproduceOptions& options) {
  const auto names = machines_of_rows({"h100-8", "mi300x-8", "mi355x-8"}, publication.name, machine);
  if (!names) return fail_at(Stage::plan, names.error());
  const auto machines = kv_machines(machine);
  if (!machines) return fail_at(Stage::plan, machines.error());
  report::Reproduction ours{publication.name, publication.title, publication.source, *names, {}, {}, {}};
  const std::size_t tables = publication.tables.size();
  ours.tables.resize(tables);
  std::vector<double> values(publication.figures.size());
  ModelStudy study(machines->h100);
  const auto job = [&](std::size_t i) -> Outcome<void> {
    if (i < tables) {
      CORTADO_ASSIGN_OR_RETURN(ours.tables[i], kv_sweep(publication.tables[i], *machines));
      return {};
    }
    const std::string& name = publication.figures[i - tables].name;
    double& value = values[i - tables];
    if (name.starts_with("both")) {
      const Machine& of = name.ends_with("mi355x") ? machines->mi355x : machines->h100;
      CORTADO_ASSIGN_OR_RETURN(value, both_ways(name.starts_with("both dma") ? "b2b" : "kernel", of));
    } else if (!name.starts_with("prefill")) {
      CORTADO_ASSIGN_OR_RETURN(value, batch_value(name, machines->h100));
    }
    return {};
  };
  if (const auto done = run_all(tables + values.size(), options, job); !done) return fail(done.error());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const published::Figure& figure = publication.figures[i];
    if (figure.name.starts_with("prefill")) {
      CORTADO_ASSIGN_OR_RETURN(values[i], prefill_milliseconds(figure.name, study, options.threads));
    }
    ours.figures.push_back({figure, values[i]});
  }
  auto costs = token_costs(machines->mi300x, options.threads);
  if (!costs) return fail(costs.error());
  ours.own.push_back(*std::move(costs));
  return ours;
}

}  // namespace cortado::pipeline
