#include "cortado/study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "pipeline/model/composition.hpp"
#include "pipeline/parallel.hpp"
#include "pipeline/power/settled.hpp"

namespace cortado::pipeline {
namespace {

std::string text_of(const CollectiveWork& work) {
  return fmt::format("{} of {}", work.collective, format_bytes(work.bytes));
}

std::string text_of(const GemmWork& gemm) {
  return gemm.groups == 1 ? to_string(gemm.shape) : fmt::format("{} times {}", gemm.groups, to_string(gemm.shape));
}

/// Everything of a step that has to be simulated, so that several threads can do it; the composition then finds it
/// in the cache.
Outcome<void> prepare(const Step& step, const ModelRequest& request, const ModelOptions& options, ModelCosts& costs) {
  const bool inference = !request.phase.trains();
  std::vector<Outcome<CostedBlock>> results(step.blocks.size(), CostedBlock{});
  const bool done = for_each_in_parallel(
      step.blocks.size(), options.threads,
      [&](std::size_t i) { results[i] = cost_block(step.blocks[i], request.layout, inference, costs); },
      [&](std::size_t finished) { return !options.progress || options.progress(finished, step.blocks.size()); });
  if (!done) return fail_at(Stage::run, {"model.interrupted", "interrupted before it was finished", ""});
  for (const auto& result : results) {
    if (!result) return fail(result.error());
  }
  return {};
}

/// Clocks do not go below the lowest.
Status check_cap(const std::vector<CostedBlock>& blocks, const Machine& machine) {
  if (!machine.power || machine.clock == ClockMode::fixed) return {};
  double seconds = 0;
  double joules = 0;
  for (const CostedBlock& block : blocks) {
    for (const KernelCost& kernel : block.kernels) {
      if (kernel.least_w == 0) continue;
      seconds += kernel.seconds * block.block->times;
      joules += kernel.seconds * kernel.least_w * block.block->times;
    }
  }
  if (seconds <= 0) return {};
  return check_least_watts("the GEMMs of this step draw", joules / seconds, "cap", machine.power->cap_w);
}

PairRow pair_row(const CostedBlock& costed, const Meeting& meeting, const Step& step,
                 const std::vector<std::string>& systems) {
  const Operator& op = costed.block->operators[meeting.op];
  PairRow row;
  row.block = costed.block->name;
  row.collective = text_of(*op.collective());
  row.with = "alone";
  row.times = costed.block->times * step.micro_batches;
  row.alone_us = meeting.ways.front().exposed * 1e6;
  if (meeting.has_gemm) {
    const Operator& partner = costed.block->operators[meeting.gemm];
    row.with = fmt::format("{} {}, {}", meeting.gemm < meeting.op ? "behind" : "before", partner.name,
                           text_of(*partner.gemm()));
    row.gemm_us = meeting.gemm_seconds * 1e6;
  }
  for (const Way& way : meeting.ways) {
    if (!way.name.ends_with("prelaunched")) continue;
    if (!row.prelaunched_us || way.exposed * 1e6 < *row.prelaunched_us) row.prelaunched_us = way.exposed * 1e6;
  }
  for (const std::string& system : systems) {
    const BlockTime time = block_time(costed, system);
    const auto index = static_cast<std::size_t>(&meeting - costed.meetings.data());
    row.exposed_us.push_back(time.chosen[index]->exposed * 1e6);
    if (system == "auto") row.chosen = time.chosen[index]->name;
  }
  return row;
}

PairRow beside_row(const CostedBlock& costed, const Step& step, const std::vector<std::string>& systems) {
  PairRow row;
  row.block = costed.block->name;
  std::vector<std::string> names;
  for (const CollectiveWork& work : costed.block->beside) names.push_back(text_of(work));
  row.collective = join(names, " and ");
  row.with = "beside the block";
  row.times = costed.block->times * step.micro_batches;
  row.alone_us = costed.beside_alone * 1e6;
  row.gemm_us = costed.compute.seconds * 1e6;
  for (const std::string& system : systems) {
    const BlockTime time = block_time(costed, system);
    double exposed = time.seconds - costed.compute.seconds;
    for (const Way* way : time.chosen) exposed -= way->exposed;
    row.exposed_us.push_back(exposed * 1e6);
    if (system == "auto") row.chosen = time.beside;
  }
  return row;
}

/// The first weights and the last gradients of a step, which no GEMM can hide.
PairRow ends_row(const CostedBlock& costed, const Step& step, const std::vector<std::string>& systems) {
  PairRow row;
  row.block = costed.block->name;
  row.collective = text_of(costed.block->beside.back());
  row.with = "at an end of the step";
  row.times = costed.block->once ? 1 : step.micro_batches;
  row.alone_us = costed.last_beside * 1e6;
  for (const std::string& system : systems) row.exposed_us.push_back(block_time(costed, system).ends * 1e6);
  return row;
}

Result<std::vector<std::string>> systems_of(const std::vector<std::string>& asked, const Machine& machine) {
  std::vector<std::string> systems;
  for (const std::string& name : asked) {
    if (name == "all") continue;
    if (std::ranges::count(model_systems(), name) == 0) {
      return fail("model.system", fmt::format("unknown system {}", name), suggestion(name, model_systems()));
    }
    if (!has_system(name, machine)) {
      return fail(About::machine, "model.system",
                  fmt::format("{} needs hardware that {} does not have", name, machine.name),
                  "use a machine that has it, such as mi300x-8+t3");
    }
  }
  const bool all = asked.empty() || std::ranges::count(asked, "all") > 0;
  for (const std::string& name : model_systems()) {
    const bool wanted = all || name == "serial" || std::ranges::count(asked, name) > 0;
    if (wanted && has_system(name, machine)) systems.push_back(name);
  }
  return systems;
}

void set_speedups(std::vector<SystemRow>& rows) {
  for (SystemRow& row : rows) row.speedup = rows.front().seconds / row.seconds;
}

/// Adds `times` steps to everything except the ratios of the rows.
void add_steps(SystemRow& row, const SystemRow& step, double times) {
  row.seconds += times * step.seconds;
  row.compute += times * step.compute;
  row.exposed += times * step.exposed;
  row.bubble += times * step.bubble;
  if (row.joules && step.joules) *row.joules += times * *step.joules;
}

/// Decode steps with short and with long context have mostly the same collectives.
void add_pair(PairRow row, std::vector<PairRow>& pairs) {
  for (PairRow& known : pairs) {
    const double times = std::exchange(row.times, known.times);
    const bool same = row == known;
    row.times = times;
    if (!same) continue;
    known.times += times;
    return;
  }
  pairs.push_back(std::move(row));
}

}  // namespace

std::string text_of(const Operator& op) {
  if (const GemmWork* gemm = op.gemm()) return text_of(*gemm);
  if (const CollectiveWork* work = op.collective()) return text_of(*work);
  if (const auto* stream = std::get_if<StreamWork>(&op.work)) {
    return fmt::format("{:.4g} MB", stream->bytes * 1e-6);
  }
  const auto& attention = std::get<AttentionShape>(op.work);
  return fmt::format("{:.4g} GFLOP, {:.4g} MB", flops(attention) * 1e-9, attention.bytes * 1e-6);
}

const std::vector<std::string>& model_systems() {
  static const std::vector<std::string> systems{"serial", "framework", "c3",     "conccl", "async-tp", "ficco",
                                                "tiles",  "t3",        "t3-mca", "auto",   "ideal"};
  return systems;
}

const SystemRow* ModelReport::row(std::string_view system) const {
  const auto found = std::ranges::find(rows, system, &SystemRow::system);
  return found == rows.end() ? nullptr : &*found;
}

const SystemRow& ModelReport::best() const {
  const SystemRow* best = &rows.front();
  for (const SystemRow& row : rows) {
    if (!row.bound && row.seconds < best->seconds) best = &row;
  }
  return *best;
}

ModelStudy::ModelStudy(const Machine& machine) : machine_(machine), costs_(std::make_unique<ModelCosts>(machine)) {}
ModelStudy::~ModelStudy() = default;

Outcome<ModelReport> ModelStudy::run(const ModelRequest& request, const ModelOptions& options) {
  if (const Status kernels = check_kernels(machine_); !kernels) return fail_at(Stage::plan, kernels.error());
  if (const Status known = check_gemm({16, 16, 16, request.phase.dtype}, machine_); !known) {
    return fail_at(Stage::plan, known.error());
  }
  if (const Status fits = check_layout(request.model, request.layout, request.phase, machine_); !fits) {
    return fail_at(Stage::plan, fits.error());
  }
  return request.phase.kind == PhaseKind::generate ? run_generation(request, options) : run_step(request, options);
}

Outcome<ModelReport> ModelStudy::run_step(const ModelRequest& request, const ModelOptions& options) {
  const auto systems = systems_of(options.systems, machine_);
  if (!systems) return fail_at(Stage::plan, systems.error());
  const Step step = step_of(request.model, request.layout, request.phase);
  if (const auto prepared = prepare(step, request, options, *costs_); !prepared) {
    return fail(prepared.error());
  }
  ModelReport report{.request = request,
                     .machine = machine_.name,
                     .clock = clock_text(machine_),
                     .gpus = request.layout.gpus(),
                     .memory = memory_need(request.model, request.layout, request.phase),
                     .parameters = count_parameters(request.model),
                     .tokens = step.tokens};
  std::vector<CostedBlock> blocks;
  for (const Block& block : step.blocks) {
    auto costed = cost_block(block, request.layout, !request.phase.trains(), *costs_);
    if (!costed) return fail(costed.error());
    blocks.push_back(*std::move(costed));
  }
  if (const Status reachable = check_cap(blocks, machine_); !reachable) return fail_at(Stage::plan, reachable.error());
  for (const std::string& system : *systems) {
    report.rows.push_back(system_row(blocks, step, system, request, machine_));
  }
  set_speedups(report.rows);
  for (const CostedBlock& costed : blocks) {
    for (const Meeting& meeting : costed.meetings) report.pairs.push_back(pair_row(costed, meeting, step, *systems));
    if (!costed.beside.empty()) {
      report.pairs.push_back(beside_row(costed, step, *systems));
      PairRow ends = ends_row(costed, step, *systems);
      const bool exposed = std::ranges::any_of(ends.exposed_us, [](double us) { return us > 0; });
      if (exposed) report.pairs.push_back(std::move(ends));
    }
    for (std::size_t i = 0; i < costed.kernels.size(); ++i) {
      const Operator& op = costed.block->operators[i];
      const double times = costed.block->times * (costed.block->once ? 1 : step.micro_batches);
      if (op.collective() != nullptr) continue;
      report.operators.push_back({costed.block->name, op.name, text_of(op), times, costed.kernels[i].seconds * 1e6,
                                  costed.kernels[i].seconds * times / report.rows.front().seconds});
    }
  }
  return report;
}

std::vector<std::pair<ModelRequest, double>> steps_of(const ModelRequest& request) {
  if (request.phase.kind != PhaseKind::generate) return {{request, 1.0}};
  // Prefill gives the first token. Attention of a decode step grows with the context and nothing else does: the mean of
  // the first and the last step is that of all.
  ModelRequest prefill = request;
  prefill.phase.kind = PhaseKind::prefill;
  prefill.phase.output = 0;
  ModelRequest first = prefill;
  first.phase.kind = PhaseKind::decode;
  first.phase.context += std::exchange(first.phase.tokens, 0);
  ModelRequest last = first;
  last.phase.context += request.phase.output - 1;
  const double steps = static_cast<double>(request.phase.output - 1) / 2;
  return {{prefill, 1.0}, {first, steps}, {last, steps}};
}

Outcome<ModelReport> ModelStudy::run_generation(const ModelRequest& request, const ModelOptions& options) {
  const auto parts = steps_of(request);
  auto report = run_step(parts.front().first, options);
  if (!report) return report;
  report->request = request;
  report->memory = memory_need(request.model, request.layout, request.phase);
  const auto flops_of = [](const SystemRow& row) { return row.flops_per_gpu * row.seconds; };
  double flops_of_all = flops_of(report->rows.front());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const auto& [step, times] = parts[part];
    const auto decode = run_step(step, options);
    if (!decode) return fail(decode.error());
    for (std::size_t i = 0; i < report->rows.size(); ++i) add_steps(report->rows[i], decode->rows[i], times);
    flops_of_all += times * flops_of(decode->rows.front());
    if (times == 0) continue;
    for (PairRow row : decode->pairs) {
      row.times *= times;
      row.block = "decode " + row.block;
      add_pair(std::move(row), report->pairs);
    }
    if (part > 1) continue;
    for (OperatorRow row : decode->operators) {
      row.times *= 2 * times;
      row.block = "decode " + row.block;
      report->operators.push_back(std::move(row));
    }
  }
  report->tokens = static_cast<double>(request.phase.batch * request.phase.output) * request.layout.replicas();
  for (SystemRow& row : report->rows) {
    const double peak = row.mfu > 0 ? row.flops_per_gpu / row.mfu : 0;
    row.flops_per_gpu = flops_of_all / row.seconds;
    row.mfu = peak > 0 ? row.flops_per_gpu / peak : 0;
    row.tokens_per_second = report->tokens / row.seconds;
  }
  for (OperatorRow& row : report->operators) row.share = row.us * 1e-6 * row.times / report->rows.front().seconds;
  set_speedups(report->rows);
  return report;
}

}  // namespace cortado::pipeline
