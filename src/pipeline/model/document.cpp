#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/text.hpp"

namespace cortado::pipeline {
namespace {

using report::Cell;
using report::Field;
using report::Notation;
using report::View;

std::string phase_text(const Phase& phase) {
  const std::string sequences = counted(phase.batch, "sequence");
  switch (phase.kind) {
    case PhaseKind::train:
      return fmt::format("train, {} of {}, recompute {}", sequences, counted(phase.tokens, "token"),
                         name_of(phase.recompute));
    case PhaseKind::prefill:
      return fmt::format("prefill, {} of {} after {} cached ones", sequences, counted(phase.tokens, "token"),
                         phase.context);
    case PhaseKind::decode:
      return fmt::format("decode, {} with {}", sequences, counted(phase.context, "cached token"));
    case PhaseKind::generate:
      return fmt::format("generate {}, {} of {}", counted(phase.output, "token"), sequences,
                         counted(phase.tokens, "token"));
  }
  return {};
}

std::string layout_text(const Layout& layout) {
  std::string text = fmt::format("tp {}{}", layout.tp, layout.sp ? " with sp" : "");
  for (const auto& [name, degree] :
       {std::pair("ep", layout.ep), {"fsdp", layout.fsdp}, {"dp", layout.dp}, {"pp", layout.pp}}) {
    if (degree > 1) text += fmt::format(", {} {}", name, degree);
  }
  if (layout.micro_batches > 1) text += fmt::format(", {} micro-batches", layout.micro_batches);
  return text;
}

double gigabytes(Bytes bytes) {
  return static_cast<double>(bytes.value) * 1e-9;
}

report::Table system_table(const ModelReport& report) {
  const double tokens = report.tokens;
  // Where stages wait for each other, the time is more than compute and exposed communication.
  const bool bubbles = std::ranges::any_of(report.rows, [](const SystemRow& row) { return row.bubble > 0; });
  const std::vector<Field<SystemRow>> fields{
      {{.key = "system", .head = "system", .meaning = "how collectives overlap with GEMMs"},
       [](const SystemRow& row) { return Cell(row.system); }},
      {{.key = "time_us",
        .head = "time",
        .unit = "ms",
        .digits = 3,
        .meaning = "time of a step, or of the generation, in us; the text shows ms",
        .scale = 1e-3},
       [](const SystemRow& row) { return Cell(row.seconds * 1e6); }},
      {{.key = "speedup", .head = "speed-up", .digits = 3, .meaning = "speed-up over serial"},
       [](const SystemRow& row) { return Cell(row.speedup); }},
      {{.key = "tokens_per_s", .head = "tokens", .unit = "/s", .digits = 0, .meaning = "over all GPUs"},
       [](const SystemRow& row) { return Cell(row.tokens_per_second); }},
      {{.key = "tokens_per_s_per_gpu",
        .head = "tokens/s per GPU",
        .digits = 1,
        .meaning = "per GPU",
        .view = View::wide},
       [&report](const SystemRow& row) { return Cell(row.tokens_per_second / report.gpus); }},
      {{.key = "tflops_per_gpu",
        .head = "TFLOP/s per GPU",
        .digits = 1,
        .meaning = "FLOPs that the model needs, without recomputation"},
       [](const SystemRow& row) { return Cell(row.flops_per_gpu * 1e-12); }},
      {{.key = "mfu",
        .head = "MFU",
        .unit = "%",
        .digits = 1,
        .meaning = "share of the peak rate of the GEMMs' element type",
        .scale = 100},
       [](const SystemRow& row) { return Cell(row.mfu); }},
      {{.key = "compute_us",
        .head = "compute",
        .unit = "ms",
        .digits = 3,
        .meaning = "GEMMs, attention and other kernels, each one alone, in us",
        .scale = 1e-3},
       [](const SystemRow& row) { return Cell(row.compute * 1e6); }},
      {{.key = "exposed_comm_us",
        .head = "exposed comm",
        .unit = "ms",
        .digits = 3,
        .meaning = "communication that is not hidden, and the slowdown it causes, in us",
        .scale = 1e-3},
       [](const SystemRow& row) { return Cell(row.exposed * 1e6); }},
      {{.key = "bubble_us",
        .head = "bubble",
        .unit = "ms",
        .digits = 3,
        .meaning = "waiting for other stages, in us",
        .view = bubbles ? View::narrow : View::wide,
        .scale = 1e-3},
       [](const SystemRow& row) { return Cell(row.bubble * 1e6); }},
      {{.key = "energy_J",
        .head = "energy",
        .unit = "J",
        .digits = 4,
        .meaning = "energy of all GPUs; null if the machine does not describe power",
        .notation = Notation::significant},
       [](const SystemRow& row) { return row.bound ? Cell() : Cell(row.joules); }},
      {{.key = "joules_per_token",
        .head = "J per token",
        .digits = 3,
        .meaning = "energy over new tokens",
        .notation = Notation::significant},
       [tokens](const SystemRow& row) { return row.joules && !row.bound ? Cell(*row.joules / tokens) : Cell(); }}};
  report::Table table = report::table_of<SystemRow>("rows", "one per system", fields, report.rows);
  table.charts = {{.title = "Where the time goes",
                   .values = {"compute_us", "exposed_comm_us", "bubble_us"},
                   .labels = {"system"},
                   .about = "Time by system: compute, exposed communication, and waiting for other stages."}};
  return table;
}

report::Table pair_table(const ModelReport& report) {
  report::Table table{
      .key = "pairs",
      .meaning = "one per kind of collective and of GEMMs it overlaps with; only if there are collectives",
      .title = "Collectives: each one alone as in serial, and how much of one stays exposed"};
  table.columns = {
      {.key = "block", .head = "in", .meaning = "part of the step"},
      {.key = "collective", .head = "collective", .meaning = "kind and bytes"},
      {.key = "with", .head = "meets", .meaning = "GEMM that depends on it or that it depends on"},
      {.key = "times", .head = "times", .meaning = "how often in a step", .notation = Notation::shortest},
      {.key = "alone_us", .head = "alone", .unit = "us", .digits = 1, .meaning = "as in serial"},
      {.key = "gemm_us", .head = "GEMM", .unit = "us", .digits = 1, .meaning = "the GEMM, or the block, alone"},
      {.key = "prelaunched_us",
       .head = "DMA pre- launched",
       .unit = "us",
       .digits = 1,
       .meaning = "alone with the best variant on prelaunched DMA engines; small collectives only",
       .view = View::wide},
      {.key = "chosen", .head = "auto picks", .meaning = "strategy or variant"}};
  std::vector<std::string> systems;
  for (const SystemRow& row : report.rows) systems.push_back(row.system);
  if (systems.empty()) systems = model_systems();  // for the reference
  for (const std::string& system : systems) {
    table.columns.push_back({.key = "exposed_us." + system,
                             .head = system,
                             .unit = "us",
                             .digits = 1,
                             .meaning = "exposed by " + system,
                             .view = system == "auto" || system == "ideal" ? View::narrow : View::wide});
  }
  for (const PairRow& pair : report.pairs) {
    report::Row cells{pair.block,          pair.collective, pair.with,
                      pair.times,          pair.alone_us,   pair.gemm_us > 0 ? Cell(pair.gemm_us) : Cell(),
                      pair.prelaunched_us, pair.chosen};
    for (const double exposed : pair.exposed_us) cells.emplace_back(exposed);
    table.add(std::move(cells));
  }
  return table;
}

report::Table operator_table(const ModelReport& report) {
  const std::vector<Field<OperatorRow>> fields{
      {{.key = "block", .head = "in", .meaning = "part of the step"},
       [](const OperatorRow& row) { return Cell(row.block); }},
      {{.key = "operator", .head = "operator", .meaning = "name"},
       [](const OperatorRow& row) { return Cell(row.name); }},
      {{.key = "what", .head = "what", .meaning = "GEMM shape, operations, bytes"},
       [](const OperatorRow& row) { return Cell(row.what); }},
      {{.key = "times", .head = "times", .meaning = "how often in a step", .notation = Notation::shortest},
       [](const OperatorRow& row) { return Cell(row.times); }},
      {{.key = "time_us", .head = "time", .unit = "us", .digits = 2, .meaning = "of a single one, alone"},
       [](const OperatorRow& row) { return Cell(row.us); }},
      {{.key = "share",
        .head = "of serial",
        .unit = "%",
        .digits = 1,
        .meaning = "share of the time of serial, all of them together",
        .scale = 100},
       [](const OperatorRow& row) { return Cell(row.share); }}};
  report::Table table = report::table_of<OperatorRow>("operators", "one per kind of operator, except collectives",
                                                      fields, report.operators);
  table.title = "Operators";
  return table;
}

report::Table policy_table(const ModelReport& report) {
  const PolicyRow none = report.policies.empty() ? PolicyRow{} : report.policies.front();
  const auto change = [](double now, double before) { return before > 0 ? now / before - 1 : 0; };
  std::vector<Field<PolicyRow>> fields{
      {{.key = "policy", .head = "policy", .meaning = "power policy (cortado list power-policies)"},
       [](const PolicyRow& row) { return Cell(row.policy); }},
      {{.key = "time_us", .head = "time", .unit = "ms", .digits = 3, .meaning = "of the step, in us", .scale = 1e-3},
       [](const PolicyRow& row) { return Cell(row.seconds * 1e6); }},
      {{.key = "time_change",
        .head = "time",
        .unit = "%",
        .digits = 1,
        .meaning = "over the board alone, as a share",
        .notation = Notation::with_sign,
        .scale = 100},
       [=](const PolicyRow& row) { return Cell(change(row.seconds, none.seconds)); }},
      {{.key = "tokens_per_s", .head = "tokens", .unit = "/s", .digits = 0, .meaning = "of all GPUs"},
       [](const PolicyRow& row) { return Cell(row.tokens_per_second); }},
      {{.key = "energy_J",
        .head = "energy",
        .unit = "J",
        .digits = 4,
        .meaning = "of all GPUs",
        .notation = Notation::significant},
       [](const PolicyRow& row) { return Cell(row.joules); }},
      {{.key = "energy_change",
        .head = "energy",
        .unit = "%",
        .digits = 1,
        .meaning = "over the board alone, as a share",
        .notation = Notation::with_sign,
        .scale = 100},
       [=](const PolicyRow& row) { return Cell(change(row.joules, none.joules)); }},
      {{.key = "joules_per_token",
        .head = "J per token",
        .digits = 3,
        .meaning = "energy over new tokens",
        .notation = Notation::significant},
       [](const PolicyRow& row) { return Cell(row.joules_per_token); }}};
  for (std::size_t i = 0; i < kComponents.size(); ++i) {
    const std::string name(name_of(kComponents[i]));
    fields.push_back({{.key = "watts." + name,
                       .head = name,
                       .unit = "W",
                       .digits = 0,
                       .meaning = "of one GPU over the step, drawn by " + name},
                      [i](const PolicyRow& row) { return Cell(row.watts[i]); }});
  }
  fields.push_back(
      {{.key = "watts.total", .head = "all", .unit = "W", .digits = 0, .meaning = "of one GPU"},
       [](const PolicyRow& row) { return Cell(std::accumulate(row.watts.begin(), row.watts.end(), 0.0)); }});
  for (std::size_t i = 0; i < std::tuple_size_v<decltype(PolicyRow::clocks_ghz)>; ++i) {
    const std::string name(name_of(kComponents[i]));
    fields.push_back({{.key = "clock_GHz." + name,
                       .head = name,
                       .unit = "GHz",
                       .digits = 2,
                       .meaning = "mean clock of " + name,
                       .view = i == 0 ? View::narrow : View::wide},
                      [i](const PolicyRow& row) { return Cell(row.clocks_ghz[i]); }});
  }
  report::Table table = report::table_of<PolicyRow>("policies", "one per policy of --power-policy; only with that flag",
                                                    fields, report.policies);
  table.title = fmt::format(
      "Power policies: {}, with its blocks simulated at clocks that follow the board's power draw", report.managed);
  return table;
}

/// Where the rest is lost: the pair with the most exposed time under auto.
std::string rest_text(const ModelReport& report) {
  const SystemRow* row = report.row("auto");
  if (row == nullptr || row->exposed <= 0) return {};
  const auto index = static_cast<std::size_t>(row - report.rows.data());
  const PairRow* most = nullptr;
  for (const PairRow& pair : report.pairs) {
    if (most == nullptr || pair.exposed_us[index] * pair.times > most->exposed_us[index] * most->times) most = &pair;
  }
  if (most == nullptr || most->exposed_us[index] <= 0) return {};
  return fmt::format("; most of the exposed time: {} {}", most->collective, most->with);
}

std::string answer_text(const ModelReport& report) {
  if (report.rows.empty()) return {};
  const SystemRow& best = report.best();
  const SystemRow& serial = report.rows.front();
  if (report.rows.size() == 1)
    return fmt::format("only {} was predicted: there is nothing to compare it with", best.system);
  if (best.system == "serial") return "use serial: no overlapping system is faster";
  return fmt::format(
      "use {}: {:.1f} % faster than serial, {:.0f} tokens/s; {:.1f} of {:.1f} ms of communication remain exposed{}",
      best.system, 100 * (best.speedup - 1), best.tokens_per_second, best.exposed * 1e3, serial.exposed * 1e3,
      rest_text(report));
}

/// Its lanes; the first part of a kernel represents all of its parts.
Timeline of_first_gpu(const Timeline& whole) {
  Timeline one = whole;
  one.tracks.clear();
  one.spans.clear();
  one.flows.clear();
  std::vector<std::optional<std::uint32_t>> kept(whole.tracks.size());
  for (std::size_t i = 0; i < whole.tracks.size(); ++i) {
    const Track& track = whole.tracks[i];
    if (track.host || track.rank != RankId{0}) continue;
    kept[i] = static_cast<std::uint32_t>(one.tracks.size());
    one.tracks.push_back(track);
  }
  for (const Span& span : whole.spans) {
    if (!kept[span.track]) continue;
    one.spans.push_back(span);
    one.spans.back().track = *kept[span.track];
  }
  return one;
}

}  // namespace

report::Document model_document(const ModelReport& report, bool by_operator) {
  const ModelRequest& request = report.request;
  const MemoryNeed& memory = report.memory;
  const SystemRow best = report.rows.empty() ? SystemRow{} : report.best();
  report::Document document{.schema = "cortado.model-step",
                            .title = fmt::format("{}: {}", request.model.name, phase_text(request.phase))};
  document.about = {
      fmt::format("{} of {}, {}; {} GEMMs{}", counted(report.gpus, "GPU"), report.machine, layout_text(request.layout),
                  to_string(request.phase.dtype),
                  request.phase.trains() ? "" : fmt::format(", {} KV cache", to_string(request.phase.kv_dtype))),
      fmt::format("memory per GPU: {:.1f} GB (weights {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}, "
                  "KV {:.1f})",
                  gigabytes(memory.total()), gigabytes(memory.weights), gigabytes(memory.gradients),
                  gigabytes(memory.optimizer), gigabytes(memory.activations), gigabytes(memory.cache)),
      "predicted by the simulator, composed from operators and overlap studies (docs/models.md)", report.clock};
  document.facts = {
      {"model", request.model.name, "name of the model", true},
      {"machine", report.machine, "modelled machine", true},
      {"clock", report.clock, "what determines the clock of GEMMs"},
      {"phase", std::string(name_of(request.phase.kind)), "train, prefill, decode or generate", true},
      {"gpus", report.gpus, "GPUs of the layout"},
      {"tp", request.layout.tp, "tensor parallel"},
      {"sp", request.layout.sp, "sequence parallel"},
      {"ep", request.layout.ep, "expert parallel"},
      {"fsdp", request.layout.fsdp, "shards of weights, gradients and optimizer"},
      {"dp", request.layout.dp, "replicas"},
      {"pp", request.layout.pp, "stages"},
      {"batch", request.phase.batch, "sequences per replica, or per micro-batch"},
      {"tokens", request.phase.tokens, "new tokens per sequence"},
      {"context", request.phase.context, "cached tokens per sequence"},
      {"output", request.phase.output, "generated tokens"},
      {"parameters", report.parameters.total, "parameters of the model"},
      {"active_parameters", report.parameters.active, "parameters that a token uses"},
      {"system", best.system, "fastest system, which the next five describe"},
      {"time_us", best.seconds * 1e6, "time of the step or the generation"},
      {"tokens_per_s", best.tokens_per_second, "over all GPUs"},
      {"tflops_per_gpu", best.flops_per_gpu * 1e-12, "FLOPs that the model needs"},
      {"exposed_comm_us", best.exposed * 1e6, "communication that is not hidden, and the slowdown it causes"},
      {"energy_J", Cell(best.joules), "energy of all GPUs; null if the machine does not describe power"},
      {"memory.weights_bytes", memory.weights, "on the GPU that needs most"},
      {"memory.gradients_bytes", memory.gradients, "on the GPU that needs most"},
      {"memory.optimizer_bytes", memory.optimizer, "on the GPU that needs most"},
      {"memory.activations_bytes", memory.activations, "on the GPU that needs most"},
      {"memory.kv_bytes", memory.cache, "on the GPU that needs most"},
      {"memory.total_bytes", memory.total(), "on the GPU that needs most"}};
  document.tables.push_back(system_table(report));
  if (!report.pairs.empty() || report.rows.empty()) document.tables.push_back(pair_table(report));
  report::Table operators = operator_table(report);
  operators.data_only = !by_operator;
  document.tables.push_back(std::move(operators));
  if (!report.policies.empty() || report.rows.empty()) document.tables.push_back(policy_table(report));
  if (report.timeline) {
    document.timelines.push_back({fmt::format("one layer with {}, on GPU 0", report.best().system),
                                  report::perfetto_trace(of_first_gpu(*report.timeline), Program{})});
  }
  document.notes = report.notes;
  if (!report.policies.empty()) {
    document.notes.emplace_back(
        "policy none differs from the table of systems by a few %: there, each GEMM runs at the one clock that its own "
        "power allows; here, the clock follows the board's power draw as blocks run one after another");
  }
  document.answer = {answer_text(report)};
  return document;
}

}  // namespace cortado::pipeline
