#include "pipeline/model/costs.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "plan/choose.hpp"

namespace cortado::pipeline {
namespace {

double per_gpu(const std::optional<EnergyUse>& energy) {
  return energy ? energy->joules() / energy->gpus : 0;
}

std::string key_of(const CollectiveWork& work, const Ranks& ranks) {
  return fmt::format("{} {} {}x{} {:.4f}", work.collective, work.bytes.value, ranks.in_node, ranks.nodes,
                     work.imbalance);
}

/// Programs have no grouped GEMMs: one GEMM with the columns of all groups.
GemmShape side_by_side(const GemmWork& gemm) {
  GemmShape shape = gemm.shape;
  shape.n *= gemm.groups;
  return shape;
}

std::string key_of(const GemmShape& shape) {
  return to_string(shape);
}

struct Timed {
  double seconds = 0;
  double joules = 0;
};

std::optional<Timed> simulate_alone(CollectiveRequest request, const std::string& variant, bool prelaunch,
                                    const Machine& machine) {
  request.variant = variant;
  request.prelaunch = prelaunch;
  request.in_place = default_in_place(request.collective, variant);
  const auto run = predict(plan_collective(request, machine), machine);
  if (!run) return std::nullopt;
  return Timed{to_seconds(run->time), per_gpu(run->energy)};
}

/// For small collectives, variants on engines and on compute units; for large ones, only the plain forms.
void add_variants(std::vector<Way>& ways, const CollectiveRequest& request, const Machine& machine) {
  constexpr Bytes kSmall = 4_MiB;
  for (const VariantInfo& info : list_variants(request.collective)) {
    if (info.of_library || info.variant == kLibraryVariant) continue;
    if (info.on_cores) {
      if (request.bytes > kSmall || info.variant.ends_with("ring")) continue;
      if (const auto timed = simulate_alone(request, info.variant, false, machine)) {
        ways.push_back({Family::other, info.variant, timed->seconds, timed->joules, info.variant});
      }
      continue;
    }
    for (const bool prelaunch : {false, true}) {
      const bool plain = info.variant == "pcpy" && !prelaunch;
      if (!plain && request.bytes > kSmall) continue;
      if (const auto timed = simulate_alone(request, info.variant, prelaunch, machine)) {
        ways.push_back({plain ? Family::conccl : Family::other, info.variant + (prelaunch ? " prelaunched" : " on DMA"),
                        timed->seconds, timed->joules, info.variant, prelaunch});
      }
    }
  }
}

Family family_of(const std::string& strategy) {
  if (strategy == "serial" || strategy == "serial-direct") return Family::serial;
  if (strategy == "serial-dma") return Family::conccl;
  if (strategy.starts_with("serial-dma/") || strategy == "c3") return Family::other;
  if (strategy.starts_with("t3-mca")) return Family::t3_mca;
  if (strategy.starts_with("t3")) return Family::t3;
  if (strategy == "ideal") return Family::bound;
  if (strategy.starts_with("shard-p2p")) return Family::shards;
  if (strategy.starts_with("tiles-") || strategy.starts_with("waves")) return Family::tiles;
  return Family::ficco;
}

Family family_beside(const std::string& strategy) {
  const std::string plain = strategy.substr(0, strategy.find('/'));
  if (plain == "c3") return Family::c3;
  return plain == "conccl" ? Family::conccl : Family::other;
}

}  // namespace

// Of the collective's sums: data between GEMMs is bf16.
CollectiveRequest request_of(const CollectiveWork& work, std::uint32_t ranks) {
  CollectiveRequest request{.collective = work.collective, .bytes = work.bytes, .ranks = ranks, .dtype = DType::bf16};
  // Whole elements for every rank; sizes of weights may not be.
  const std::uint64_t unit = std::uint64_t{64} * ranks;
  request.bytes.value = std::max(unit, (work.bytes.value + unit - 1) / unit * unit);
  request.host = HostThreads::per_rank;
  return request;
}

// A GEMM of f8 has results of 2 bytes: one with twice the columns and half the depth does as many operations on as many
// bytes of B, and has results of as many.
OverlapProblem dependent_problem(const CollectiveWork& work, const GemmWork& gemm, Relation relation,
                                 std::uint32_t ranks) {
  GemmShape shape = gemm.shape;
  shape.m *= gemm.groups;
  if (shape.dtype == DType::f8 && relation == Relation::collective_needs_gemm && shape.k % 2 == 0) {
    shape.n *= 2;
    shape.k /= 2;
  }
  return {.relation = relation, .gemms = {shape}, .collectives = {{.collective = work.collective}}, .ranks = ranks};
}

OverlapProblem independent_problem(const std::vector<CollectiveWork>& works, const std::vector<GemmWork>& gemms,
                                   std::uint32_t ranks) {
  OverlapProblem problem{.ranks = ranks};
  for (const CollectiveWork& work : works) {
    const CollectiveRequest request = request_of(work, ranks);
    problem.collectives.push_back({.collective = request.collective, .bytes = request.bytes, .dtype = request.dtype});
  }
  for (const GemmWork& gemm : gemms) problem.gemms.push_back(side_by_side(gemm));
  return problem;
}

ModelCosts::ModelCosts(const Machine& machine) : machine_(machine), roomy_(machine) {
  roomy_.memory_bytes = Bytes{std::numeric_limits<std::int64_t>::max()};
}

KernelCost ModelCosts::gemm_cost(const GemmShape& shape) {
  const Tiling tiling = choose_tiling(shape, roomy_, machine_.compute_units);
  const GemmEstimate estimate = estimate_gemm(shape, tiling, roomy_, machine_.compute_units);
  KernelCost cost{.seconds = estimate.seconds + to_seconds(gemm_start(machine_))};
  if (machine_.power && machine_.power->xcd) {
    const GemmModel model(shape, tiling, roomy_);
    cost.joules = cost.seconds * gemm_watts(model, roomy_, machine_.compute_units, estimate.clock_ghz);
    cost.least_w = least_gemm_watts(model, roomy_, machine_.compute_units);
  }
  return cost;
}

std::string ModelCosts::library_variant() const {
  return machine_.timing->library ? std::string(kLibraryVariant) : "cores-simple";
}

double ModelCosts::copy_rate() {
  {
    const std::scoped_lock guard(lock_);
    if (copy_rate_ > 0) return copy_rate_;
  }
  // From two sizes beyond any cache: starts and launches cancel out.
  constexpr Bytes kSmall = 1_GiB;
  const auto seconds = [&](Bytes bytes) {
    ProgramBuilder builder("copy", machine_.name, 1);
    const BufferId from = builder.buffer("in", RankId{0}, bytes, BufferRole::input);
    const BufferId to = builder.buffer("out", RankId{0}, bytes, BufferRole::output);
    const QueueId queue = builder.compute_queue("copy", RankId{0});
    const SignalId done = builder.signal("done");
    builder.add(queue, Kernel{.sources = {make_region(from, {}, bytes)}, .dst = make_region(to, {}, bytes)});
    builder.add(queue, Signal{done});
    const QueueId host = builder.host_queue("host", RankId{0});
    builder.add(host, Submit{queue}).add(host, Wait{done});
    const auto run = simulate_checked(unproved(std::move(builder).finish(), roomy_), {.sim = {.energy = false}});
    CORTADO_CHECK(run, "a copy can be simulated");
    return to_seconds(run->time);
  };
  const double rate = static_cast<double>(kSmall.value) / (seconds(kSmall * 2) - seconds(kSmall));
  const std::scoped_lock guard(lock_);
  copy_rate_ = rate;
  return rate;
}

KernelCost ModelCosts::kernel(const Operator& op) {
  const double gap = kernel_gap_seconds(machine_);
  const double start = gap + to_seconds(gemm_start(machine_));
  const bool power = machine_.power.has_value();
  if (const GemmWork* gemm = op.gemm()) {
    const GemmShape shape = joined(*gemm);
    const std::string key = key_of(shape);
    {
      const std::scoped_lock guard(lock_);
      if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
    }
    KernelCost cost = gemm_cost(shape);
    cost.seconds += gap;
    if (power) cost.joules += gap * machine_.power->idle_w();
    const std::scoped_lock guard(lock_);
    kernels_.emplace(key, cost);
    return cost;
  }
  if (const auto* attention = std::get_if<AttentionShape>(&op.work)) {
    const double seconds = attention_seconds(*attention, machine_);
    const double watts = power ? attention_watts(*attention, machine_) : 0;
    return {seconds + start, seconds * watts + (power ? start * machine_.power->idle_w() : 0)};
  }
  if (const auto* stream = std::get_if<StreamWork>(&op.work)) {
    const double seconds = stream_seconds(stream->bytes, machine_);
    const double watts = power ? stream_watts(stream->bytes, machine_) : 0;
    return {seconds + start, seconds * watts + (power ? start * machine_.power->idle_w() : 0)};
  }
  return {};
}

/// Rings over all ranks, in parallel through the network ports of the GPUs of a node.
double ModelCosts::over_network(const CollectiveWork& work, const Ranks& ranks) const {
  const NetworkTiming& network = *machine_.timing->network;
  const auto bytes = static_cast<double>(work.bytes.value);
  const double all = static_cast<double>(ranks.in_node) * ranks.nodes;
  const double port = network.rate.bytes_per_second();
  const double latency = to_seconds(network.latency);
  if (work.collective == "point-to-point") return latency + bytes / port;
  if (work.collective == "all-to-all") {
    return latency * (ranks.nodes - 1) + bytes * (1 - 1.0 / ranks.nodes) * work.imbalance / port;
  }
  const double passes = work.collective == "all-reduce" ? 2 : 1;
  return passes * (latency * (ranks.nodes - 1) + bytes * (all - 1) / all / (port * ranks.in_node));
}

Outcome<Way> ModelCosts::serial_in_node(const CollectiveWork& work, std::uint32_t ranks, bool inference) const {
  const CollectiveRequest request = request_of(work, ranks);
  const auto& serving = machine_.timing->serving;
  std::optional<Way> serial;
  const auto consider = [&](std::string name, const std::string& variant) {
    const auto timed = simulate_alone(request, variant, false, roomy_);
    if (!timed || (serial && serial->exposed <= timed->seconds)) return;
    serial = Way{Family::serial, std::move(name), timed->seconds, timed->joules, variant};
  };
  if (work.collective == "point-to-point") {
    consider("pcpy", "pcpy");
  } else if (inference && serving && work.collective == "all-reduce" && work.bytes <= serving->all_reduce_bytes) {
    for (const char* kernel : {"cores-ll", "cores-simple"}) consider(fmt::format("direct kernel ({})", kernel), kernel);
  }
  if (!serial && work.collective != "point-to-point") consider("library", library_variant());
  if (!serial) {
    return fail_at(Stage::plan, {"model.collective",
                                 fmt::format("{} of {} bytes cannot be planned on {} ranks of {}", work.collective,
                                             work.bytes.value, ranks, machine_.name),
                                 "use another layout"});
  }
  serial->exposed *= work.imbalance;
  serial->joules *= work.imbalance;
  return *serial;
}

Outcome<std::vector<Way>> ModelCosts::alone_in_node(const CollectiveWork& work, std::uint32_t ranks, bool inference) {
  std::vector<Way> ways;
  if (work.collective == "point-to-point") {
    if (const auto copy = serial_in_node(work, ranks, inference)) ways.push_back(*copy);
    return ways;
  }
  add_variants(ways, request_of(work, ranks), roomy_);
  for (Way& way : ways) {
    way.exposed *= work.imbalance;
    way.joules *= work.imbalance;
  }
  const auto serial = serial_in_node(work, ranks, inference);
  if (!serial && ways.empty()) return fail(serial.error());
  ways.insert(ways.begin(), serial ? *serial : ways.front());
  ways.front().family = Family::serial;
  return ways;
}

Outcome<Way> ModelCosts::serial(const CollectiveWork& work, const Ranks& ranks, bool inference) {
  if (ranks.nodes > 1) return alone(work, ranks, inference).map([](const auto& ways) { return ways.front(); });
  const std::string key = fmt::format("serial {} {}", key_of(work, ranks), inference);
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = ways_.find(key); known != ways_.end()) return known->second.front();
  }
  auto way = serial_in_node(work, std::max<std::uint32_t>(ranks.in_node, 2), inference);
  if (!way) return way;
  const std::scoped_lock guard(lock_);
  ways_.emplace(key, std::vector{*way});
  return way;
}

