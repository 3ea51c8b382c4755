// A GEMM fused with the following reduce-scatter, as in T3: planned, proved and simulated.
#include <fmt/format.h>

#include "cortado/target.hpp"

#include "measure.hpp"
#include "plan/t3.hpp"
#include "reproduce/published/sublayers.hpp"
#include "sim/gpu/simulate.hpp"

namespace cortado::bench {

std::vector<Row> t3_rows() {
  std::vector<Row> rows;
  const std::vector<published::SubLayer> sublayers = published::load_sublayers("t3").value();
  for (const published::SubLayer& one : sublayers) {
    if (one.name != "FC-2") continue;
    const Machine machine = load_machine(fmt::format("t3-ring-{}", one.tp)).value();
    T3Request request;
    request.gemm = {one.m, one.n, one.k, DType::f16};
    const std::string what = fmt::format("t3, {} {} on {} GPUs", one.model, one.name, one.tp);
    const VerifiedProgram program = verify(plan_t3(request, machine).value().program, machine).value();
    const double simulated = median_ns(9, [&] {
      sim::simulate(program, {.iterations = 1, .sharing = {}, .arbitration = ArbitrationPolicy::mca}).value();
    });
    rows.push_back({what + ", simulated", simulated / 1e6, "ms", 10, Better::lower});
    const double proved = median_ns(5, [&] { verify(plan_t3(request, machine).value().program, machine).value(); });
    rows.push_back({"  planned and proved", proved / 1e6, "ms"});
  }
  return rows;
}

}  // namespace cortado::bench
