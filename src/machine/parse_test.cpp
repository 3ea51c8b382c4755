#include <gtest/gtest.h>

#include "cortado/machine/machine.hpp"

namespace cortado {
namespace {

TEST(ParseMachine, RefusesBrokenToml) {
  const Result<Machine> machine = parse_machine("[machine]\nname = \n", "bad.toml");
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().code, "machine.toml");
  EXPECT_EQ(machine.error().place.line, 2U);
}

}  // namespace
}  // namespace cortado
