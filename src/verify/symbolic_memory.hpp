// The contents of all buffers in symbols, and what the commands do to them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/program.hpp"

#include "verify/results.hpp"
#include "verify/symbolic_buffer.hpp"

namespace cortado::verifier {

class SymbolicMemory {
 public:
  explicit SymbolicMemory(const Program& program);

  /// The caller writes the region.
  void fill(const Region& region, std::uint32_t iteration);
  /// Executes Copy, Broadcast, Swap, Gemm or Kernel; `update`: its writes are updates, where there are trackers.
  void execute(const Command& command, bool update = false);
  /// A tracker has all updates and starts over.
  void fire(std::size_t tracker);

  /// What a region holds, by places in the region: calls visit(Piece) for each, or returns them all.
  template <class Visitor>
  void read(const Region& region, Visitor&& visit) const {
    read_from(buffers_[region.buffer.value], region, visit);
  }
  std::vector<Piece> read(const Region& region) const;

  /// The region lies in one run, in a buffer without strided regions.
  bool is_plain(const Region& region) const {
    return buffers_[region.buffer.value].is_plain() && (region.rows == 1 || region.pitch == region.width);
  }
  const SymbolicBuffer& buffer(BufferId id) const { return buffers_[id.value]; }

  Results& results() { return results_; }
  const Results& results() const { return results_; }

 private:
  void write(const Region& region, const std::vector<Piece>& pieces);
  void copy(const Region& src, const Region& dst);
  template <class Visitor>
  static void read_from(const SymbolicBuffer& buffer, const Region& region, Visitor&& visit) {
    for (const PlacedRuns& runs : runs_of(region, buffer.pitch())) {
      const auto& [address, place] = runs;
      buffer.read(address, [&](Piece piece) { visit(by_place(std::move(piece), runs)); });
    }
  }
  void copy_bytes(const Region& src, const Region& dst);
  static Piece by_place(Piece piece, const PlacedRuns& runs);
  std::vector<Piece> product(const Gemm& gemm);
  void accumulate(const Region& dst, const std::vector<Piece>& pieces, DType dtype, bool update);
  void set_fresh(const Region& region, bool fresh);
  void reduce(const std::vector<Region>& sources, const Region& dst, DType dtype);
  std::vector<Piece> sum(std::vector<Piece> a, std::vector<Piece> b, DType dtype);
  Piece sum(const Piece& a, const Piece& b, DType dtype);

  const Program& program_;
  std::vector<SymbolicBuffer> buffers_;
  /// Of each buffer with trackers: bytes that were not updated since their tracker started over have a value.
  std::vector<std::optional<SymbolicBuffer>> fresh_;
  Results results_;
  std::vector<Piece> copied_;  // scratch of copies
};

}  // namespace cortado::verifier
