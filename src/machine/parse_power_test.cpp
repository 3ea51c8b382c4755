#include "machine/parse_testing.hpp"

namespace cortado::internal {
namespace parse_power_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::string entry(const std::string& key, const std::string& value) {
  return key + " = { value = " + value + ", source = \"test\", confidence = \"assumption\" }\n";
}

/// virtual-64, whose GEMMs of every type sustain 1 GHz, with a power model. An idle GPU draws
/// 10 + 1.1 * (40 + 30 + 20) = 109 W.
std::string power_text() {
  return text_of("virtual-64") + "\n[power]\n" + entry("cap_W", "500") + entry("control_interval_us", "50.5") +
         entry("clock_step_MHz", "25") + entry("raise_MHz", "50") + entry("leakage_exponent", "3.5") +
         entry("rest_idle_W", "10") + entry("loss", "0.1") + entry("f32_flop_pJ", "4") + entry("f16_flop_pJ", "1.2") +
         entry("bf16_flop_pJ", "1.1") + entry("f8_flop_pJ", "0.55") + entry("l2_byte_pJ", "8") +
         entry("unit_W", "0.6") + entry("cache_byte_pJ", "9") + entry("link_byte_pJ", "41") +
         entry("engine_byte_pJ", "11") + entry("packet_nJ", "21") + entry("polling_W", "0.05") +
         entry("copy_clock_share", "0.5") + entry("hbm_byte_pJ", "35") +                                         //
         "\n[power.xcd]\n" + entry("idle_W", "40") + entry("leakage_W", "60") + entry("clock_W", "61") +         //
         entry("nominal_GHz", "2.1") + entry("clocks_GHz", "[0.5, 1, 2.2]") + entry("volts", "[0.6, 0.7, 1]") +  //
         "\n[power.iod]\n" + entry("idle_W", "30") + entry("leakage_W", "31") + entry("clock_W", "32") +         //
         entry("nominal_GHz", "1.8") + entry("clocks_GHz", "[0.9, 1.8]") + entry("volts", "[0.7, 0.8]") +        //
         "\n[power.hbm]\n" + entry("idle_W", "20") + entry("leakage_W", "3") + entry("clock_W", "12") +          //
         entry("nominal_GHz", "1.3") + entry("clocks_GHz", "[0.9, 1.3]") + entry("volts", "[1.1, 1.1]");
}

Power parsed(const std::string& text) {
  Result<Machine> machine = parse_machine(text, "test.toml");
  EXPECT_TRUE(machine.has_value()) << to_string(machine.error());
  return machine.has_value() ? machine->power.value_or(Power{}) : Power{};
}

/// The text without the lines that start with one of these.
std::string without(const std::string& text, const std::vector<std::string>& starts) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    if (std::ranges::none_of(starts, [&line](const std::string& start) { return line.starts_with(start); }))
      out += line;
    at = end;
  }
  return out;
}

/// The text up to the section.
std::string before(const std::string& text, const std::string& section) {
  return text.substr(0, text.find("\n[" + section + "]\n") + 1);
}

