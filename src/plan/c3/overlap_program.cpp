// The program of an overlap: that of the collectives, if there are any, and for each rank a stream of GEMMs that its
// host queue launches and waits for.
//
// A host queue of the collectives is: what comes before, "begin", for each its submits or triggers and its waits, "end"
// (host.hpp of the collectives). The submit of the GEMMs stands
//
//   serial             right behind "begin", and so does the wait for it: the collective is launched when it is done
//   gemm_first         right behind "begin"
//   collective_first   behind the submits or triggers of the first collective
//
// and, but for serial, the wait for it right before "end": behind the exit barrier, so that no other rank's collective
// waits for this rank's GEMMs.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "plan/c3/append_program.hpp"
#include "plan/c3/way.hpp"
#include "plan/collective/variant.hpp"

namespace cortado {
namespace {

Bytes memory_of_a_rank(const Program& program) {
  std::vector<Bytes> used(program.ranks);
  for (const Buffer& buffer : program.buffers) used[buffer.rank.value] += buffer.size;
  return *std::max_element(used.begin(), used.end());
}

/// The collectives of a way, one after another.
Result<plan::OpenProgram> plan_open_collectives(const std::vector<CollectiveRequest>& collectives,
                                                const Machine& machine) {
  plan::OpenProgram all;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    CollectiveRequest collective = collectives[i];
    collective.host = HostThreads::per_rank;
    CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram one, plan::plan_open(collective, machine));
    if (i == 0) {
      all = std::move(one);
    } else {
      plan::append_program(all, std::move(one), fmt::format("#{}", i + 1));
    }
  }
  return all;
}

class Composer {
 public:
  Composer(plan::OpenProgram collective, const std::vector<GemmShape>& gemms, const OverlapWay& way,
           const Machine& machine)
      : program_(std::move(collective.program)), hosts_(std::move(collective.hosts)), gemms_(gemms), way_(way) {
    for (const GemmShape& gemm : gemms) tilings_.push_back(tiling_on(way.gemm_cus(), gemm, machine));
    for (Queue& queue : program_.queues) {
      if (queue.kind == QueueKind::compute) queue.priority = way.priority;
    }
  }

  void add_gemms(RankId rank) {
    const SignalId done{static_cast<std::uint32_t>(program_.signals.size())};
    program_.signals.push_back({fmt::format("gemm{}.done", rank.value)});
    Queue queue{.name = fmt::format("gemm{}", rank.value), .kind = QueueKind::compute, .rank = rank};
    if (way_.gemm_units != 0) queue.compute_units = way_.gemm_units;
    for (std::size_t i = 0; i < gemms_.size(); ++i) {
      const GemmShape& shape = gemms_[i];
      const Region a = matrix(i, "a", rank, shape.m, shape.k, BufferRole::input);
      const Region b = matrix(i, "b", rank, shape.k, shape.n, BufferRole::input);
      const Region c = matrix(i, "c", rank, shape.m, shape.n, BufferRole::output);
      const Gemm gemm = gemm_command(shape, tilings_[i], a, b, c);
      program_.contract.products.push_back(product_clause(gemm));
      queue.commands.emplace_back(gemm);
    }
    queue.commands.emplace_back(Signal{done});
    queue.role = QueueRole::gemm;
    const QueueId id{static_cast<std::uint32_t>(program_.queues.size())};
    program_.queues.push_back(std::move(queue));
    drive(host_of(rank), id, done);
  }

  Program finish() && { return std::move(program_); }

 private:
  Region matrix(std::size_t gemm, const char* name, RankId rank, std::uint64_t rows, std::uint64_t columns,
                BufferRole role) {
    const Bytes width = size_of(gemms_[gemm].dtype) * columns;
    const BufferId id{static_cast<std::uint32_t>(program_.buffers.size())};
    const std::string whose = gemm == 0 ? "gemm" : fmt::format("gemm{}", gemm + 1);
    program_.buffers.push_back({fmt::format("{}.{}{}", whose, name, rank.value), rank, width * rows, role});
    return {id, {}, width, rows, rows == 1 ? Bytes{} : width};
  }

