// How the ranks of a team execute collectives. Three ways, chosen by size and memory:
//
//   slots   a rank copies what it sends into its slot before it announces its call; then every rank takes what
//           it needs. One meeting, two copies.
//   direct  a rank tells where its buffer is; then every rank runs its part of a proved program
//           (pull_program.hpp), which takes from there: by plain loads from windows and between threads, by
//           process_vm_readv from other memory. Two meetings, one copy.
//   staged  like slots, piece by piece: if memory cannot be read, is not worth a system call, or is more than
//           the caches hold; in the last case two copies that bypass the caches are faster than one by the
//           system.
//
// All ranks see the same calls once they have met, so all make the same decision.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

#include "runtime/rank_program.hpp"
#include "runtime/shape.hpp"
#include "runtime/team.hpp"
#include "runtime/tuning.hpp"

namespace cortado::runtime {

class Exchange {
 public:
  /// The first thing that all ranks of a team of processes do together. `cache`: bytes of the largest cache; that of
  /// rank 0 is used.
  static Result<std::unique_ptr<Exchange>> open(Team& team, Tuning tuning, Bytes cache);

  /// Any collective; not send or recv.
  Status run(const Operation& operation);

  struct Done {
    OperationKind kind{};
    std::uint64_t bytes = 0;
    Variant variant = Variant::by_size;
    std::string_view why{};
    bool asked = false;  ///< the variant was explicitly requested
  };
  const Done& last() const { return last_; }

 private:
  Exchange(Team& team, Tuning tuning, Bytes cache)
      : team_(team), tuning_(std::move(tuning)), programs_(team.rank()), cache_bytes_(cache.value) {}
  /// Bytes that this rank takes: from block `block` of what a rank sends, to a place in its own buffer.
  struct Take {
    std::uint32_t from;
    std::uint32_t block;
    std::uint64_t sent_at;  ///< first byte of the block in the sender's buffer
    std::uint64_t to;
    std::uint64_t bytes;
  };

  Call call_for(const Operation& operation, const Shape& shape) const;
  /// Whether this rank puts what it sends into its slot before it announces the call.
  bool uses_slot(const Call& call, std::uint64_t bytes) const;
  Status refuse(Diagnostic reason);
  Status check_calls() const;
  struct Decision {
    Variant variant;
    std::string_view why;
  };
  Decision decide(const Operation& operation) const;
  bool all_in_reach(bool receive_buffers) const;
  /// Bytes of all buffers of the operation, over all ranks.
  std::uint64_t bytes_touched(const Operation& operation) const;
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) const;
  std::uint64_t longest_block() const;
  std::vector<Take>& takes(const Operation& operation, const Shape& shape);
  std::uint32_t next_slot() { return static_cast<std::uint32_t>(slot_uses_++ % 2); }

  Status by_slots(const Operation& operation, const Shape& shape, std::uint32_t slot);
  Status by_pieces(const Operation& operation, const Shape& shape);
  /// Reduces a piece of an all-reduce that is in the slots into `out`.
  Status all_reduce_slots(const Operation& operation, std::uint32_t slot, std::byte* out, std::uint64_t bytes);

  Status directly(const Operation& operation);
  PullRequest request_for(const Operation& operation) const;
  Status reduce_from(const Operation& operation, const Step& step);
  const Location& location(const Place& place) const;
  Status unreadable(std::uint32_t peer);

  Team& team_;
  Tuning tuning_;
  RankPrograms programs_;
  std::uint64_t cache_bytes_;
  bool streams_ = false;  ///< the current operation exceeds the caches, and bypasses them when writing
  bool reads_all_ = false;
  std::uint64_t slot_uses_ = 0;
  std::vector<Take> takes_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte> scratch_;
  Done last_;
};

}  // namespace cortado::runtime
