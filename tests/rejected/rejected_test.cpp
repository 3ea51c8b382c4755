// Every program of this folder must be refused by exactly one rule, with the reason. A case is two files:
//   NAME.json     the program; its "machine" is the one it is verified for
//   NAME.expect   line 1: the code; line 2: a fragment of a message; line 3, optional: "ring_bytes N", the ring to
//   assume
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/file.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado {
namespace rejected_test {

const std::filesystem::path kFolder = std::filesystem::path(source_dir()) / "tests" / "rejected";

std::vector<std::string> names_with(const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

struct Expectation {
  std::string code;
  std::string fragment;
  std::uint64_t ring_bytes = 0;  // 0: as the machine has it
};

Expectation expectation(const std::string& name) {
  Expectation expected;
  std::ifstream file(kFolder / (name + ".expect"));
  std::getline(file, expected.code);
  std::getline(file, expected.fragment);
  std::string key;
  if (file >> key) {
    EXPECT_EQ(key, "ring_bytes") << name;
    EXPECT_TRUE(file >> expected.ring_bytes) << name;
  }
  EXPECT_FALSE(expected.code.empty()) << name;
  EXPECT_FALSE(expected.fragment.empty()) << name;
  return expected;
}

class Rejected : public testing::TestWithParam<std::string> {};

TEST_P(Rejected, ByExactlyThatRuleWithTheReason) {
  const Expectation expected = expectation(GetParam());
  const std::string path = (kFolder / (GetParam() + ".json")).string();
  const auto text = read_file(path);
  ASSERT_TRUE(text.has_value()) << to_string(text.error());
  const auto program = parse_program(*text, path);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  auto machine = load_machine(program->machine);
  ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
  if (expected.ring_bytes != 0) machine->dma.ring_bytes = {expected.ring_bytes};

  const auto result = verify(*program, *machine);
  ASSERT_FALSE(result.has_value()) << "the program passes";
  bool found = false;
  std::string all;
  for (const Diagnostic& error : result.error()) {
    EXPECT_EQ(error.code, expected.code) << to_string(error);
    EXPECT_FALSE(error.hint.empty()) << to_string(error);
    found = found || error.message.find(expected.fragment) != std::string::npos;
    all += to_string(error) + "\n";
  }
  EXPECT_TRUE(found) << "no message says: " << expected.fragment << "\n" << all;
}

INSTANTIATE_TEST_SUITE_P(Programs, Rejected, testing::ValuesIn(names_with(".json")),
                         [](const auto& named) { return named.param; });

TEST(RejectedFolder, HasAnExpectationForEveryProgramAndTheOtherWayRound) {
  EXPECT_EQ(names_with(".json"), names_with(".expect"));
}

TEST(RejectedFolder, HasAProgramForEveryRule) {
  std::set<std::string> covered;
  for (const std::string& name : names_with(".json")) covered.insert(expectation(name).code);
  for (const RuleInfo& rule : verify_rules()) EXPECT_TRUE(covered.contains(std::string(rule.code))) << rule.code;
}

TEST(RejectedFolder, IsToldInTheReadme) {
  const auto readme = read_file((kFolder / "README.md").string());
  ASSERT_TRUE(readme.has_value());
  for (const std::string& name : names_with(".json")) EXPECT_THAT(*readme, testing::HasSubstr("`" + name + "`"));
}

}  // namespace rejected_test
}  // namespace cortado
