// Programs one after another: the hosts of all ranks do what they do in the first, then in the second, and so on.
//
// What the caller of a program would write and read is then written by what comes before it and read by what comes
// after it; rule 4 of a program makes that correct without further signals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

namespace cortado::plan {

/// Element size of all matrices of a layer.
inline constexpr Bytes kFloat = size_of(DType::f32);

Region matrix_region(BufferId buffer, std::uint64_t rows, std::uint64_t columns);
/// Some rows or columns of a matrix.
Region rows_of(const Region& matrix, std::uint64_t first, std::uint64_t rows);
Region columns_of(const Region& matrix, std::uint64_t first, std::uint64_t columns);

class Chain {
 public:
  Chain(std::string name, const Machine& machine, std::uint32_t ranks);

  std::uint32_t ranks() const { return program_.ranks; }

  /// "<kind><rank>"
  Region matrix(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns, BufferRole role);

  /// A kernel of the rank's stream, after everything added before.
  void kernel(std::uint32_t rank, Command command);
  /// C = A·B as such a kernel.
  void multiply(std::uint32_t rank, const Region& a, const Region& b, const Region& c);

  /// A program of the same ranks with one host per rank, whose memory is already part of the whole: kernels can write
  /// the inputs that its contract names.
  struct Stage {
    std::vector<Queue> queues{};
    Contract contract{};
  };
  /// The name becomes a suffix. All buffers become scratch buffers; ids in the contract are those of the whole.
  Stage reserve(Program program, const std::string& name);
  /// After everything added before.
  void launch(Stage stage);

  std::uint32_t rank_of(const Region& region) const { return program_.buffer(region.buffer).rank.value; }
  void role(const Region& region, BufferRole role) { program_.buffers[region.buffer.value].role = role; }

  // The formula.
  Region value(std::string name, std::uint64_t rows, std::uint64_t columns);
  void step(Command command) { program_.contract.formula.steps.push_back(std::move(command)); }
  void output(const Region& output, const Region& value) {
    program_.contract.formula.outputs.push_back({output, value});
  }

  Program finish() &&;

 private:
  /// The kernels added last become a separate queue that the hosts submit and wait for.
  void close_kernels();

  const Machine& machine_;
  Program program_;
  std::vector<std::vector<Command>> hosts_;    // by rank
  std::vector<std::vector<Command>> kernels_;  // by rank, since the last program
  std::uint32_t stages_ = 0;
  /// Buffers are added until the end, so values are numbered from here and renumbered at the end.
  static constexpr std::uint32_t kFirstValue = 1U << 30;
};

}  // namespace cortado::plan
