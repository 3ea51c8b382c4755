#include "pipeline/model/block_program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "gemm/kernels.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/model/stand_ins.hpp"
#include "plan/c3.hpp"
#include "plan/c3/append_program.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {
namespace {

Result<std::uint32_t> ranks_of_block(const Block& block, const Layout& layout, const Machine& machine) {
  std::uint32_t ranks = 1;
  const auto meet = [&](const CollectiveWork& work) -> Status {
    const Ranks group = ranks_of(work.group, layout, machine);
    if (group.nodes == 1 && (ranks == 1 || ranks == group.in_node)) {
      ranks = group.in_node;
      return {};
    }
    return fail(
        "model.program",
        fmt::format("{} has collectives in several groups of GPUs, or between nodes: it is not one program on one node",
                    block.name),
        "use only one of --tp, --ep, --fsdp and --dp, with no more GPUs than a node has");
  };
  for (const CollectiveWork& work : block.beside) CORTADO_RETURN_IF_ERROR(meet(work));
  for (const Operator& op : block.operators) {
    if (op.collective() != nullptr) CORTADO_RETURN_IF_ERROR(meet(*op.collective()));
  }
  return ranks;
}

class BlockPlanner {
 public:
  BlockPlanner(const CostedBlock& costed, std::string_view system, std::uint32_t ranks, ModelCosts& costs)
      : costed_(costed),
        block_(*costed.block),
        time_(block_time(costed, system)),
        ranks_(ranks),
        costs_(costs),
        covered_(block_.operators.size()) {}

  Outcome<BlockProgram> plan() {
    if (auto decided = decide_beside(); !decided) return fail(decided.error());
    cover_pairs();
    std::vector<std::size_t> stream;
    for (std::size_t i = 0; i < block_.operators.size(); ++i) {
      if (const Pair* pair = pair_at(i)) {
        if (auto added = add_stream(std::exchange(stream, {})); !added) return fail(added.error());
        if (auto added = add_pair(*pair); !added) return fail(added.error());
      } else if (!covered_[i] && block_.operators[i].collective() == nullptr) {
        stream.push_back(i);
      }
    }
    if (auto added = add_stream(stream); !added) return fail(added.error());
    if (auto added = add_beside(); !added) return fail(added.error());
    made_.program = std::move(whole_->program);
    made_.program.name = block_.name;
    const auto kernels = std::ranges::count_if(block_.operators, [](const Operator& op) { return !op.collective(); });
    made_.gaps = static_cast<double>(kernels) * kernel_gap_seconds(costs_.machine());
    return std::move(made_);
  }

 private:
  /// A collective with its strategy and, if it has one, its GEMM.
  struct Pair {
    std::size_t at = 0;  ///< place among the operators
    std::size_t meeting = 0;
    std::optional<std::size_t> gemm{};
  };

  const Way& way_of(const Pair& pair) const { return *time_.chosen[pair.meeting]; }

  void cover_pairs() {
    for (std::size_t i = 0; i < costed_.meetings.size(); ++i) {
      const Meeting& meeting = costed_.meetings[i];
      const Way& way = *time_.chosen[i];
      Pair pair{meeting.op, i};
      if (way.behind) pair.gemm = way.behind;
      if (way.variant.empty() && !way.behind && meeting.has_gemm) pair.gemm = meeting.gemm;
      if (pair.gemm && covered_[*pair.gemm]) pair.gemm.reset();  // it is part of another pair
      if (pair.gemm) {
        covered_[*pair.gemm] = true;
        // A GEMM that needs the collective comes after the kernels that work on rows in between.
        if (!way.behind) pair.at = *pair.gemm;
      }
      covered_[meeting.op] = true;
      pairs_.push_back(pair);
    }
  }

  const Pair* pair_at(std::size_t op) const {
    const auto found = std::ranges::find(pairs_, op, &Pair::at);
    return found == pairs_.end() ? nullptr : &*found;
  }

