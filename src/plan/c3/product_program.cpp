// The product alone: every rank's host launches it and waits for it.
#include <fmt/format.h>

#include "cortado/ir/builder.hpp"
#include "cortado/ir/contracts.hpp"
#include "cortado/plan/c3.hpp"

namespace cortado {

Tiling tiling_on(const ProductUnits& units, const GemmShape& shape, const Machine& machine) {
  const bool chosen_for_these = units.tuned && units.count != 0;
  return choose_tiling(shape, machine, chosen_for_these ? units.count : machine.compute_units);
}

Result<Program> plan_product(const GemmShape& shape, const ProductUnits& units, std::uint32_t ranks,
                             const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine));
  const Tiling tiling = tiling_on(units, shape, machine);
  ProgramBuilder builder(to_string(shape), machine.name, ranks);
  Contract contract{"product", {}};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const RankId rank{r};
    const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
      const Bytes width = size_of(shape.dtype) * columns;
      const BufferId buffer = builder.buffer(fmt::format("gemm.{}{}", name, r), rank, width * rows, role);
      return Region{buffer, {}, width, rows, rows == 1 ? Bytes{} : width};
    };
    const Region a = matrix("a", shape.m, shape.k, BufferRole::input);
    const Region b = matrix("b", shape.k, shape.n, BufferRole::input);
    const Region c = matrix("c", shape.m, shape.n, BufferRole::output);
    const Gemm gemm = gemm_command(shape, tiling, a, b, c);
    contract.products.push_back(product_clause(gemm));
    const SignalId done = builder.signal(fmt::format("gemm{}.done", r));
    const QueueId queue = builder.compute_queue(
        fmt::format("gemm{}", r), rank, 0, units.count == 0 ? std::nullopt : std::optional<std::uint32_t>(units.count));
    builder.add(queue, gemm).add(queue, Signal{done});
    const QueueId host = builder.host_queue(fmt::format("host{}", r), rank);
    builder.add(host, Timestamp{"begin"}).add(host, Submit{queue}).add(host, Wait{done}).add(host, Timestamp{"end"});
  }
  builder.contract(std::move(contract));
  return std::move(builder).finish();
}

}  // namespace cortado
