// The program of an overlap: that of the collective, if there is one, and for each rank a product that its host queue
// launches and waits for.
//
// A host queue of the collective is: what comes before, "begin", submits or triggers, waits, "end" (host.hpp of the
// collectives). The product's submit stands
//
//   serial             right behind "begin", and so does the wait for it: the collective is launched when it is done
//   gemm_first         right behind "begin"
//   collective_first   behind the submits or triggers
//
// and, but for serial, the wait for it right before "end": behind the exit barrier, so that no other rank's collective
// waits for this rank's product.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/ir/contracts.hpp"

#include "plan/c3/policy.hpp"
#include "plan/collective/variant.hpp"

namespace cortado {
namespace {

Bytes memory_of_a_rank(const Program& program) {
  std::vector<Bytes> used(program.ranks);
  for (const Buffer& buffer : program.buffers) used[buffer.rank.value] += buffer.size;
  return *std::max_element(used.begin(), used.end());
}

class Composer {
 public:
  Composer(plan::OpenProgram collective, const GemmShape& shape, const OverlapWay& way, const Machine& machine)
      : program_(std::move(collective.program)),
        hosts_(std::move(collective.hosts)),
        shape_(shape),
        way_(way),
        tiling_(tiling_on(way.product_units(), shape, machine)) {
    for (Queue& queue : program_.queues) {
      if (queue.kind == QueueKind::compute) queue.priority = way.priority;
    }
  }

  void add_product(RankId rank) {
    const Region a = matrix("a", rank, shape_.m, shape_.k, BufferRole::input);
    const Region b = matrix("b", rank, shape_.k, shape_.n, BufferRole::input);
    const Region c = matrix("c", rank, shape_.m, shape_.n, BufferRole::output);
    const Gemm gemm = gemm_command(shape_, tiling_, a, b, c);
    program_.contract.products.push_back(product_clause(gemm));

    const SignalId done{static_cast<std::uint32_t>(program_.signals.size())};
    program_.signals.push_back({fmt::format("gemm{}.done", rank.value)});
    Queue queue{.name = fmt::format("gemm{}", rank.value), .kind = QueueKind::compute, .rank = rank};
    if (way_.gemm_units != 0) queue.compute_units = way_.gemm_units;
    queue.commands = {gemm, Signal{done}};
    queue.role = QueueRole::gemm;
    const QueueId id{static_cast<std::uint32_t>(program_.queues.size())};
    program_.queues.push_back(std::move(queue));
    drive(host_of(rank), id, done);
  }

  Program finish() && { return std::move(program_); }

 private:
  Region matrix(const char* name, RankId rank, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
    const Bytes width = size_of(shape_.dtype) * columns;
    const BufferId id{static_cast<std::uint32_t>(program_.buffers.size())};
    program_.buffers.push_back({fmt::format("gemm.{}{}", name, rank.value), rank, width * rows, role});
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
  const GemmShape& shape_;
  const OverlapWay& way_;
  Tiling tiling_;
};

}  // namespace

Tiling tiling_on(const ProductUnits& units, const GemmShape& shape, const Machine& machine) {
  const bool chosen_for_these = units.tuned && units.count != 0;
  return choose_tiling(shape, machine, chosen_for_these ? units.count : machine.compute_units);
}

Result<Program> plan_product(const GemmShape& shape, const ProductUnits& units, std::uint32_t ranks,
                             const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine));
  plan::OpenProgram nothing;
  nothing.program.name = to_string(shape);
  nothing.program.machine = machine.name;
  nothing.program.ranks = ranks;
  nothing.program.contract.name = "product";
  OverlapWay alone;
  alone.gemm_units = units.count;
  alone.tuned = units.tuned;
  Composer composer(std::move(nothing), shape, alone, machine);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) composer.add_product(RankId{rank});
  return std::move(composer).finish();
}

Result<Program> plan_overlap(const OverlapRequest& request, const OverlapWay& way, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const OverlapRequest checked, plan::check_overlap(request, machine));
  if (way.gemm_units > machine.compute_units) {
    return fail(
        About::strategy, "c3.compute_units",
        fmt::format("{} compute units for the product on GPUs that have {}", way.gemm_units, machine.compute_units),
        fmt::format("give 1 to {}, or leave them out", machine.compute_units));
  }
  CollectiveRequest collective = way.collective;
  collective.host = HostThreads::per_rank;
  CORTADO_ASSIGN_OR_RETURN(plan::OpenProgram alone, plan::plan_open(collective, machine));
  CORTADO_CHECK(alone.program.ranks == checked.collective.ranks, "a way of this request");
  CORTADO_RETURN_IF_ERROR(check_gemm(request.gemm, machine, memory_of_a_rank(alone.program)));

  alone.program.name = fmt::format("{} beside {}", to_string(request.gemm), alone.program.name);
  Composer composer(std::move(alone), checked.gemm, way, machine);
  for (std::uint32_t rank = 0; rank < checked.collective.ranks; ++rank) composer.add_product(RankId{rank});
  return std::move(composer).finish();
}

}  // namespace cortado
