// No text makes the machine parser crash or throw; a text that is a machine gives one whose tables fit together.
#include "cortado/machine.hpp"

#include "base/check.hpp"

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
  CORTADO_CHECK(compute.stream_window <= compute.l2_bytes, "a window fits L2");
  for (const MatrixTiming& matrix : {compute.f32, compute.f16, compute.bf16, compute.f8}) {
    const bool none = matrix.flops_per_clock == 0 && matrix.clock_ghz == 0 && matrix.efficiency == 0;
    const bool all = matrix.flops_per_clock > 0 && matrix.clock_ghz > 0 && matrix.efficiency > 0;
    CORTADO_CHECK(none || all, "an element type has all of its numbers or none");
  }
}

void check_curve(const cortado::ComponentPower& power) {
  using namespace cortado;
  const VoltageCurve& curve = power.curve;
  CORTADO_CHECK(curve.ghz.size() >= 2 && curve.ghz.size() == curve.volts.size(), "a curve has points");
  CORTADO_CHECK(curve.lowest() > 0 && curve.lowest() <= power.nominal_ghz && power.nominal_ghz <= curve.highest(),
                "the nominal clock is in the curve");
  const double volts = curve.volts_at(power.nominal_ghz);
  CORTADO_CHECK(volts >= curve.volts.front() && volts <= curve.volts.back(), "volts do not fall");
  CORTADO_CHECK(power.idle_w >= 0 && power.leakage_w >= 0 && power.clock_w >= 0, "nothing draws less than nothing");
}

void check_power(const cortado::Machine& machine) {
  using namespace cortado;
  if (!machine.power) return;
  const Power& power = *machine.power;
  CORTADO_CHECK(machine.timing.has_value(), "what has power is simulated");
  CORTADO_CHECK(power.cap_w > power.idle_w() && power.idle_w() >= 0, "a cap leaves room for work");
  CORTADO_CHECK(power.clock_step_ghz > 0 && power.control_interval.value > 0, "management has steps");
  for (const Component which : kComponents) {
    if (const ComponentPower* component = power.component(which)) check_curve(*component);
  }
  for (const double each :
       {power.f32_flop, power.f16_flop, power.bf16_flop, power.f8_flop, power.l2_byte, power.cache_byte,
        power.link_byte, power.engine_byte, power.packet, power.hbm_byte, power.unit_w, power.polling_w}) {
    CORTADO_CHECK(each >= 0 && each < 1e6, "nothing takes less than nothing, and all of it is finite");
  }
  if (!power.xcd || !machine.timing->compute) return;
  const ComputeTiming& compute = *machine.timing->compute;
  for (const MatrixTiming& matrix : {compute.f32, compute.f16, compute.bf16, compute.f8}) {
    CORTADO_CHECK(matrix.flops_per_clock == 0 ||
                      (matrix.clock_ghz >= power.xcd->curve.lowest() && matrix.clock_ghz <= power.xcd->curve.highest()),
                  "products sustain a clock of the curve");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cortado;
  const Result<Machine> machine = parse_machine(std::string(reinterpret_cast<const char*>(data), size), "fuzz.toml");
  if (machine) {
    check_tables(*machine);
    check_products(*machine);
    check_power(*machine);
    return 0;
  }
  CORTADO_CHECK(machine.error().code.starts_with("machine."), "a refusal has a code of this parser");
  CORTADO_CHECK(!machine.error().message.empty(), "a refusal says what is wrong");
  CORTADO_CHECK(machine.error().place.file == "fuzz.toml", "a refusal names the file");
  return 0;
}
