// Helpers of the planner tests.
#pragma once

#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"

#include "ir/visit.hpp"

namespace cortado::plan {

inline Machine machine_for_test(const std::string& name) {
  Result<Machine> machine = load_machine(name);
  EXPECT_TRUE(machine) << to_string(machine.error());
  return machine ? *machine : Machine{};
}

inline Program plan_for_test(const CollectiveRequest& request, const Machine& machine) {
  Result<Program> program = plan_collective(request, machine);
  EXPECT_TRUE(program) << to_string(program.error());
  return program ? *program : Program{};
}

/// The diagnostic of a request that must be rejected.
inline Diagnostic refusal(const CollectiveRequest& request, const Machine& machine) {
  const Result<Program> program = plan_collective(request, machine);
  EXPECT_FALSE(program) << request.collective.name() << " " << request.variant << " should be refused";
  return program ? Diagnostic{} : program.error();
}

/// All commands of one type on the queues of a kind, with their queues.
template <class T>
std::vector<std::pair<const Queue*, T>> commands_on(const Program& program, QueueKind kind) {
  std::vector<std::pair<const Queue*, T>> found;
  for (const Queue& queue : program.queues) {
    if (queue.kind != kind) continue;
    for (const Command& command : queue.commands) {
      if (const T* one = std::get_if<T>(&command)) found.emplace_back(&queue, *one);
    }
  }
  return found;
}

inline std::uint32_t rank_of(const Program& program, const Region& region) {
  return program.buffer(region.buffer).rank.value;
}

}  // namespace cortado::plan
