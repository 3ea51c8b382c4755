// Builds a Program step by step. The builder only appends; whether the program is right is the verifier's question.
#pragma once

#include <string>
#include <utility>

#include "cortado/ir/program.hpp"

namespace cortado {

class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, std::string machine, std::uint32_t ranks);

  BufferId buffer(std::string name, RankId rank, Bytes size, BufferRole role);
  SignalId signal(std::string name, std::optional<RankId> home = {});
  QueueId dma_queue(std::string name, RankId rank, EngineId engine);
  QueueId compute_queue(std::string name, RankId rank, std::int32_t priority = 0,
                        std::optional<std::uint32_t> compute_units = {}, std::string kernel = {},
                        std::uint32_t calls = 0);
  /// Of a compute queue.
  void protocol(QueueId queue, Protocol protocol, Bytes chunk = {});
  QueueId host_queue(std::string name, std::optional<RankId> rank = {});

  void tracker(Tracker tracker) { program_.trackers.push_back(std::move(tracker)); }

  /// Appends to a queue; returns *this so that short queues read as a sentence. A queue that gets a Gemm has the role
  /// of one; host queues control, all others are the collective's.
  ProgramBuilder& add(QueueId queue, Command command);

  void contract(Contract contract) { program_.contract = std::move(contract); }

  const Program& peek() const { return program_; }
  Program finish() && { return std::move(program_); }

 private:
  Program program_;
};

}  // namespace cortado
