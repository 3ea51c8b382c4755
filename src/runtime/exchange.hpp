// How collectives are done among the ranks of a team. Three ways, chosen by size:
//
//   slots   a rank copies what it sends into its slot and comes to the barrier; behind it everybody takes what it
//           needs. One barrier, two copies.
//   direct  a rank says where its buffer is and comes to the barrier; behind it everybody takes from there, by plain
//           loads out of windows and from threads, by process_vm_readv out of other memory. Two barriers, one copy.
//   staged  as slots, piece by piece: where memory cannot be read, or is not worth a system call.
//
// All ranks see the same calls behind the first barrier, so all decide the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

#include "runtime/team.hpp"

namespace cortado::runtime {

enum class Variant : std::uint32_t { by_size, slots, staged, direct };
Result<Variant> parse_variant(std::string_view name);
std::string_view name_of(Variant variant);

/// How the blocks of an operation lie in its buffers.
struct Shape {
  std::uint64_t block_bytes = 0;  ///< of all-to-all with counts the largest of this rank
  std::uint32_t blocks = 1;       ///< in what a rank sends
};

/// Refuses buffers that do not fit together (runtime.arguments).
Result<Shape> shape_of(const Operation& operation, std::uint32_t rank, std::uint32_t ranks);

class Exchange {
 public:
  /// The first thing that all ranks of a team of processes do together.
  static Result<std::unique_ptr<Exchange>> open(Team& team, Variant variant);

  /// Any collective; not send and recv.
  Status run(const Operation& operation);

  struct Done {
    OperationKind kind{};
    std::uint64_t bytes = 0;
    Variant variant = Variant::by_size;
    bool windows = false;  ///< all buffers were reached by plain loads
  };
  const Done& last() const { return last_; }

 private:
  Exchange(Team& team, Variant variant) : team_(team), asked_(variant) {}
  /// Bytes that this rank takes: out of block `block` of what a rank sends, to a place in its own buffer.
  struct Take {
    std::uint32_t from;
    std::uint32_t block;
    std::uint64_t sent_at;  ///< first byte of the block in the sender's buffer
    std::uint64_t to;
    std::uint64_t bytes;
  };

  Call call_for(const Operation& operation, const Shape& shape) const;
  Status refuse(Diagnostic reason);
  Status check_calls() const;
  Status by_slots(const Operation& operation, const Shape& shape);
  Status by_pieces(const Operation& operation, const Shape& shape);
  Status directly(const Operation& operation, const Shape& shape);
  Status all_reduce_directly(const Operation& operation);
  /// A piece of all-reduce that lies in the slots: its result into `out`.
  Status all_reduce_slots(const Operation& operation, std::uint32_t slot, std::byte* out, std::uint64_t bytes);
  Status reduce_from_peers(const Operation& operation, std::uint64_t offset, std::byte* out, std::uint64_t bytes);
  Variant decide(const Operation& operation, const Shape& shape) const;
  std::uint64_t longest_block() const;
  bool all_in_reach(bool receive_buffers) const;
  std::vector<Take>& takes(const Operation& operation, const Shape& shape);
  std::uint32_t next_slot() { return static_cast<std::uint32_t>(slot_uses_++ % 2); }
  Status unreadable(std::uint32_t peer);

  Team& team_;
  Variant asked_;
  bool reads_all_ = false;
  std::uint64_t slot_uses_ = 0;
  std::vector<Take> takes_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte> scratch_;
  Done last_;
};

}  // namespace cortado::runtime
