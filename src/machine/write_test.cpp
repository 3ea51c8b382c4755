#include "machine/write.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace write_test {

Machine read_back(const Machine& machine) {
  Result<Machine> again = parse_machine(machine_text(machine), machine.file);
  EXPECT_TRUE(again) << machine.name << ": " << to_string(again.error()) << "\n" << machine_text(machine);
  return again.value_or(Machine{});
}

/// Every sourced value of a file is in the provenance; the rest is compared separately.
void expect_same(const Machine& a, const Machine& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.linked, b.linked) << a.name;
  EXPECT_EQ(a.link_counts, b.link_counts) << a.name;
  EXPECT_EQ(a.affinity, b.affinity) << a.name;
  ASSERT_EQ(a.timing.has_value(), b.timing.has_value());
  if (a.timing) {
    EXPECT_EQ(a.timing->link.shape, b.timing->link.shape);
    EXPECT_EQ(a.timing->memory.node, b.timing->memory.node);
  }
  ASSERT_EQ(a.provenance.size(), b.provenance.size());
  for (std::size_t i = 0; i < a.provenance.size(); ++i) {
    EXPECT_EQ(a.provenance[i].key, b.provenance[i].key);
    EXPECT_EQ(a.provenance[i].source, b.provenance[i].source);
    EXPECT_EQ(a.provenance[i].confidence, b.provenance[i].confidence);
    if (a.provenance[i].key == "links.topology") continue;  // a ring is written as its lists of peers
    EXPECT_EQ(a.provenance[i].value, b.provenance[i].value) << a.name << " " << a.provenance[i].key;
  }
}

TEST(MachineText, EveryBuiltInMachineIsReadBackAsItIs) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name).value();
    expect_same(machine, read_back(machine));
  }
}

TEST(MachineText, SoftwareEnginesAndSharedMemory) {
  Machine machine = load_machine("mi300x-8").value();
  machine.timing->engine.threads = 3;
  machine.timing->engine.copies_in_flight = 1;
  machine.timing->memory.node = {{Bytes{1000}, {20.125}}, {Bytes{2000}, {1.0 / 3}}};
  const Machine again = read_back(machine);
  EXPECT_EQ(again.timing->engine.threads, 3U);
  EXPECT_EQ(again.timing->memory.node, machine.timing->memory.node);  // also the third, to the last bit
  EXPECT_EQ(again.provenance.size(), machine.provenance.size() + 3);
}

TEST(MachineText, PowerWithAComponentAndATypeLess) {
  Machine machine = load_machine("mi300x-8").value();
  const std::size_t facts = machine.provenance.size();
  machine.power->hbm.reset();
  machine.timing->compute->f8 = {};
  machine.power->control_interval = {1500};
  machine.power->packet = 12.3e-9;
  const Machine again = read_back(machine);
  ASSERT_TRUE(again.power);
  EXPECT_FALSE(again.power->hbm);
  EXPECT_EQ(again.power->control_interval.value, 1500);
  EXPECT_DOUBLE_EQ(again.power->packet, 12.3e-9);
  EXPECT_EQ(again.power->xcd->curve.volts, machine.power->xcd->curve.volts);
  EXPECT_EQ(again.provenance.size(), facts - 6 - 1 - 3 - 1);  // [power.hbm], hbm_byte_pJ, GEMMs of f8, f8_flop_pJ
}

TEST(MachineText, SourcesMayHaveAnyCharacter) {
  Machine machine = load_machine("mi300x-8").value();
  machine.title = "a \"quoted\" \\ title";
  machine.provenance.front().source = "two\nlines and a \t tab";
  const Machine again = read_back(machine);
  EXPECT_EQ(again.title, machine.title);
  EXPECT_EQ(again.provenance.front().source, machine.provenance.front().source);
}

}  // namespace write_test
}  // namespace cortado
