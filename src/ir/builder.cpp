#include <algorithm>

#include "cortado/program.hpp"

#include "base/check.hpp"

namespace cortado {
namespace {

/// Most queues have about as many, and commands are expensive to move.
constexpr std::size_t kFewCommands = 4;
/// Those with more often have many more.
constexpr std::size_t kGrowth = 4;

template <class Tag, class Vector, class Element>
Id<Tag> append(Vector& vector, Element element) {
  vector.push_back(std::move(element));
  return {static_cast<std::uint32_t>(vector.size() - 1)};
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::string name, std::string machine, std::uint32_t ranks) {
  program_.name = std::move(name);
  program_.machine = std::move(machine);
  program_.ranks = ranks;
}

BufferId ProgramBuilder::buffer(std::string name, RankId rank, Bytes size, BufferRole role) {
  return append<BufferTag>(program_.buffers, Buffer{std::move(name), rank, size, role});
}

BufferId ProgramBuilder::host_buffer(std::string name, RankId rank, std::uint32_t numa_node, Bytes size,
                                     BufferRole role) {
  return append<BufferTag>(program_.buffers, Buffer{std::move(name), rank, size, role, numa_node});
}

SignalId ProgramBuilder::signal(std::string name, std::optional<RankId> home) {
  return append<SignalTag>(program_.signals, SignalInfo{std::move(name), home});
}

QueueId ProgramBuilder::dma_queue(std::string name, RankId rank, EngineId engine) {
  const auto id = append<QueueTag>(program_.queues, Queue{std::move(name), QueueKind::dma, rank, engine, 0, {}, {}});
  program_.queues.back().commands.reserve(kFewCommands);
  return id;
}

QueueId ProgramBuilder::compute_queue(std::string name, RankId rank, std::int32_t priority,
                                      std::optional<std::uint32_t> compute_units, std::string kernel,
                                      std::uint32_t calls) {
  const auto id = append<QueueTag>(
      program_.queues,
      Queue{std::move(name), QueueKind::compute, rank, {}, priority, compute_units, {}, std::move(kernel), calls});
  program_.queues.back().commands.reserve(kFewCommands);
  return id;
}

void ProgramBuilder::protocol(QueueId queue, Protocol protocol, Bytes chunk) {
  program_.queues.at(queue.value).protocol = protocol;
  program_.queues.at(queue.value).chunk = chunk;
}

QueueId ProgramBuilder::host_queue(std::string name, std::optional<RankId> rank) {
  // A host that serves all ranks submits every queue and waits for it, between a few other commands.
  const std::size_t commands = rank ? 0 : 2 * program_.queues.size() + kFewCommands;
  const auto id = append<QueueTag>(
      program_.queues,
      Queue{.name = std::move(name), .kind = QueueKind::host, .rank = rank, .role = QueueRole::control});
  program_.queues.back().commands.reserve(commands);
  return id;
}

ProgramBuilder& ProgramBuilder::add(QueueId queue, Command command) {
  CORTADO_CHECK(queue.value < program_.queues.size(), "a command is added to a queue of this builder");
  Queue& to = program_.queues[queue.value];
  if (std::holds_alternative<Gemm>(command)) to.role = QueueRole::gemm;
  if (to.commands.size() == to.commands.capacity()) {
    to.commands.reserve(std::max(kFewCommands, kGrowth * to.commands.size()));
  }
  to.commands.push_back(std::move(command));
  return *this;
}

}  // namespace cortado
