// Binary layouts of the packets: one struct of dwords per packet, and the bit fields inside the dwords.
//
// Field names and positions are those of the Linux driver's vega10_sdma_pkt_open.h, with two additions from ROCr: copy
// swap, and byte counts of 30 bits instead of 22 (accepted by gfx90a and gfx94x).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cortado::sdma::wire {

static_assert(std::endian::native == std::endian::little, "packets are little-endian dwords stored as they are");

/// `Width` bits of a dword starting at bit `Low`.
template <unsigned Low, unsigned Width>
struct Bits {
  static_assert(Width >= 1 && Low + Width <= 32);
  static constexpr std::uint32_t kMax = Width == 32 ? 0xffffffffU : (1U << (Width % 32)) - 1;
  static constexpr std::uint32_t kMask = kMax << Low;
  static constexpr std::uint32_t put(std::uint32_t value) { return value << Low; }
  static constexpr std::uint32_t get(std::uint32_t dword) { return (dword & kMask) >> Low; }
};

/// Bits of dword `dword` that must be zero, and their name in the sources. If several entries name the same dword, the
/// last one covers everything outside the fields.
struct MustBeZero {
  std::size_t dword = 0;
  std::uint32_t mask = 0;
  const char* name = "";
};

struct Address {
  std::uint32_t low;
  std::uint32_t high;
};

constexpr Address split(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}
constexpr std::uint64_t join(Address address) {
  return std::uint64_t{address.high} << 32 | address.low;
}

// --- Dword 0 ---------------------------------------------------------------------------------------------------------

using Opcode = Bits<0, 8>;
using SubOpcode = Bits<8, 8>;
using OpcodeAndSub = Bits<0, 16>;
using Encrypt = Bits<16, 1>;
using Tmz = Bits<18, 1>;  // trusted memory zone

inline constexpr const char* kReserved = "reserved bits";
inline constexpr MustBeZero kEncrypted{0, Encrypt::kMask, "encrypt"};
inline constexpr MustBeZero kTrusted{0, Tmz::kMask, "tmz"};
inline constexpr MustBeZero kOnlyOpcode{0, ~OpcodeAndSub::kMask, kReserved};

enum class Op : std::uint8_t {
  nop = 0,
  copy = 1,
  write = 2,
  indirect = 4,
  fence = 5,
  trap = 6,
  poll_regmem = 8,
  cond_exe = 9,
  atomic = 10,
  const_fill = 11,
  timestamp = 13,
};

enum class CopySub : std::uint8_t { linear = 0, window = 4, swap = 9, add = 0xf0, multicast, fused, list };

constexpr std::uint32_t header(Op op, std::uint32_t sub_opcode = 0) {
  return Opcode::put(static_cast<std::uint32_t>(op)) | SubOpcode::put(sub_opcode);
}
constexpr std::uint32_t header(CopySub sub) {
  return header(Op::copy, static_cast<std::uint32_t>(sub));
}

// --- Packets ---------------------------------------------------------------------------------------------------------

using ByteCount = Bits<0, 30>;  // bytes - 1
inline constexpr MustBeZero kAboveByteCount{1, ~ByteCount::kMask, kReserved};

struct Nop {
  static constexpr const char* kName = "NOP";
  using Payload = Bits<16, 14>;  // dwords that follow
  std::uint32_t header;
  static constexpr std::array kMustBeZero{MustBeZero{0, ~(OpcodeAndSub::kMask | Payload::kMask), kReserved}};
};

using Broadcast = Bits<27, 1>;  // of the header of a linear copy: a second destination follows
inline constexpr MustBeZero kOnlyBroadcast{0, ~(OpcodeAndSub::kMask | Broadcast::kMask), kReserved};

struct CopyLinear {
  static constexpr const char* kName = "COPY linear";
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address src;
  Address dst;
  static constexpr std::array kMustBeZero{
      kEncrypted,
      kTrusted,
      kOnlyBroadcast,
      kAboveByteCount,
      MustBeZero{2, Bits<16, 2>::kMask, "dst_sw (endian swap)"},
      MustBeZero{2, Bits<24, 2>::kMask, "src_sw (endian swap)"},
      MustBeZero{2, ~0U, kReserved},
  };
};

