// How messages name the parts of a program.
#pragma once

#include <optional>
#include <string>

#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::verifier {

/// Where an error is: a queue, one of its commands, a tracker, or a part of the contract. Costs nothing until a Place
/// is made from it.
class Spot {
 public:
  Spot(const Program& program, QueueId queue) : program_(&program), queue_(queue) {}
  Spot(const Program& program, QueueId queue, std::size_t command)
      : program_(&program), queue_(queue), index_(static_cast<std::uint32_t>(command)) {}
  static Spot clause(std::size_t index) { return {"contract.clauses", index}; }
  static Spot product(std::size_t index) { return {"contract.products", index}; }
  static Spot formula_step(std::size_t index) { return {"contract.formula.steps", index}; }
  static Spot formula_output(std::size_t index) { return {"contract.formula.outputs", index}; }
  static Spot tracker(const Program& program, std::size_t index);

  operator Place() const;

 private:
  Spot(const char* list, std::size_t index) : list_(list), index_(static_cast<std::uint32_t>(index)) {}

  const Program* program_ = nullptr;  // null: the place is in a list
  const char* list_ = nullptr;
  std::optional<RankId> rank_;  // of an item of a list
  QueueId queue_;
  std::optional<std::uint32_t> index_;
};

/// "tracker piece3 (c0[0+64] of rank 0)"
std::string tracker_name(const Program& program, std::size_t index);

/// "block 2 (rows 0 to 4, columns 8 to 16)": of a Gemm with an output map; the ends are exclusive.
std::string block_name(const Gemm& gemm, std::size_t block);

/// "rank 0, queue dma0.14, command 2"
std::string where(const Program& program, QueueId queue, std::size_t command);

/// "in0[64, 128)": a half-open range of bytes of a buffer.
std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end);

}  // namespace cortado::verifier
