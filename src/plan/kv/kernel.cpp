// kernel: one kernel whose workgroups, one per compute unit, copy fragment after fragment.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {
namespace {

/// If neither request nor machine specify it.
constexpr std::uint32_t kUsualUnits = 8;

}  // namespace

Result<Program> plan_kernel(const KvRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kv_request(request, machine));
  Workbench bench("kernel", request, machine);
  ProgramBuilder& builder = bench.builder();
  std::uint32_t units = request.compute_units;
  if (units == 0) {
    units = machine.timing && machine.timing->host_link ? machine.timing->host_link->units : kUsualUnits;
  }
  if (units > machine.compute_units) {
    return fail("kv.units", fmt::format("{} compute units requested", units),
                fmt::format("a GPU of {} has {}", machine.name, machine.compute_units));
  }
  const std::size_t parts = std::min<std::size_t>(units, bench.fragments().size());
  for (std::uint32_t r = 0; r < request.ranks; ++r) {
    for (const KvDirection direction : bench.directions()) {
      const RankId rank{r};
      const std::string kernel = fmt::format("copy{}{}", r, suffix_of(direction));
      const SignalId done = builder.signal(kernel + ".done");
      for (std::size_t part = 0; part < parts; ++part) {
        const QueueId queue = builder.compute_queue(fmt::format("{}.{}", kernel, part), rank, 0, 1U, kernel);
        for (std::size_t i = part; i < bench.fragments().size(); i += parts) {
          builder.add(queue, bench.transfer(rank, bench.fragments()[i], direction));
        }
        builder.add(queue, Signal{done});
        bench.host(rank).submits.push_back(queue);
      }
      bench.host(rank).waits.push_back({done, parts});
    }
  }
  return std::move(bench).finish();
}

}  // namespace cortado::plan::kv
