// The symbolic contents of all buffers, and what the commands do to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cortado/program.hpp"

#include "verify/node_pool.hpp"
#include "verify/results.hpp"
#include "verify/symbolic_buffer.hpp"

namespace cortado::verifier {

class SymbolicMemory {
 public:
  explicit SymbolicMemory(const Program& program);
  /// `results` may be shared by several memories; its source numbers begin after the buffers of all of them.
  SymbolicMemory(const Program& program, std::shared_ptr<Results> results);

  /// The caller writes the region.
  void fill(const Region& region, std::uint32_t iteration);
  /// Executes Copy, Broadcast, Swap, Gemm, Kernel or Call; `update`: its writes to tracked bytes are updates.
  void execute(const Command& command, bool update = false);
  void multiply(const Gemm& gemm, bool update);
  /// A tracker has received all updates and resets.
  void fire(std::size_t tracker);

  /// What a region holds, by places in the region: calls visit(Piece) for each piece, or returns them all.
  template <class Visitor>
  void read(const Region& region, Visitor&& visit) const {
    read_from(buffers_[region.buffer.value], region, visit);
  }
  Pieces read(const Region& region) const;
  /// The same, every run as a separate piece, ascending.
  Pieces read_runs(const Region& region) const { return single_runs(read(region)); }

  /// True if the region lies in one run, in a buffer without strided regions.
  bool is_plain(const Region& region) const {
    return buffers_[region.buffer.value].is_plain() && (region.rows == 1 || region.pitch == region.width);
  }
  const SymbolicBuffer& buffer(BufferId id) const { return buffers_[id.value]; }

  Results& results() { return *results_; }
  const Results& results() const { return *results_; }
  const std::shared_ptr<Results>& shared_results() const { return results_; }

 private:
  void write(const Region& region, Pieces pieces);
  void copy(const Region& src, const Region& dst);
  template <class Visitor>
  static void read_from(const SymbolicBuffer& buffer, const Region& region, Visitor&& visit) {
    for (const PlacedRuns& runs : runs_of(region, buffer.pitch())) {
      buffer.read(runs.address, [&](Piece&& piece) {
        to_place(piece.at, runs);
        visit(std::move(piece));
      });
    }
  }
  void copy_in_parts(const Region& src, const Region& dst);
  void mark(const Region& run);
  void find_torn(const Region& run);
  bool is_cut(const Piece& piece, std::uint64_t row) const;
  void forget_cut(Pieces& pieces, std::uint64_t row);
  /// What is in run k by address is in run k by place.
  static void to_place(Runs& at, const PlacedRuns& runs) {
    const auto& [address, place] = runs;
    const std::uint64_t distance = at.start - address.start;
    const std::uint64_t run = address.count > 1 ? distance / address.stride : 0;
    at.start = place.run_start(run) + (distance - run * address.stride);
    if (address.count > 1 && at.count > 1) at.stride = place.stride;
  }
  Pieces product(const Gemm& gemm);
  void accumulate(const Region& dst, Pieces pieces, DType dtype, bool update);
  void set_fresh(const Region& region, bool fresh);
  void reduce(const std::vector<Region>& sources, const Region& dst, DType dtype);
  bool reduce_at_once(const std::vector<Region>& sources, const Region& dst, DType dtype);
  void call(const Call& call);
  /// The number of the region's contents, its bytes one after another; none if some were never written.
  std::optional<std::uint32_t> content(const Region& region);
  Pieces sum(Pieces a, Pieces b, DType dtype);
  Piece sum(const Piece& a, const Piece& b, DType dtype);

  const Program& program_;
  std::unique_ptr<NodePool> pool_ = std::make_unique<NodePool>();  // of the buffers
  std::vector<SymbolicBuffer> buffers_;
  /// For each buffer with trackers: bytes that were not updated since their tracker last reset have a value.
  std::vector<std::optional<SymbolicBuffer>> fresh_;
  std::shared_ptr<Results> results_;
  std::uint32_t marks_ = 0;  // given so far
};

}  // namespace cortado::verifier
