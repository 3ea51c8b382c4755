#include "cortado/machine/machine.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace {

TEST(LoadMachine, EveryMachineLoadsUnderItsName) {
  for (const std::string& name : machine_names()) {
    const Result<Machine> machine = load_machine(name);
    ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
    EXPECT_EQ(machine->name, name);
  }
}

}  // namespace
}  // namespace cortado
