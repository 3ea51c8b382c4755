#include "sweep/machine_fields.hpp"

#include <string>

#include <gtest/gtest.h>

namespace cortado::sweep::machine_fields_test {
namespace {

TEST(MachineFields, ChangeOneValueAndNoOther) {
  const Machine machine = load_machine("mi300x-8").value();
  const auto changed = with_fields(machine, {{"links.rate_GBps", "60"}});
  ASSERT_TRUE(changed) << to_string(changed.error());
  EXPECT_EQ(changed->timing->link.rate.value, 60);
  EXPECT_EQ(changed->memory_bytes, machine.memory_bytes);
  EXPECT_EQ(changed->affinity, machine.affinity);
}

TEST(MachineFields, NumberOfEngines) {
  const Machine machine = load_machine("mi300x-8").value();
  ASSERT_EQ(machine.present_engines(EngineClass::peer).size(), 14U);
  for (const char* count : {"1", "4", "16"}) {
    const auto changed = with_fields(machine, {{std::string(kEngineCount), count}});
    ASSERT_TRUE(changed) << to_string(changed.error());
    EXPECT_EQ(std::to_string(changed->present_engines(EngineClass::peer).size()), count);
    EXPECT_EQ(changed->present_engines(EngineClass::host), machine.present_engines(EngineClass::host));
  }
  EXPECT_EQ(with_fields(machine, {{std::string(kEngineCount), "0"}}).error().code, "sweep.field");
}

TEST(MachineFields, UnknownOnesAreRefused) {
  const Machine machine = load_machine("mi300x-8").value();
  EXPECT_EQ(with_fields(machine, {{"dma.engine", "3"}}).error().code, "sweep.field");
  EXPECT_EQ(with_fields(machine, {{"links.rate_GBps", "fast"}}).error().code, "sweep.field");
  const std::string hint = with_fields(machine, {{"links.rate_GBp", "3"}}).error().hint;
  EXPECT_NE(hint.find("links.rate_GBps"), std::string::npos) << hint;
}

}  // namespace
}  // namespace cortado::sweep::machine_fields_test