Outcome<std::vector<Way>> ModelCosts::alone(const CollectiveWork& work, const Ranks& ranks, bool inference) {
  const std::string key = fmt::format("alone {} {}", key_of(work, ranks), inference);
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  }
  std::vector<Way> ways;
  if (ranks.in_node > 1 || ranks.nodes == 1) {
    auto in_node = alone_in_node(work, std::max<std::uint32_t>(ranks.in_node, 2), inference);
    if (!in_node) return in_node;
    ways = *std::move(in_node);
  }
  if (ranks.nodes > 1) {
    const double network = over_network(work, ranks);
    const double seconds = ways.empty() ? network : std::max(network, ways.front().exposed);
    ways = {{Family::serial, "network", seconds, machine_.power ? seconds * machine_.power->idle_w() : 0}};
  }
  const std::scoped_lock guard(lock_);
  ways_.emplace(key, ways);
  return ways;
}

Outcome<std::vector<Way>> ModelCosts::dependent(const CollectiveWork& work, const GemmWork& gemm, Relation relation,
                                                const Ranks& ranks) {
  const OverlapProblem problem = dependent_problem(work, gemm, relation, ranks.in_node);
  if (ranks.nodes > 1 || problem.gemm().m < kLeastRows * ranks.in_node) return std::vector<Way>{};
  const std::string key =
      fmt::format("{} {} {} {}", name_of(relation), key_of(problem.gemm()), work.collective, ranks.in_node);
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  }
  const auto report = study_overlap(problem, roomy_);
  std::vector<Way> ways;
  if (report) {
    const OverlapRow* serial = report->row("serial");
    for (const OverlapRow& row : report->rows) {
      Way way{family_of(row.strategy), row.strategy, to_seconds(row.exposed), 0};
      if (way.family == Family::serial) continue;  // alone() has what the library, or a serving engine, takes
      if (row.bound) way.exposed = to_seconds(report->ideal) - to_seconds(report->gemm_alone);
      way.exposed = std::max(0.0, way.exposed) * work.imbalance;
      const double library = to_seconds(report->comm_alone);
      if (serial != nullptr && serial->energy && row.energy && library > 0) {
        way.joules =
            per_gpu(row.energy) - per_gpu(serial->energy) * to_seconds(report->gemm_alone) / to_seconds(report->serial);
      }
      ways.push_back(std::move(way));
    }
  } else if (report.error().stage == Stage::run) {
    return fail(report.error());
  }
  const std::scoped_lock guard(lock_);
  ways_.emplace(key, ways);
  return ways;
}