struct CopyBroadcast {
  static constexpr const char* kName = "COPY broadcast";
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address src;
  Address dst1;
  Address dst2;
  static constexpr std::array kMustBeZero{
      kEncrypted,
      kTrusted,
      kOnlyBroadcast,
      kAboveByteCount,
      MustBeZero{2, Bits<8, 2>::kMask, "dst2_sw (endian swap)"},
      MustBeZero{2, Bits<10, 3>::kMask, "dst2_cache (cache policy)"},
      MustBeZero{2, Bits<16, 2>::kMask, "dst1_sw (endian swap)"},
      MustBeZero{2, Bits<18, 3>::kMask, "dst1_cache (cache policy)"},
      MustBeZero{2, Bits<24, 2>::kMask, "src_sw (endian swap)"},
      MustBeZero{2, Bits<26, 3>::kMask, "src_cache (cache policy)"},
      MustBeZero{2, ~0U, kReserved},
  };
};

struct CopySwap {
  static constexpr const char* kName = "COPY swap";
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address a;
  Address b;
  static constexpr std::array kMustBeZero{
      kOnlyOpcode,
      kAboveByteCount,
      MustBeZero{2, Bits<16, 2>::kMask, "dst_sw (endian swap)"},
      MustBeZero{2, Bits<18, 3>::kMask, "dst_cache (cache policy)"},
      MustBeZero{2, Bits<24, 2>::kMask, "src_sw (endian swap)"},
      MustBeZero{2, Bits<26, 3>::kMask, "src_cache (cache policy)"},
      MustBeZero{2, ~0U, kReserved},
  };
};

/// A private packet of Cortado: a linear copy that adds.
struct CopyAdd {
  static constexpr const char* kName = "COPY add (private)";
  using ElementType = Bits<24, 4>;
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address src;
  Address dst;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~(OpcodeAndSub::kMask | ElementType::kMask), kReserved},
      kAboveByteCount,
      MustBeZero{2, ~0U, kReserved},
  };
};

/// A private packet of Cortado, without its destinations, which follow.
struct CopyMulticast {
  static constexpr const char* kName = "COPY multicast (private)";
  using Destinations = Bits<24, 4>;
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address src;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~(OpcodeAndSub::kMask | Destinations::kMask), kReserved},
      kAboveByteCount,
      MustBeZero{2, ~0U, kReserved},
  };
};

/// A private packet of Cortado: poll, copy and atomic.
struct CopyFused {
  static constexpr const char* kName = "COPY fused (private)";
  using Waits = Bits<24, 1>;
  using Signals = Bits<25, 1>;
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t parameters;
  Address src;
  Address dst;
  Address wait;
  std::uint32_t reference;
  Address signal;
  Address value;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~(OpcodeAndSub::kMask | Waits::kMask | Signals::kMask), kReserved},
      kAboveByteCount,
      MustBeZero{2, ~0U, kReserved},
  };
};

/// A private packet of Cortado: copies of a list.
struct CopyList {
  static constexpr const char* kName = "COPY list (private)";
  using Entries = Bits<0, 20>;  // entries - 1
  std::uint32_t header;
  std::uint32_t count;
  std::uint32_t entries;
  Address src;
  Address dst;
  Address list;
  static constexpr std::array kMustBeZero{kOnlyOpcode, kAboveByteCount, MustBeZero{2, ~Entries::kMask, kReserved}};
};

struct WindowSide {
  using X = Bits<0, 14>;
  using Y = Bits<16, 14>;
  using Z = Bits<0, 11>;
  using Pitch = Bits<13, 19>;      // elements - 1
  using SlicePitch = Bits<0, 28>;  // elements - 1
  Address base;
  std::uint32_t x_y;
  std::uint32_t z_pitch;
  std::uint32_t slice_pitch;
};

struct CopyWindow {
  static constexpr const char* kName = "COPY linear sub-window";
  using ElementLog2 = Bits<29, 3>;
  using Width = Bits<0, 14>;    // elements - 1
  using Height = Bits<16, 14>;  // elements - 1
  using Depth = Bits<0, 11>;    // elements - 1
  std::uint32_t header;
  WindowSide src;
  WindowSide dst;
  std::uint32_t width_height;
  std::uint32_t depth;
  static constexpr std::uint32_t kNotXY = ~(WindowSide::X::kMask | WindowSide::Y::kMask);
  static constexpr std::uint32_t kNotZPitch = ~(WindowSide::Z::kMask | WindowSide::Pitch::kMask);
  static constexpr std::array kMustBeZero{
      kTrusted,
      MustBeZero{0, ~(OpcodeAndSub::kMask | ElementLog2::kMask), kReserved},
      MustBeZero{3, kNotXY, kReserved},
      MustBeZero{4, kNotZPitch, kReserved},
      MustBeZero{5, ~WindowSide::SlicePitch::kMask, kReserved},
      MustBeZero{8, kNotXY, kReserved},
      MustBeZero{9, kNotZPitch, kReserved},
      MustBeZero{10, ~WindowSide::SlicePitch::kMask, kReserved},
      MustBeZero{11, ~(Width::kMask | Height::kMask), kReserved},
      MustBeZero{12, Bits<16, 2>::kMask, "dst_sw (endian swap)"},
      MustBeZero{12, Bits<24, 2>::kMask, "src_sw (endian swap)"},
      MustBeZero{12, ~Depth::kMask, kReserved},
  };
};