  /// Ranks that a collective leaves out (all but two of point-to-point) get a host queue of their own.
  plan::HostPlace host_of(RankId rank) {
    const auto found = std::ranges::find(hosts_, std::optional(rank), &plan::HostPlace::rank);
    if (found != hosts_.end()) return *found;
    program_.queues.push_back({.name = fmt::format("host{}", rank.value),
                               .kind = QueueKind::host,
                               .rank = rank,
                               .commands = {Timestamp{"begin"}, Timestamp{"end"}},
                               .role = QueueRole::control});
    return {QueueId{static_cast<std::uint32_t>(program_.queues.size() - 1)}, rank, 1, 1};
  }

  void drive(const plan::HostPlace& place, QueueId gemm, SignalId done) {
    std::vector<Command>& host = program_.queues[place.queue.value].commands;
    const bool serial = way_.order == LaunchOrder::serial;
    const bool last = way_.order == LaunchOrder::collective_first;
    const auto launch = static_cast<std::ptrdiff_t>(last ? place.launched : place.begun);
    // From the back to the front, so that places stay valid.
    host.insert(serial ? host.begin() + launch : host.end() - 1, Wait{done});
    host.insert(host.begin() + launch, Submit{gemm});
  }

  Program program_;
  std::vector<plan::HostPlace> hosts_;
  const std::vector<GemmShape>& gemms_;
  std::vector<Tiling> tilings_;
  const OverlapWay& way_;
};

}  // namespace

Tiling tiling_on(const GemmUnits& units, const GemmShape& shape, const Machine& machine) {
  const bool chosen_for_these = units.tuned && units.count != 0;
  return choose_tiling(shape, machine, chosen_for_these ? units.count : machine.compute_units);
}

Result<Program> plan_gemms(const std::vector<GemmShape>& gemms, const GemmUnits& units, std::uint32_t ranks,
                           const Machine& machine) {
  plan::OpenProgram nothing;
  std::vector<std::string> names;
  for (const GemmShape& gemm : gemms) {
    CORTADO_RETURN_IF_ERROR(check_gemm(gemm, machine));
    names.push_back(to_string(gemm));
  }
  nothing.program.name = join(names, " + ");
  nothing.program.machine = machine.name;
  nothing.program.ranks = ranks;
  nothing.program.contract.name = "GEMM";
  OverlapWay alone;
  alone.gemm_units = units.count;
  alone.tuned = units.tuned;
  Composer composer(std::move(nothing), gemms, alone, machine);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) composer.add_gemms(RankId{rank});
  return std::move(composer).finish();
}

Result<Program> plan_collectives(const std::vector<CollectiveRequest>& collectives, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram alone, plan_open_collectives(collectives, machine));
  return std::move(alone.program);
}

Result<Program> plan_overlap(const OverlapProblem& problem, const OverlapWay& way, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem checked, plan::check_overlap(problem, machine));
  if (way.gemm_units > machine.compute_units) {
    return fail(
        About::strategy, "c3.compute_units",
        fmt::format("{} compute units requested for the GEMM, but GPUs have {}", way.gemm_units, machine.compute_units),
        fmt::format("use 1 to {}, or leave it out", machine.compute_units));
  }
  CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram alone, plan_open_collectives(way.collectives, machine));
  CORTADO_CHECK(alone.program.ranks == checked.ranks, "a way of this problem");
  Bytes used = memory_of_a_rank(alone.program);
  std::vector<std::string> names;
  for (const GemmShape& gemm : checked.gemms) {
    CORTADO_RETURN_IF_ERROR(check_gemm(gemm, machine, used));
    used += operand_bytes(gemm);
    names.push_back(to_string(gemm));
  }

  alone.program.name = fmt::format("{} beside {}", join(names, " + "), alone.program.name);
  Composer composer(std::move(alone), checked.gemms, way, machine);
  for (std::uint32_t rank = 0; rank < checked.ranks; ++rank) composer.add_gemms(RankId{rank});
  return std::move(composer).finish();
}

}  // namespace cortado
