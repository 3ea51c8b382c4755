// What bytes hold, in symbols: which input bytes of which iteration, or a sum of such.
//
// A value describes a run of bytes by its first byte; byte i of the run is every term moved on by i. So a block of any
// size that was copied as a whole is one value.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/ir/program.hpp"

#include "verify/interval_map.hpp"

namespace cortado::verifier {

/// Input bytes as the caller wrote them in an iteration; or, with a source behind the last buffer, the result of a Gemm
/// or of a sum that has no name (mixed element types).
struct Term {
  std::uint32_t source = 0;  ///< BufferId, or number of buffers + number of the result
  std::uint32_t iteration = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

struct Value {
  std::vector<Term> terms;  ///< sorted; more than one: their sum
  DType dtype = DType::u8;  ///< of a sum
  std::uint64_t phase = 0;  ///< of a sum: position of the first byte within its element

  Value advanced_by(std::uint64_t bytes) const;
  bool continues(const Value& next, std::uint64_t bytes) const;
  bool is_sum() const { return terms.size() > 1; }
};

/// Contents of all buffers.
class SymbolicMemory {
 public:
  explicit SymbolicMemory(const Program& program);

  /// The caller writes the region.
  void fill(const Region& region, std::uint32_t iteration);
  /// Executes Copy, Broadcast, Swap or Kernel.
  void execute(const Command& command);
  /// A result that nothing else is equal to, such as a part of a Gemm.
  void write_result(const Region& region, std::uint32_t iteration);
  bool defined(const Region& region) const;

  /// A run of bytes; no value: never written.
  struct Piece {
    std::uint64_t bytes = 0;
    std::optional<Value> value;
  };
  std::vector<Piece> read(BufferId buffer, std::uint64_t begin, std::uint64_t end) const;

 private:
  void copy(const Region& src, const Region& dst);
  void swap(const Region& a, const Region& b);
  void reduce(const std::vector<Region>& sources, const Region& dst, DType dtype);
  void write(BufferId buffer, std::uint64_t begin, std::vector<Piece> pieces);
  std::vector<Piece> sum(const std::vector<Piece>& a, const std::vector<Piece>& b, DType dtype);
  std::optional<Value> sum(const std::optional<Value>& a, const std::optional<Value>& b, DType dtype,
                           std::uint64_t phase);

  std::vector<IntervalMap<Value>> memory_;  // of a buffer
  std::uint32_t next_result_;
};

}  // namespace cortado::verifier
