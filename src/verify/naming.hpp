// How messages name the things of a program.
#pragma once

#include <optional>
#include <string>

#include "cortado/base/result.hpp"
#include "cortado/ir/program.hpp"

namespace cortado::verifier {

/// Where an error is: a queue, one of its commands, or a clause of the contract. Costs nothing until a Place is made.
class Spot {
 public:
  Spot(const Program& program, QueueId queue) : program_(&program), queue_(queue) {}
  Spot(const Program& program, QueueId queue, std::size_t command)
      : program_(&program), queue_(queue), index_(static_cast<std::uint32_t>(command)) {}
  static Spot clause(std::size_t index);

  operator Place() const;

 private:
  Spot() = default;

  const Program* program_ = nullptr;  // none: a clause
  QueueId queue_;
  std::optional<std::uint32_t> index_;
};

/// "rank 0, queue dma0.14, command 2"
std::string where(const Program& program, QueueId queue, std::size_t command);

/// "in0[64, 128)": bytes of a buffer from the first to the one behind the last.
std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end);

}  // namespace cortado::verifier
