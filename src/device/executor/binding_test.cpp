// Programs bound to the caller's memory.
#include "device/executor/binding.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "device/executor/testing.hpp"

namespace cortado::device {
namespace binding_test {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of these tests

/// Memory for all buffers that the caller sees, each `shift` bytes after the start of a page.
class CallersMemory {
 public:
  CallersMemory(const Program& program, std::size_t shift) : program_(program) {
    for (const Buffer& buffer : program.buffers) {
      memory_.emplace_back(buffer.size.value + 2 * kPage);
      const bool own = buffer.role == BufferRole::scratch;
      const auto start = reinterpret_cast<std::uintptr_t>(memory_.back().data());
      std::byte* const data = memory_.back().data() + (kPage - start % kPage) + shift;
      bindings.push_back(own ? Binding{} : Binding{data, buffer.size.value});
    }
  }
  void fill(std::uint8_t seed) {
    for (const Binding& binding : bindings) {
      for (std::size_t i = 0; i < binding.size(); ++i) binding[i] = static_cast<std::byte>(i * 7 + seed);
      ++seed;
    }
  }
  /// What the clauses of one term of one row require of the bytes that were filled in before.
  void expect_outputs(std::uint8_t seed) const {
    for (const Clause& clause : program_.contract.clauses) {
      if (clause.terms.size() != 1 || clause.output.rows != 1 || clause.terms[0].rows != 1) continue;
      const Region& from = clause.terms[0];
      const Region& to = clause.output;
      for (std::uint64_t i = 0; i < to.width.value; ++i) {
        const auto expected = static_cast<std::byte>((from.offset.value + i) * 7 + seed + from.buffer.value);
        ASSERT_EQ(bindings[to.buffer.value][to.offset.value + i], expected) << program_.name << ", byte " << i;
      }
    }
  }

  std::vector<Binding> bindings;

 private:
  static constexpr std::size_t kPage = 4096;
  const Program& program_;
  std::vector<std::vector<std::byte>> memory_;
};

TEST(Binding, ReplaysOnMemoryOfTheCaller) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 4);
  for (const Program& program : {copy_chain(), prelaunched_copy(), broadcast_to_two(), ring_of_hosts(4)}) {
    CallersMemory memory(program, 0);
    auto prepared = PreparedProgram::prepare(verified(program, machine), *node, {.bindings = memory.bindings});
    ASSERT_TRUE(prepared) << to_string(prepared.error());
    for (std::uint8_t seed = 1; seed < 4; ++seed) {
      memory.fill(seed);
      ASSERT_TRUE(prepared->replay());
      memory.expect_outputs(seed);
    }
    CallersMemory other(program, 64);
    ASSERT_TRUE(prepared->rebind(other.bindings));
    other.fill(9);
    ASSERT_TRUE(prepared->replay());
    other.expect_outputs(9);
    EXPECT_TRUE(prepared->run({.iterations = 3, .check = CheckOutputs::none}));
  }
}

TEST(Binding, AnArmedProgramStartsWithItsTrigger) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 4);
  const Program program = prelaunched_copy();
  CallersMemory memory(program, 0);
  auto prepared = PreparedProgram::prepare(verified(program, machine), *node, {.bindings = memory.bindings});
  ASSERT_TRUE(prepared) << to_string(prepared.error());
  for (std::uint8_t seed = 1; seed < 4; ++seed) {
    ASSERT_TRUE(prepared->arm());
    const Status refused = prepared->rebind(memory.bindings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "device.armed");
    memory.fill(seed);  // packets are already submitted, but none of them reads before the trigger
    ASSERT_TRUE(prepared->replay());
    memory.expect_outputs(seed);
  }
}

TEST(Binding, RefusesWhatTheProofDidNotAssume) {
  const Machine machine = machine_with_ring();
  const auto node = soft_node(machine, 4);
  const Program program = broadcast_to_two();
  const CallersMemory memory(program, 0);
  const auto code = [&](std::vector<Binding> bindings) {
    const auto prepared =
        PreparedProgram::prepare(verified(program, machine), *node, {.bindings = std::move(bindings)});
    return prepared ? std::string("accepted") : prepared.error().code;
  };
  EXPECT_EQ(code(memory.bindings), "accepted");
  std::vector<Binding> wrong = memory.bindings;
  wrong[0] = wrong[0].first(wrong[0].size() - 1);
  EXPECT_EQ(code(wrong), "device.binding");
  wrong = memory.bindings;
  wrong[1] = wrong[0];
  EXPECT_EQ(code(wrong), "device.binding");
  wrong = memory.bindings;
  wrong.pop_back();
  EXPECT_EQ(code(wrong), "device.binding");
  wrong = memory.bindings;
  constexpr std::uintptr_t kNeverMapped = 4096;  // the kernel keeps the lowest pages free
  wrong[0] = {reinterpret_cast<std::byte*>(kNeverMapped), wrong[0].size()};
  EXPECT_EQ(code(wrong), "device.host_memory");
}

}  // namespace binding_test
}  // namespace cortado::device
