// No text makes the machine parser crash or throw; a text that is a machine gives one whose tables fit together.
#include "cortado/base/check.hpp"
#include "cortado/machine/machine.hpp"

namespace {

void check_tables(const cortado::Machine& machine) {
  using namespace cortado;
  CORTADO_CHECK(machine.linked.size() == machine.gpus, "a row for each GPU");
  CORTADO_CHECK(machine.affinity.empty() || machine.affinity.size() == machine.gpus, "no table, or a row for each GPU");
  for (std::uint32_t src = 0; src < machine.gpus; ++src) {
    for (std::uint32_t dst = 0; dst < machine.gpus; ++dst) {
      if (src == dst) continue;
      const Engine* engine = machine.engine(machine.engine_towards({src}, {dst}));
      CORTADO_CHECK(engine != nullptr && engine->present && engine->kind == EngineClass::peer,
                    "the engine towards a peer exists and reaches peers");
    }
  }
}

void check_products(const cortado::Machine& machine) {
  using namespace cortado;
  if (!machine.timing || !machine.timing->compute) return;
  const ComputeTiming& compute = *machine.timing->compute;
  CORTADO_CHECK(compute.dies >= 1 && compute.dies <= machine.compute_units, "a die has a compute unit");
  CORTADO_CHECK(compute.stream_window.value >= 1 && compute.stream_window <= compute.l2_bytes, "a window fits L2");
  for (const MatrixTiming& matrix : {compute.f32, compute.f16, compute.bf16, compute.f8}) {
    const bool none = matrix.flops_per_clock == 0 && matrix.clock_ghz == 0 && matrix.efficiency == 0;
    const bool all = matrix.flops_per_clock > 0 && matrix.clock_ghz > 0 && matrix.efficiency > 0;
    CORTADO_CHECK(none || all, "an element type has all of its numbers or none");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cortado;
  const Result<Machine> machine = parse_machine(std::string(reinterpret_cast<const char*>(data), size), "fuzz.toml");
  if (machine) {
    check_tables(*machine);
    check_products(*machine);
    return 0;
  }
  CORTADO_CHECK(machine.error().code.starts_with("machine."), "a refusal has a code of this parser");
  CORTADO_CHECK(!machine.error().message.empty(), "a refusal says what is wrong");
  CORTADO_CHECK(machine.error().place.file == "fuzz.toml", "a refusal names the file");
  return 0;
}
