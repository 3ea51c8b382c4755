#include <gtest/gtest.h>

#include "cortado/ir/text.hpp"

namespace cortado {
namespace {

TEST(ProgramJson, EmptyProgramRoundTrips) {
  Program program;
  program.ranks = 2;
  const Result<Program> again = parse_program(to_json(program));
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(*again, program);
}

}  // namespace
}  // namespace cortado