/// Without its data, which follows.
struct WriteLinear {
  static constexpr const char* kName = "WRITE linear";
  using Count = Bits<0, 20>;  // data dwords - 1
  std::uint32_t header;
  Address dst;
  std::uint32_t count;
  static constexpr std::array kMustBeZero{
      kEncrypted,
      kTrusted,
      kOnlyOpcode,
      MustBeZero{3, Bits<20, 2>::kMask, "count beyond 20 bits"},
      MustBeZero{3, Bits<24, 2>::kMask, "sw (endian swap)"},
      MustBeZero{3, ~Count::kMask, kReserved},
  };
};

struct ConstFill {
  static constexpr const char* kName = "CONST_FILL";
  using ElementLog2 = Bits<30, 2>;
  using Count = ByteCount;
  std::uint32_t header;
  Address dst;
  std::uint32_t pattern;
  std::uint32_t count;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, Bits<16, 2>::kMask, "sw (endian swap)"},
      MustBeZero{0, ~(OpcodeAndSub::kMask | ElementLog2::kMask), kReserved},
      MustBeZero{4, ~Count::kMask, kReserved},
  };
};

struct Fence {
  static constexpr const char* kName = "FENCE";
  std::uint32_t header;
  Address address;
  std::uint32_t value;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~OpcodeAndSub::kMask, "memory type, system or snoop bits of later engines, or reserved bits"}};
};

struct Trap {
  static constexpr const char* kName = "TRAP";
  using Context = Bits<0, 28>;
  std::uint32_t header;
  std::uint32_t context;
  static constexpr std::array kMustBeZero{kOnlyOpcode, MustBeZero{1, ~Context::kMask, kReserved}};
};

struct PollRegmem {
  static constexpr const char* kName = "POLL_REGMEM";
  using HdpFlush = Bits<26, 1>;
  using Function = Bits<28, 3>;
  using Memory = Bits<31, 1>;
  using Interval = Bits<0, 16>;
  using RetryCount = Bits<16, 12>;
  std::uint32_t header;
  Address address;
  std::uint32_t reference;
  std::uint32_t mask;
  std::uint32_t interval_retry;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~(OpcodeAndSub::kMask | HdpFlush::kMask | Function::kMask | Memory::kMask), kReserved},
      MustBeZero{5, ~(Interval::kMask | RetryCount::kMask), kReserved},
  };
};

/// ROCr's packet that flushes the host data path: a register poll whose "registers" are these two words.
inline constexpr std::uint64_t kHdpFlushAddress = 0x80000000'00000000;

struct Atomic {
  static constexpr const char* kName = "ATOMIC";
  using Loop = Bits<16, 1>;
  using Operation = Bits<25, 7>;
  using LoopInterval = Bits<0, 13>;
  std::uint32_t header;
  Address address;
  Address data;
  Address compare;
  std::uint32_t loop_interval;
  static constexpr std::array kMustBeZero{
      kTrusted,
      MustBeZero{0, ~(OpcodeAndSub::kMask | Loop::kMask | Operation::kMask), kReserved},
      MustBeZero{7, ~LoopInterval::kMask, kReserved},
  };
};

struct Timestamp {
  static constexpr const char* kName = "TIMESTAMP";
  std::uint32_t header;
  Address address_or_value;
  static constexpr std::array kMustBeZero{kOnlyOpcode};
};

struct CondExe {
  static constexpr const char* kName = "COND_EXE";
  using ExecCount = Bits<0, 14>;
  std::uint32_t header;
  Address address;
  std::uint32_t reference;
  std::uint32_t exec_count;
  static constexpr std::array kMustBeZero{kOnlyOpcode, MustBeZero{4, ~ExecCount::kMask, kReserved}};
};

struct Indirect {
  static constexpr const char* kName = "INDIRECT";
  using Vmid = Bits<16, 4>;
  using Size = Bits<0, 20>;  // dwords
  std::uint32_t header;
  Address base;
  std::uint32_t size;
  Address context_save;
  static constexpr std::array kMustBeZero{
      MustBeZero{0, ~(OpcodeAndSub::kMask | Vmid::kMask), kReserved},
      MustBeZero{3, ~Size::kMask, kReserved},
  };
};