Outcome<std::vector<BesideWay>> ModelCosts::beside(const std::vector<CollectiveWork>& works,
                                                   const std::vector<GemmWork>& gemms,
                                                   const std::vector<Ranks>& ranks) {
  std::string key = "beside";
  for (std::size_t i = 0; i < works.size(); ++i) key += " " + key_of(works[i], ranks[i]);
  for (const GemmWork& gemm : gemms) key += " " + key_of(joined(gemm));
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = beside_.find(key); known != beside_.end()) return known->second;
  }
  // Collectives within the node; those over the network run next to them and use no GPU resources.
  std::vector<CollectiveWork> in_node;
  std::uint32_t node_ranks = 0;
  double network = 0;
  double library = 0;
  double idle_joules = 0;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const auto ways = alone(works[i], ranks[i], false);
    if (!ways) return fail(ways.error());
    if (ranks[i].nodes > 1) {
      network += ways->front().exposed;
      continue;
    }
    library += ways->front().exposed;
    idle_joules += ways->front().joules;
    in_node.push_back(works[i]);
    node_ranks = ranks[i].in_node;
  }
  const OverlapProblem problem = independent_problem(in_node, gemms, node_ranks);
  std::vector<BesideWay> ways;
  if (problem.collectives.empty() || problem.gemms.empty()) {
    for (const auto& [family, name] :
         {std::pair(Family::c3, "c3"), {Family::conccl, "conccl"}, {Family::bound, "ideal"}}) {
      ways.push_back({family, network > 0 ? "network" : name, 0, library + network, idle_joules});
    }
  } else {
    const auto report = study_overlap(
        problem, roomy_, {.strategies = {"serial", "c3", "c3-sp", "c3-rp", "c3-sp-rp", "conccl", "conccl-rp"}});
    if (!report) return fail(report.error());
    const double gemms_alone = to_seconds(report->gemm_alone);
    const OverlapRow* serial = report->row("serial");
    for (const OverlapRow& row : report->rows) {
      if (row.strategy == "serial") continue;
      BesideWay way{family_beside(row.strategy), row.strategy, 0, 0, 0};
      way.slow_down = std::max(0.0, to_seconds(row.gemm) - gemms_alone);
      way.collectives = to_seconds(row.comm) + network;
      if (serial != nullptr && serial->energy && row.energy) {
        way.joules = per_gpu(row.energy) - per_gpu(serial->energy) * gemms_alone / to_seconds(report->serial);
      }
      ways.push_back(std::move(way));
    }
    ways.push_back({Family::bound, "ideal", 0, library + network, idle_joules});
  }
  const std::scoped_lock guard(lock_);
  beside_.emplace(key, ways);
  return ways;
}

Ranks ranks_of(RankGroup group, const Layout& layout, const Machine& machine) {
  const auto spread = [&](std::uint32_t ranks, std::uint32_t stride) {
    const std::uint32_t in_node = std::max(1U, std::min(ranks, machine.gpus / std::min(stride, machine.gpus)));
    return Ranks{in_node, (ranks + in_node - 1) / in_node};
  };
  switch (group) {
    case RankGroup::tensor:
      return spread(layout.tp, 1);
    case RankGroup::experts:
      return spread(layout.ep, layout.tp);
    case RankGroup::shards:
      return spread(layout.fsdp, layout.tp);
    case RankGroup::replicas:
      return spread(layout.dp, layout.tp * layout.fsdp);
    case RankGroup::stages:
      return spread(2, layout.tp * layout.replicas());
  }
  return Ranks{};
}

}  // namespace cortado::pipeline
