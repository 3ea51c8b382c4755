#include "runtime/rank_program.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace cortado::runtime {
namespace {

/// No more are kept: a program with that many shapes has a new one every time.
constexpr std::size_t kMostPrograms = 256;

/// For programs that plan_pull made.
class Lowering {
 public:
  Lowering(const Program& program, std::uint32_t rank) : program_(program), rank_(rank) {}

  std::vector<Step> steps() {
    for (const Queue& queue : program_.queues) {
      if (queue.kind == QueueKind::host && queue.rank == RankId{rank_}) lower(queue);
    }
    return std::move(steps_);
  }

 private:
  void lower(const Queue& queue) {
    for (const Command& command : queue.commands) {
      if (const auto* copy = std::get_if<Copy>(&command)) {
        add_move(Step::Kind::copy, {copy->src}, copy->dst);
      } else if (const auto* kernel = std::get_if<Kernel>(&command)) {
        CORTADO_CHECK(kernel->op == KernelOp::reduce && kernel->also.empty(), "a program of plan_pull");
        add_move(Step::Kind::reduce, kernel->sources, kernel->dst);
      } else if (const auto* submit = std::get_if<Submit>(&command)) {
        // The host only waits for the stream, so the rank executes its commands here, one after another.
        lower(program_.queue(submit->queue));
      } else if (const auto* signal = std::get_if<Signal>(&command)) {
        if (const auto number = number_of(signal->signal)) steps_.push_back({Step::Kind::raise, *number});
      } else if (const auto* wait = std::get_if<Wait>(&command)) {
        if (const auto number = number_of(wait->signal)) {
          steps_.push_back({Step::Kind::wait, *number, home_of(wait->signal)});
        }
      }
    }
  }

  std::uint32_t home_of(SignalId id) const { return program_.signals.at(id.value).home.value().value; }

  /// None for those whose waits are over when the program runs: `enter`, and `done` of its own stream.
  std::optional<std::uint32_t> number_of(SignalId id) const {
    const std::string_view name = program_.signals.at(id.value).name;
    if (name.starts_with(kSummed)) return 0;
    if (name.starts_with(kExit)) return 1;
    return std::nullopt;
  }

  Place place(const Region& region) const {
    const Buffer& buffer = program_.buffer(region.buffer);
    const bool received = buffer.name == "recv" || (buffer.name == "both" && whole_is_received());
    return {buffer.rank.value, received, region.offset.value};
  }
  /// In place: which of the two buffers contains the other one as a block.
  bool whole_is_received() const {
    return program_.contract.name != "reduce-scatter" && program_.contract.name != "scatter";
  }

  void add_move(Step::Kind kind, const std::vector<Region>& sources, const Region& dst) {
    Step step{.kind = kind, .bytes = dst.bytes().value};
    for (const Region& source : sources) step.sources.push_back(place(source));
    const Place to = place(dst);
    CORTADO_CHECK(to.rank == rank_, "a rank writes its own memory only");
    // In place within what is sent, the received block begins at the start of the only region that is written.
    step.to = to.received ? to.offset : 0;
    steps_.push_back(std::move(step));
  }

  const Program& program_;
  std::uint32_t rank_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> steps_of(const VerifiedProgram& program, std::uint32_t rank) {
  return Lowering(program.program(), rank).steps();
}

Result<const std::vector<Step>*> RankPrograms::find(const PullRequest& request) {
  if (const auto known = programs_.find(request); known != programs_.end()) return &known->second;
  if (!machine_) {
    CORTADO_ASSIGN_OR_RETURN(machine_, load_machine(kPullMachine));
  }
  const auto proved = verify(plan_pull(request), *machine_);
  if (!proved) return fail(proved.error().front());
  ++proved_;
  if (programs_.size() >= kMostPrograms) programs_.clear();
  return &programs_.emplace(request, steps_of(*proved, rank_)).first->second;
}

}  // namespace cortado::runtime
