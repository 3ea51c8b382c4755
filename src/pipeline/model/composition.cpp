#include "pipeline/model/composition.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

namespace cortado::pipeline {
namespace {

bool is_reduction(Collective collective) {
  return collective == "all-reduce" || collective == "reduce-scatter";
}

/// The GEMM before (after) an operator with only memory-bound kernels in between.
std::optional<std::size_t> gemm_before(const Block& block, std::size_t op) {
  for (std::size_t i = op; i-- > 0;) {
    if (block.operators[i].gemm() != nullptr) return i;
    if (!std::holds_alternative<StreamWork>(block.operators[i].work)) break;
  }
  return std::nullopt;
}

std::optional<std::size_t> gemm_behind(const Block& block, std::size_t op) {
  for (std::size_t i = op + 1; i < block.operators.size(); ++i) {
    if (block.operators[i].gemm() != nullptr) return i;
    if (!std::holds_alternative<StreamWork>(block.operators[i].work)) break;
  }
  return std::nullopt;
}

/// The ways in which a system runs a collective; without any, all systems run it as serial does.
bool does(std::string_view system, Family family) {
  using enum Family;
  const auto any = [family](std::initializer_list<Family> families) {
    return std::ranges::find(families, family) != families.end();
  };
  if (system == "serial" || system == "framework") return any({serial});
  if (system == "c3") return any({serial, c3});
  if (system == "conccl") return any({conccl});
  if (system == "async-tp") return any({shards});
  if (system == "ficco") return any({conccl, shards, ficco});
  if (system == "tiles") return any({conccl, tiles});
  if (system == "t3") return any({t3});
  if (system == "t3-mca") return any({t3_mca});
  return system == "ideal" || family != bound;
}

bool does_beside(std::string_view system, Family family) {
  if (system == "c3" || system == "framework" || system == "async-tp" || system.starts_with("t3"))
    return family == Family::c3;
  if (system == "conccl" || system == "ficco" || system == "tiles") return family == Family::conccl;
  if (system == "auto") return family != Family::bound;
  return system == "ideal";
}

const Way* best_way(const std::vector<Way>& ways, std::string_view system) {
  const Way* best = nullptr;
  for (const Way& way : ways) {
    if (does(system, way.family) && (best == nullptr || way.exposed < best->exposed)) best = &way;
  }
  return best != nullptr ? best : &ways.front();
}

/// The exposed part of a collective that runs next to an independent GEMM.
Outcome<std::vector<Way>> ways_behind(const CollectiveWork& work, const Block& block, std::size_t behind,
                                      const Ranks& ranks, ModelCosts& costs) {
  const GemmWork& gemm = *block.operators[behind].gemm();
  const auto beside = costs.beside({work}, {gemm}, {ranks});
  if (!beside) return fail(beside.error());
  const double alone = costs.kernel({"", gemm}).seconds;
  std::vector<Way> ways;
  for (const BesideWay& way : *beside) {
    const double together = std::max(alone + way.slow_down, way.collectives);
    ways.push_back({way.family, way.name, together - alone, way.joules, {}, false, behind});
  }
  return ways;
}

}  // namespace

std::optional<Partner> partner_of(const Block& block, std::size_t op) {
  const Operator& collective = block.operators[op];
  const Collective what = collective.collective()->collective;
  if (is_reduction(what)) {
    if (op > 0 && block.operators[op - 1].gemm() != nullptr) return Partner{op - 1, Relation::collective_needs_gemm};
    return std::nullopt;
  }
  if (what == "all-gather" && collective.hides_behind.empty()) {
    if (const auto next = gemm_behind(block, op)) return Partner{*next, Relation::gemm_needs_collective};
  }
  if (what == "all-to-all") {
    if (const auto before = gemm_before(block, op); before && *before + 1 == op) {
      return Partner{*before, Relation::collective_needs_gemm};
    }
    if (const auto next = gemm_behind(block, op)) return Partner{*next, Relation::gemm_needs_collective};
  }
  return std::nullopt;
}

Outcome<CostedBlock> cost_block(const Block& block, const Layout& layout, bool inference, ModelCosts& costs) {
  CostedBlock costed{.block = &block};
  std::vector<GemmWork> gemms;
  for (std::size_t i = 0; i < block.operators.size(); ++i) {
    const Operator& op = block.operators[i];
    costed.kernels.push_back(costs.kernel(op));
    costed.compute.seconds += costed.kernels.back().seconds;
    costed.compute.joules += costed.kernels.back().joules;
    if (op.gemm() != nullptr) gemms.push_back(*op.gemm());
    const CollectiveWork* work = op.collective();
    if (work == nullptr) continue;
    const Ranks ranks = ranks_of(work->group, layout, costs.machine());
    Meeting meeting{.op = i};
    auto ways = costs.alone(*work, ranks, inference);
    if (!ways) return fail(ways.error());
    meeting.ways = *std::move(ways);
    if (const auto partner = partner_of(block, i)) {
      meeting.gemm = partner->gemm;
      meeting.has_gemm = true;
      const auto cut = costs.dependent(*work, *block.operators[partner->gemm].gemm(), partner->relation, ranks);
      if (!cut) return fail(cut.error());
      meeting.ways.insert(meeting.ways.end(), cut->begin(), cut->end());
    }
    for (const std::size_t behind : op.hides_behind) {
      const auto hidden = ways_behind(*work, block, behind, ranks, costs);
      if (!hidden) return fail(hidden.error());
      meeting.ways.insert(meeting.ways.end(), hidden->begin(), hidden->end());
    }
    costed.meetings.push_back(std::move(meeting));
  }
  for (Meeting& meeting : costed.meetings) {
    if (meeting.has_gemm) meeting.gemm_seconds = costed.kernels[meeting.gemm].seconds;
  }
  if (block.beside.empty()) return costed;
  std::vector<Ranks> ranks;
  for (const CollectiveWork& work : block.beside) {
    ranks.push_back(ranks_of(work.group, layout, costs.machine()));
    const auto ways = costs.alone(work, ranks.back(), inference);
    if (!ways) return fail(ways.error());
    costed.last_beside = ways->front().exposed;
    costed.beside_alone += ways->front().exposed;
    costed.beside_joules += ways->front().joules;
  }
  auto beside = costs.beside(block.beside, gemms, ranks);
  if (!beside) return fail(beside.error());
  costed.beside = *std::move(beside);
  return costed;
}

BlockTime block_time(const CostedBlock& block, std::string_view system) {
  BlockTime time;
  time.seconds = block.compute.seconds;
  time.joules = block.compute.joules;
  for (const Meeting& meeting : block.meetings) {
    const Way* way = best_way(meeting.ways, system);
    time.seconds += way->exposed;
    time.joules += way->joules;
    time.chosen.push_back(way);
  }
  if (block.beside.empty()) return time;
  double best = time.seconds + block.beside_alone;
  double joules = block.beside_joules;
  time.beside = "serial";
  const bool may_be_serial = system == "auto" || system == "ideal" || system == "serial";
  if (!may_be_serial) best = std::numeric_limits<double>::infinity();
  for (const BesideWay& way : block.beside) {
    if (!does_beside(system, way.family)) continue;
    const double together = std::max(time.seconds + way.slow_down, way.collectives);
    if (together >= best) continue;
    best = together;
    joules = way.joules;
    time.beside = way.name;
  }
  const double after_another = time.seconds + block.beside_alone;
  if (system != "ideal") time.ends = std::clamp(after_another - best, 0.0, block.last_beside);
  time.seconds = best;
  time.joules += joules;
  return time;
}

namespace {

double least_joules(const std::vector<KernelCost>& kernels) {
  double joules = 0;
  for (const KernelCost& kernel : kernels) joules += kernel.seconds * kernel.least_w;
  return joules;
}

}  // namespace

SystemRow system_row(const std::vector<CostedBlock>& blocks, const Step& step, std::string_view system,
                     const ModelRequest& request, const Machine& machine) {
  SystemRow row;
  row.system = system;
  row.bound = system == "ideal";
  double micro = 0;
  double micro_compute = 0;
  double once = 0;
  double joules = 0;
  for (const CostedBlock& costed : blocks) {
    const BlockTime time = block_time(costed, system);
    const double times = costed.block->times;
    (costed.block->once ? once : micro) += time.seconds * times + time.ends;
    (costed.block->once ? row.compute : micro_compute) += costed.compute.seconds * times;
    // Kernels count alone, each at its own clock; together they draw what the board allows, and no less than
    // GEMMs do at the lowest clocks.
    const double drawn =
        machine.power
            ? std::min(time.joules, std::max(machine.power->cap_w * time.seconds, least_joules(costed.kernels)))
            : 0;
    joules += drawn * times * (costed.block->once ? 1 : step.micro_batches);
  }
  row.seconds = micro * (step.micro_batches + step.bubble) + once;
  row.bubble = micro * step.bubble;
  row.compute += micro_compute * step.micro_batches;
  row.exposed = row.seconds - row.bubble - row.compute;
  row.tokens_per_second = step.tokens / row.seconds;
  row.flops_per_gpu = step.flops / row.seconds;
  const ComputeTiming& compute = *machine.timing->compute;
  const MatrixTiming& matrix = request.phase.dtype == DType::f8    ? compute.f8
                               : request.phase.dtype == DType::f16 ? compute.f16
                                                                   : compute.bf16;
  const double clock = machine.power && machine.power->xcd ? machine.power->xcd->nominal_ghz : matrix.clock_ghz;
  row.mfu = row.flops_per_gpu / (static_cast<double>(matrix.flops_per_clock) * clock * 1e9 * machine.compute_units);
  if (machine.power) row.joules = (joules + row.bubble * machine.power->idle_w()) * request.layout.gpus();
  return row;
}

bool has_system(std::string_view system, const Machine& machine) {
  if (!system.starts_with("t3")) return true;
  if (!machine.features.tracker) return false;
  return system == "t3" || (machine.timing && machine.timing->memory.arbitration);
}

}  // namespace cortado::pipeline