// --- Sizes and places ------------------------------------------------------------------------------------------------

template <class Wire>
inline constexpr std::size_t kDwords = sizeof(Wire) / sizeof(std::uint32_t);

// Packets are copied to and from the ring dword by dword: if copied as a whole, they would be assembled on the stack in
// pieces of one width and read back in another, which stalls the processor for longer than everything else takes.

/// Writes the packet at `out`; returns its size in dwords.
template <class Wire>
std::size_t store(const Wire& packet, std::uint32_t* out) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&packet);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (std::memcpy(out + I, bytes + I * sizeof(std::uint32_t), sizeof(std::uint32_t)), ...);
  }
  (std::make_index_sequence<kDwords<Wire>>());
  return kDwords<Wire>;
}

/// The packet whose dwords are at `in`.
template <class Wire>
Wire load(const std::uint32_t* in) {
  Wire packet;
  auto* const bytes = reinterpret_cast<std::byte*>(&packet);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (std::memcpy(bytes + I * sizeof(std::uint32_t), in + I, sizeof(std::uint32_t)), ...);
  }
  (std::make_index_sequence<kDwords<Wire>>());
  return packet;
}

template <class Wire, std::size_t I>
inline constexpr MustBeZero kZero = Wire::kMustBeZero[I];

/// The bits, of all dwords at `in` combined, that must be zero and are not.
template <class Wire>
std::uint32_t wrong_bits(const std::uint32_t* in) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (0U | ... | (in[kZero<Wire, I>.dword] & kZero<Wire, I>.mask));
  }
  (std::make_index_sequence<Wire::kMustBeZero.size()>());
}

static_assert(sizeof(Nop) == 4);
static_assert(sizeof(CopyLinear) == 28 && offsetof(CopyLinear, src) == 12 && offsetof(CopyLinear, dst) == 20);
static_assert(sizeof(CopyBroadcast) == 36 && offsetof(CopyBroadcast, dst1) == 20 &&
              offsetof(CopyBroadcast, dst2) == 28);
static_assert(sizeof(CopySwap) == 28 && offsetof(CopySwap, a) == 12 && offsetof(CopySwap, b) == 20);
static_assert(sizeof(CopyAdd) == 28 && offsetof(CopyAdd, src) == 12 && offsetof(CopyAdd, dst) == 20);
static_assert(sizeof(CopyMulticast) == 20 && offsetof(CopyMulticast, src) == 12);
static_assert(sizeof(CopyFused) == 56 && offsetof(CopyFused, src) == 12 && offsetof(CopyFused, dst) == 20 &&
              offsetof(CopyFused, reference) == 36 && offsetof(CopyFused, signal) == 40);
static_assert(sizeof(CopyList) == 36 && offsetof(CopyList, src) == 12 && offsetof(CopyList, list) == 28);
static_assert(sizeof(WindowSide) == 20 && offsetof(WindowSide, x_y) == 8 && offsetof(WindowSide, slice_pitch) == 16);
static_assert(sizeof(CopyWindow) == 52 && offsetof(CopyWindow, src) == 4 && offsetof(CopyWindow, dst) == 24 &&
              offsetof(CopyWindow, width_height) == 44 && offsetof(CopyWindow, depth) == 48);
static_assert(sizeof(WriteLinear) == 16 && offsetof(WriteLinear, dst) == 4 && offsetof(WriteLinear, count) == 12);
static_assert(sizeof(ConstFill) == 20 && offsetof(ConstFill, pattern) == 12 && offsetof(ConstFill, count) == 16);
static_assert(sizeof(Fence) == 16 && offsetof(Fence, address) == 4 && offsetof(Fence, value) == 12);
static_assert(sizeof(Trap) == 8);
static_assert(sizeof(PollRegmem) == 24 && offsetof(PollRegmem, reference) == 12 && offsetof(PollRegmem, mask) == 16 &&
              offsetof(PollRegmem, interval_retry) == 20);
static_assert(sizeof(Atomic) == 32 && offsetof(Atomic, data) == 12 && offsetof(Atomic, compare) == 20 &&
              offsetof(Atomic, loop_interval) == 28);
static_assert(sizeof(Timestamp) == 12 && offsetof(Timestamp, address_or_value) == 4);
static_assert(sizeof(CondExe) == 20 && offsetof(CondExe, reference) == 12 && offsetof(CondExe, exec_count) == 16);
static_assert(sizeof(Indirect) == 24 && offsetof(Indirect, size) == 12 && offsetof(Indirect, context_save) == 16);

}  // namespace cortado::sdma::wire