TEST(ParsePower, EveryKeyHasItsFieldInTheUnitsOfTheModel) {
  const Power power = parsed(power_text());
  EXPECT_EQ(power.cap_w, 500);
  EXPECT_EQ(power.control_interval.value, 50'500);
  EXPECT_DOUBLE_EQ(power.clock_step_ghz, 0.025);
  EXPECT_EQ(power.leakage_exponent, 3.5);
  EXPECT_EQ(power.rest_idle_w, 10);
  EXPECT_EQ(power.loss, 0.1);
  EXPECT_DOUBLE_EQ(power.f32_flop, 4e-12);
  EXPECT_DOUBLE_EQ(power.f16_flop, 1.2e-12);
  EXPECT_DOUBLE_EQ(power.bf16_flop, 1.1e-12);
  EXPECT_DOUBLE_EQ(power.f8_flop, 0.55e-12);
  EXPECT_DOUBLE_EQ(power.l2_byte, 8e-12);
  EXPECT_DOUBLE_EQ(power.cache_byte, 9e-12);
  EXPECT_DOUBLE_EQ(power.link_byte, 41e-12);
  EXPECT_DOUBLE_EQ(power.engine_byte, 11e-12);
  EXPECT_DOUBLE_EQ(power.packet, 21e-9);
  EXPECT_DOUBLE_EQ(power.hbm_byte, 35e-12);
  EXPECT_EQ(power.unit_w, 0.6);
  EXPECT_EQ(power.polling_w, 0.05);
  ASSERT_TRUE(power.xcd && power.iod && power.hbm);
  EXPECT_EQ(power.xcd->idle_w, 40);
  EXPECT_EQ(power.xcd->leakage_w, 60);
  EXPECT_EQ(power.xcd->clock_w, 61);
  EXPECT_EQ(power.xcd->nominal_ghz, 2.1);
  EXPECT_THAT(power.xcd->curve.ghz, ElementsAre(0.5, 1, 2.2));
  EXPECT_THAT(power.xcd->curve.volts, ElementsAre(0.6, 0.7, 1));
  EXPECT_EQ(power.iod->clock_w, 32);
  EXPECT_EQ(power.hbm->leakage_w, 3);
  EXPECT_THAT(power.hbm->curve.volts, ElementsAre(1.1, 1.1));
  EXPECT_DOUBLE_EQ(power.idle_w(), 109);
}

TEST(ParsePower, MachinesWithoutItHaveNone) {
  EXPECT_FALSE(parse_machine(text_of("virtual-64"), "test.toml").value().power);
}

TEST(ParsePower, ComponentsMayBeLeftOutWithTheirEvents) {
  const std::string no_hbm = without(before(power_text(), "power.hbm"), {"hbm_byte_pJ"});
  EXPECT_FALSE(parsed(no_hbm).hbm);
  EXPECT_TRUE(parsed(no_hbm).iod);
  const std::string rest =
      without(before(power_text(), "power.xcd"),
              {"hbm_byte", "cache_byte_pJ", "link_byte", "engine_byte", "packet_nJ", "polling_W", "f32_flop_pJ",
               "f16_flop_pJ", "bf16_flop_pJ", "f8_flop_pJ", "l2_byte_pJ", "unit_W", "copy_clock_share"});
  EXPECT_DOUBLE_EQ(parsed(rest).idle_w(), 10);
}

TEST(ParsePower, TypesWithoutProductsHaveNoEnergy) {
  const std::string no_f8 = without(power_text(), {"f8_flops_per_clock", "f8_clock_GHz", "f8_efficiency"});
  const Diagnostic error = refusal(no_f8);
  EXPECT_EQ(error.code, "machine.contradiction");
  EXPECT_EQ(error.place.key, "power.f8_flop_pJ");
  EXPECT_THAT(error.message, HasSubstr("no GEMMs of this type"));
  EXPECT_EQ(parsed(without(no_f8, {"f8_flop_pJ"})).f8_flop, 0);
}

TEST(ParsePower, IsInherited) {
  const Machine base = load_machine("mi300x-8").value();
  const Machine machine = load_machine("mi300x-8+t3").value();
  ASSERT_TRUE(base.power && machine.power);
  EXPECT_EQ(machine.power->cap_w, base.power->cap_w);
  EXPECT_EQ(machine.power->xcd->curve.volts, base.power->xcd->curve.volts);
  const std::string other = text_of("mi300x-8+t3") + "\n[power.xcd]\n" + entry("clock_W", "71.5");
  const Power changed = parsed(other);
  EXPECT_EQ(changed.xcd->clock_w, 71.5);
  EXPECT_EQ(changed.xcd->idle_w, base.power->xcd->idle_w);
}

TEST(ParsePowerRefusal, WhatNoGpuIs) {
  expect_text_refused(
      power_text(),
      {{"cap_W = { value = 500", "cap_W = { value = 109", "machine.contradiction", "power.cap_W", "draws 109.0"},
       {"cap_W = { value = 500", "cap_W = { value = -5", "machine.range", "power.cap_W", "is -5"},
       {"loss = { value = 0.1", "loss = { value = 1.5", "machine.range", "power.loss", "from 0 to 1"},
       {"rest_idle_W = { value = 10", "rest_idle_W = { value = -1", "machine.range", "power.rest_idle_W", "is -1"},
       {"clock_step_MHz = { value = 25", "clock_step_MHz = { value = 0", "machine.range", "power.clock_step_MHz",
        "is 0"},
       {"control_interval_us = { value = 50.5", "control_interval_us = { value = 0", "machine.range",
        "power.control_interval_us", "is 0"},
       {"bf16_flop_pJ = { value = 1.1", "bf16_flop_pJ = { value = -1.1", "machine.range", "power.bf16_flop_pJ",
        "is -1.1"},
       {"hbm_byte_pJ = { value = 35", "hbm_byte_pJ = { value = nan", "machine.range", "power.hbm_byte_pJ", "is nan"},
       {"packet_nJ = { value = 21", "packet_nJ = { value = -21", "machine.range", "power.packet_nJ", "is -21"},
       {"unit_W = { value = 0.6", "unit_W = { value = -0.6", "machine.range", "power.unit_W", "is -0.6"},
       {"idle_W = { value = 40", "idle_W = { value = -40", "machine.range", "power.xcd.idle_W", "is -40"},
       {"clock_W = { value = 32", "clock_W = { value = \"32\"", "machine.type", "power.iod.clock_W", "not a number"},
       {"engine_byte_pJ", "engine_bite_pJ", "machine.key", "power.engine_bite_pJ", "did you mean engine_byte_pJ?"},
       {"leakage_W = { value = 3,", "leakage_Watts = { value = 3,", "machine.key", "power.hbm.leakage_Watts",
        "did you mean leakage_W?"}});
}

TEST(ParsePowerRefusal, WhatNoCurveIs) {
  const std::string volts = "power.xcd.volts";
  const std::string clocks = "power.xcd.clocks_GHz";
  expect_text_refused(
      power_text(),
      {{"[0.6, 0.7, 1]", "[0.6, 0.7]", "machine.contradiction", volts, "2 values for 3 of power.xcd.clocks_GHz"},
       {"[0.6, 0.7, 1]", "[0.6, 1, 0.7]", "machine.contradiction", volts, "has 0.7 after 1"},
       {"[0.6, 0.7, 1]", "[0, 0.7, 1]", "machine.range", volts, "has 0"},
       {"[0.6, 0.7, 1]", "0.6", "machine.type", volts, "not a list of numbers"},
       {"[0.5, 1, 2.2]", "[0.5, 0.5, 2.2]", "machine.contradiction", clocks, "has 0.5 after 0.5"},
       {"[0.5, 1, 2.2]", "[0.5, 2.2, 1]", "machine.contradiction", clocks, "has 1 after 2.2"},
       {"[0.5, 1, 2.2]", "[]", "machine.contradiction", clocks, "provide at least 2"},
       {"[0.5, 1, 2.2]", "[2.1]", "machine.contradiction", clocks, "provide at least 2"},
       {"[0.5, 1, 2.2]", "[1.025, 1.5, 2.2]", "machine.contradiction", clocks,
        "does not include compute.f32_clock_GHz, 1"},
       {"nominal_GHz = { value = 2.1", "nominal_GHz = { value = 2.3", "machine.contradiction", "power.xcd.nominal_GHz",
        "from 0.5 to 2.2"},
       {"nominal_GHz = { value = 1.8", "nominal_GHz = { value = 0.8", "machine.contradiction", "power.iod.nominal_GHz",
        "outside the curve"},
       {"nominal_GHz = { value = 1.3", "nominal_GHz = { value = 1.29", "machine.contradiction", "power.hbm.nominal_GHz",
        "use 1.3"}});
}

TEST(ParsePowerRefusal, PartsWithoutTheOthers) {
  // A component alone is a [power] without its keys.
  const Diagnostic alone = refusal(text_of("virtual-64") + "\n[power.hbm]\n" + entry("idle_W", "20"));
  EXPECT_EQ(alone.code, "machine.missing") << to_string(alone);
  EXPECT_EQ(alone.place.key, "power.cap_W");

  const Diagnostic no_event = refusal(without(power_text(), {"link_byte_pJ"}));
  EXPECT_EQ(no_event.code, "machine.missing") << to_string(no_event);
  EXPECT_EQ(no_event.place.key, "power.link_byte_pJ");

  const Diagnostic no_component = refusal(before(power_text(), "power.hbm"));
  EXPECT_EQ(no_component.code, "machine.contradiction") << to_string(no_component);
  EXPECT_EQ(no_component.place.key, "power.hbm_byte_pJ");
  EXPECT_THAT(no_component.message, HasSubstr("there is no [power.hbm]"));

  const Diagnostic no_clocks = refusal(before(power_text(), "power.hbm") + "\n[power.hbm]\n" + entry("idle_W", "20"));
  EXPECT_EQ(no_clocks.code, "machine.missing") << to_string(no_clocks);
  EXPECT_EQ(no_clocks.place.key, "power.hbm.leakage_W");

  const Diagnostic no_section = refusal(replaced(before(power_text(), "power.hbm"), "[power]\n", "[power]\nhbm = 3\n"));
  EXPECT_EQ(no_section.code, "machine.type") << to_string(no_section);
  EXPECT_EQ(no_section.place.key, "power.hbm");
}

TEST(ParsePowerRefusal, OfAMachineThatIsNotSimulated) {
  const std::string text = power_text();
  std::string untimed = without(before(text, "host"), {"rate_GBps", "peak_GBps", "latency_ns"});
  untimed += "\n[power]\n" + entry("cap_W", "500") + entry("control_interval_us", "50") +
             entry("clock_step_MHz", "25") + entry("raise_MHz", "50") + entry("leakage_exponent", "3") +
             entry("rest_idle_W", "10") + entry("loss", "0.1");
  const Diagnostic error = refusal(untimed);
  EXPECT_EQ(error.code, "machine.missing") << to_string(error);
  EXPECT_EQ(error.place.key, "power");
  EXPECT_THAT(error.message, HasSubstr("no timing"));
}

}  // namespace parse_power_test
}  // namespace cortado::internal