  std::string suffix() const { return fmt::format("#{}", pieces_); }

  void append(Program piece) {
    ++pieces_;
    plan::OpenProgram open = plan::open_program(std::move(piece));
    if (!whole_) {
      whole_ = std::move(open);
      return;
    }
    plan::append_program(*whole_, std::move(open), suffix());
  }

  Outcome<void> append(Result<Program> piece) {
    if (!piece) return fail_at(Stage::plan, piece.error());
    append(*std::move(piece));
    return {};
  }

  /// Kernels in sequence, in one compute queue per GPU.
  Outcome<void> add_stream(const std::vector<std::size_t>& ops) {
    if (ops.empty()) return {};
    ProgramBuilder builder(block_.name, costs_.machine().name, ranks_);
    const std::string name = pieces_ == 0 ? "" : fmt::format("#{}", pieces_ + 1);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      std::optional<std::uint32_t> units;
      if (beside_ && beside_->gemm_units != 0) units = beside_->gemm_units;
      const std::string queue = fmt::format("kernels{}", rank);
      const QueueId kernels = builder.compute_queue(queue, RankId{rank}, 0, units);
      StandIns stand_ins(builder, RankId{rank}, beside_ ? beside_->gemm_cus() : GemmUnits{}, costs_);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const Operator& op = block_.operators[ops[i]];
        made_.names.push_back({queue + name, static_cast<std::uint32_t>(i), op.name});
        builder.add(kernels, stand_ins.command(op));
      }
      const SignalId done = builder.signal(fmt::format("kernels{}.done", rank));
      builder.add(kernels, Signal{done});
      const QueueId host = builder.host_queue(fmt::format("host{}", rank), RankId{rank});
      builder.add(host, Timestamp{"begin"});
      builder.add(host, Submit{kernels}).add(host, Wait{done}).add(host, Timestamp{"end"});
    }
    append(std::move(builder).finish());
    return {};
  }

  Outcome<void> add_collective(const CollectiveWork& work, const std::string& variant, bool prelaunch) {
    CollectiveRequest request = request_of(work, ranks_);
    request.variant = variant;
    request.prelaunch = prelaunch;
    request.in_place = default_in_place(request.collective, variant);
    return append(plan_collective(request, costs_.roomy()));
  }

  std::string library() const { return costs_.library_variant(); }

  Outcome<void> add_pair(const Pair& pair) {
    const Way& way = way_of(pair);
    const Operator& op = block_.operators[costed_.meetings[pair.meeting].op];
    const CollectiveWork& work = *op.collective();
    if (!pair.gemm) return add_collective(work, way.variant.empty() ? library() : way.variant, way.prelaunch);
    const GemmWork& gemm = *block_.operators[*pair.gemm].gemm();
    if (way.behind) {
      const OverlapProblem problem = independent_problem({work}, {gemm}, ranks_);
      auto planned = plan_strategy(problem, costs_.roomy(), way.name);
      if (!planned) return fail(planned.error());
      append(std::move(planned->program));
      return {};
    }
    const auto relation = *pair.gemm < costed_.meetings[pair.meeting].op ? Relation::collective_needs_gemm
                                                                         : Relation::gemm_needs_collective;
    const OverlapProblem problem = overlapping_part(dependent_problem(work, gemm, relation, ranks_));
    auto planned = plan_strategy(problem, costs_.roomy(), way.name);
    if (!planned) return fail(planned.error());
    if (planned->arbitration) made_.arbitration = planned->arbitration;
    append(std::move(planned->program));
    if (work.collective != "all-reduce") return {};
    // The library gathers the sums of each rank's rows, which the pair has computed.
    return add_collective({.collective = "all-gather", .bytes = work.bytes}, library(), false);
  }

  /// How the collectives next to the block run; serial runs them after it.
  Outcome<void> decide_beside() {
    if (time_.beside.empty() || time_.beside == "serial") return {};
    std::vector<GemmWork> gemms;
    for (const Operator& op : block_.operators) {
      if (op.gemm() != nullptr) gemms.push_back(*op.gemm());
    }
    const OverlapProblem problem = independent_problem(block_.beside, gemms, ranks_);
    const auto cost = simulated_cost(costs_.roomy());
    auto way = choose_way(time_.beside.substr(0, time_.beside.find('/')), problem, costs_.roomy(), *cost);
    if (!way) return fail_at(Stage::plan, way.error());
    beside_ = *std::move(way);
    return {};
  }

  Outcome<void> add_beside() {
    if (block_.beside.empty()) return {};
    if (!beside_) {
      for (const CollectiveWork& work : block_.beside) {
        if (auto added = add_collective(work, library(), false); !added) return added;
      }
      return {};
    }
    auto collectives = plan_collectives(beside_->collectives, costs_.roomy());
    if (!collectives) return fail_at(Stage::plan, collectives.error());
    for (Queue& queue : collectives->queues) {
      if (queue.kind == QueueKind::compute) queue.priority = beside_->priority;
    }
    plan::OpenProgram open = plan::open_program(*std::move(collectives));
    meet_at_ends(open);
    return {};
  }

  /// The host of the block starts the other host, and ends after it.
  void meet_at_ends(plan::OpenProgram& open) {
    for (const plan::HostPlace& place : open.hosts) {
      const auto same = std::ranges::find(whole_->hosts, place.rank, &plan::HostPlace::rank);
      // The signals of the block come first; those of the collectives are numbered after them.
      const auto before = static_cast<std::uint32_t>(open.program.signals.size());
      open.program.signals.push_back({fmt::format("beside{}.go", place.rank->value)});
      open.program.signals.push_back({fmt::format("beside{}.done", place.rank->value)});
      std::vector<Command>& theirs = open.program.queues[place.queue.value].commands;
      theirs.insert(theirs.end() - 1, Signal{SignalId{before + 1}});
      theirs.insert(theirs.begin(), Wait{SignalId{before}});
      const auto ours_before = static_cast<std::uint32_t>(whole_->program.signals.size());
      std::vector<Command>& ours = whole_->program.queues[same->queue.value].commands;
      ours.insert(ours.end() - 1, Wait{SignalId{ours_before + before + 1}});
      ours.insert(ours.begin() + static_cast<std::ptrdiff_t>(same->begun), Signal{SignalId{ours_before + before}});
    }
    plan::add_beside(*whole_, std::move(open), "#beside");
  }

  const CostedBlock& costed_;
  const Block& block_;
  const BlockTime time_;
  const std::uint32_t ranks_;
  ModelCosts& costs_;
  std::vector<bool> covered_;
  std::vector<Pair> pairs_;
  std::optional<OverlapWay> beside_;
  std::optional<plan::OpenProgram> whole_;
  std::size_t pieces_ = 0;
  BlockProgram made_;
};

}  // namespace

Outcome<BlockProgram> plan_block(const CostedBlock& costed, std::string_view system, const Layout& layout,
                                 ModelCosts& costs) {
  const auto ranks = ranks_of_block(*costed.block, layout, costs.machine());
  if (!ranks) return fail_at(Stage::plan, ranks.error());
  return BlockPlanner(costed, system, *ranks, costs).plan();
}

Outcome<Run> simulate_block(const BlockProgram& block, const Machine& machine, RunOptions options) {
  options.sim.arbitration = block.arbitration;
  return simulate_checked(unproved(block.program, machine), options);
}

void name_spans(Timeline& timeline, const BlockProgram& block) {
  for (Span& span : timeline.spans) {
    if (span.kind != SpanKind::kernel) continue;
    const std::string& queue = timeline.tracks[span.track].name;
    const auto name = std::ranges::find_if(
        block.names, [&](const BlockProgram::Name& one) { return one.command == span.command && one.queue == queue; });
    if (name != block.names.end()) span.name = fmt::format("{} ({})", name->text, span.name);
  }
}

}  // namespace cortado::pipeline
