// The memory that the ranks of a communicator share: a file in /dev/shm that is unlinked as soon as all have mapped it,
// or plain memory for threads of one process.
//
//   Header | RankBlock of each rank | slots of each rank | mailboxes of each pair | window of each rank
//
// Every process holds a POSIX lock on byte `rank` of the file. The system releases it when the process ends, however it
// ends, so the lock shows whether a rank is alive; and a file whose byte 0 is not locked is left over from a crash: the
// next rank 0 removes it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

#include "runtime/bell.hpp"

namespace cortado::runtime {

inline constexpr std::uint32_t kMostRanks = 64;
/// What a rank can pass on at one meeting; there are two, used alternately. Large, because meetings of ranks that share
/// cores are expensive; small enough for those of 8 ranks to stay in caches of some MiB.
inline constexpr std::uint64_t kSlotBytes = 256 << 10;
/// Pieces of messages between two ranks; at most two are in transit.
inline constexpr std::uint64_t kLetterBytes = 32 << 10;
inline constexpr std::uint32_t kLetters = 2;
inline constexpr std::size_t kReportBytes = 512;

/// Where the bytes of a buffer are, as seen by other ranks.
struct Location {
  std::uint64_t address = 0;  ///< in its process, or offset in the segment
  bool in_segment = false;
};

/// What the calls of all ranks must have in common: one word, so that they can be compared quickly.
struct Signature {
  std::uint8_t kind = 0;
  std::uint8_t element = 0;
  std::uint8_t reduction = 0;
  std::uint8_t variant = 0;  ///< requested by the options or the environment
  std::uint8_t root = 0;
  bool by_counts = false;
  bool refused = false;  ///< by its own rank: the arguments were wrong
  std::uint8_t unused = 0;

  bool operator==(const Signature& other) const {
    return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(other);
  }
};

/// What a rank has called, for all others to see.
struct Call {
  Signature what{};
  std::uint64_t block_bytes = 0;  ///< of one block; with counts, the largest
  Location send{};
  Location recv{};
  bool in_place = false;
  bool in_slot = false;  ///< what it sends is in its slot
};

/// A call and its number, which is written last. One cache line, so that a rank that waits for it gets all of it.
struct alignas(64) Announcement {
  std::atomic<std::uint64_t> number{0};
  Call call{};
};
static_assert(sizeof(Announcement) == 64);

/// For operations with counts: bytes for and from each rank.
struct Counts {
  std::array<std::uint64_t, kMostRanks> send{};
  std::array<std::uint64_t, kMostRanks> recv{};
};

/// A signal of a proved program: the number of the last call in which its rank raised it.
struct alignas(64) SignalWord {
  std::atomic<std::uint64_t> raised{0};
};
inline constexpr std::uint32_t kSignals = 2;  // per rank; programs have no more

struct alignas(64) RankBlock {
  std::array<Announcement, 2> calls{};                ///< used alternately: a slow rank may still read the previous one
  alignas(64) std::atomic<std::uint64_t> arrived{0};  ///< number of barriers reached
  std::array<SignalWord, kSignals> signals{};
  alignas(64) std::atomic<std::uint32_t> left{0};
  std::atomic<std::uint32_t> process{0};
  std::uint32_t reads_peers = 0;   ///< the system allows it to read memory of other processes
  std::array<Counts, 2> counts{};  ///< for the calls
};

struct alignas(64) Mailbox {  ///< from one rank to another
  std::atomic<std::uint64_t> posted{0};
  std::array<std::uint64_t, kLetters> message_bytes{};  ///< total bytes of the message that the letter belongs to
  alignas(64) std::atomic<std::uint64_t> taken{0};
};

struct alignas(64) Header {
  std::atomic<std::uint32_t> ready{0};
  std::uint32_t ranks = 0;
  std::uint64_t window_bytes = 0;
  std::uint64_t cache_bytes = 0;  ///< of the largest cache, according to rank 0
  std::atomic<std::uint32_t> attached{0};
  alignas(64) Bell bell{};
  /// 0: none; 1: a report is being written; 2: it is complete.
  alignas(64) std::atomic<std::uint32_t> failed{0};
  std::array<char, 32> failure_code{};
  std::array<char, kReportBytes> failure{};
};

class Segment {
 public:
  /// The file of this name, created by rank 0. Returns when all ranks have attached.
  static Result<std::unique_ptr<Segment>> attach(const CommunicatorOptions& options);
  /// Memory of this process.
  static Result<std::shared_ptr<Segment>> plain(std::uint32_t ranks, Bytes window);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankBlock& block(std::uint32_t rank) const {
    return *reinterpret_cast<RankBlock*>(base_ + blocks_at_ + rank * sizeof(RankBlock));
  }
  /// Slots 0 and 1 are used alternately; slot 2 is for results.
  std::byte* slot(std::uint32_t rank, std::uint32_t which) const {
    return base_ + slots_at_ + (std::uint64_t{rank} * 3 + which) * kSlotBytes;
  }
  Mailbox& mailbox(std::uint32_t from, std::uint32_t to) const {
    return *reinterpret_cast<Mailbox*>(base_ + mailboxes_at_ + (std::uint64_t{from} * ranks_ + to) * sizeof(Mailbox));
  }
  std::byte* letter(std::uint32_t from, std::uint32_t to, std::uint64_t number) const {
    const std::uint64_t pair = std::uint64_t{from} * ranks_ + to;
    return base_ + letters_at_ + (pair * kLetters + number % kLetters) * kLetterBytes;
  }
  std::span<std::byte> window(std::uint32_t rank) const {
    return {base_ + windows_at_ + rank * window_bytes_, window_bytes_};
  }
  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t ranks() const { return ranks_; }
  bool one_process() const { return file_ < 0; }

  /// Ensures that a part of the window is backed by memory.
  Status commit(std::span<std::byte> part) const;
  /// False if the process of the rank has ended.
  bool alive(std::uint32_t rank) const;

 private:
  Segment(std::uint32_t ranks, std::uint64_t window_bytes);
  Status map(int file);
  Status create(const std::string& path);
  Status open(const std::string& path, std::chrono::steady_clock::time_point deadline);
  Status lock(std::uint32_t rank) const;
  Status wait_for_all(const CommunicatorOptions& options, std::chrono::steady_clock::time_point deadline) const;

  std::uint32_t ranks_;
  std::uint64_t window_bytes_;
  std::uint64_t blocks_at_ = 0, slots_at_ = 0, mailboxes_at_ = 0, letters_at_ = 0, windows_at_ = 0;
  std::uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
  int file_ = -1;
};

}  // namespace cortado::runtime
