// The contents of all buffers in symbols, and what the commands do to them.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/ir/program.hpp"

#include "verify/results.hpp"
#include "verify/symbolic_buffer.hpp"

namespace cortado::verifier {

class SymbolicMemory {
 public:
  explicit SymbolicMemory(const Program& program);

  /// The caller writes the region.
  void fill(const Region& region, std::uint32_t iteration);
  /// Executes Copy, Broadcast, Swap, Gemm or Kernel.
  void execute(const Command& command);

  /// What a region holds, by places in the region.
  std::vector<Piece> read(const Region& region) const;

  Results& results() { return results_; }
  const Results& results() const { return results_; }

 private:
  void write(const Region& region, const std::vector<Piece>& pieces);
  void copy(const Region& src, const Region& dst) { write(dst, read(src)); }
  void multiply(const Gemm& gemm);
  void reduce(const std::vector<Region>& sources, const Region& dst, DType dtype);
  std::vector<Piece> sum(std::vector<Piece> a, std::vector<Piece> b, DType dtype);
  Piece sum(const Piece& a, const Piece& b, DType dtype);

  std::vector<SymbolicBuffer> buffers_;
  Results results_;
};

}  // namespace cortado::verifier
