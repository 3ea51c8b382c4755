// Packets of the AMD SDMA 4.4.2 engine (MI300X, gfx942): one small struct per packet, an encoder and a decoder.
//
// Sources of the layouts: the Linux driver's vega10_sdma_pkt_open.h and sdma_v4_4_2.c, and ROCr's sdma_registers.h
// (swap). All packets are little-endian dwords; dword 0 has the opcode in bits 7:0 and the sub-opcode in bits 15:8. The
// structs hold meaning (a byte count), not raw fields (count minus one).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::sdma {

/// Skips `payload` dwords that follow; also drains earlier copies. A zero dword is Nop{0}.
struct Nop {
  std::uint16_t payload = 0;  ///< 14 bits
  friend bool operator==(const Nop&, const Nop&) = default;
};

struct CopyLinear {
  std::uint32_t bytes = 0;  ///< 1 .. 2^30
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  friend bool operator==(const CopyLinear&, const CopyLinear&) = default;
};

struct CopyBroadcast {
  std::uint32_t bytes = 0;
  std::uint64_t src = 0;
  std::uint64_t dst1 = 0;
  std::uint64_t dst2 = 0;
  friend bool operator==(const CopyBroadcast&, const CopyBroadcast&) = default;
};

/// Addresses are 64-byte aligned: their low six bits are not in the packet.
struct CopySwap {
  std::uint32_t bytes = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend bool operator==(const CopySwap&, const CopySwap&) = default;
};

/// One side of a sub-window copy; pitches and coordinates in elements.
struct WindowSide {
  std::uint64_t base = 0;
  std::uint32_t x = 0;            ///< 14 bits
  std::uint32_t y = 0;            ///< 14 bits
  std::uint32_t z = 0;            ///< 11 bits
  std::uint32_t pitch = 1;        ///< 1 .. 2^19
  std::uint32_t slice_pitch = 1;  ///< 1 .. 2^28
  friend bool operator==(const WindowSide&, const WindowSide&) = default;
};

/// Linear sub-window copy of up to three dimensions.
struct CopyWindow {
  std::uint32_t element_log2 = 0;  ///< 0 .. 4: elements of 1 .. 16 bytes
  WindowSide src;
  WindowSide dst;
  std::uint32_t width = 1;   ///< 1 .. 2^14 elements
  std::uint32_t height = 1;  ///< 1 .. 2^14
  std::uint32_t depth = 1;   ///< 1 .. 2^11
  friend bool operator==(const CopyWindow&, const CopyWindow&) = default;
};

/// PRIVATE to Cortado, not supported by any real engine: dst += src element by element, for machines whose memory adds.
/// COPY with sub-opcode 0xf0; dword 0 has the element type in bits 27:24; the rest as CopyLinear (7 dwords).
struct CopyAdd {
  DType dtype = DType::f32;
  std::uint32_t bytes = 0;
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  friend bool operator==(const CopyAdd&, const CopyAdd&) = default;
};

/// PRIVATE, for machines with multicast packets: one source, two to eight destinations. COPY with sub-opcode 0xf1;
/// dword 0 has the number of destinations in bits 27:24; the rest as CopyLinear, followed by more destinations
/// (5 + 2 dwords per destination).
struct CopyMulticast {
  static constexpr std::uint32_t kMostDestinations = 8;
  std::uint32_t bytes = 0;
  std::uint64_t src = 0;
  std::uint32_t destinations = 0;
  std::array<std::uint64_t, kMostDestinations> dst{};  ///< entries beyond `destinations` are zero
  friend bool operator==(const CopyMulticast&, const CopyMulticast&) = default;
};

/// PRIVATE, for machines with fused packets: waits until the dword at `wait` is at least `reference`, copies, and adds
/// `value` to the 64 bits at `signal`, like the POLL_REGMEM, COPY and ATOMIC that it replaces. COPY with
/// sub-opcode 0xf2; bits 24 and 25 of dword 0 say whether it waits and signals; 14 dwords.
struct CopyFused {
  std::uint32_t bytes = 0;
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  bool waits = false;
  std::uint64_t wait = 0;  ///< dword aligned
  std::uint32_t reference = 0;
  bool signals = false;
  std::uint64_t signal = 0;  ///< 8-byte aligned
  std::uint64_t value = 0;
  friend bool operator==(const CopyFused&, const CopyFused&) = default;
};

/// PRIVATE, for machines with indirect packets: one copy of `bytes` for each entry of the list at `list`. An entry
/// is two 64-bit numbers, added to `src` and `dst` modulo 2^64. COPY with sub-opcode 0xf3; 9 dwords.
struct CopyList {
  std::uint32_t bytes = 0;
  std::uint32_t entries = 0;  ///< 1 .. 2^20
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  std::uint64_t list = 0;  ///< 8-byte aligned
  friend bool operator==(const CopyList&, const CopyList&) = default;
};

struct WriteLinear {
  std::uint64_t dst = 0;
  std::vector<std::uint32_t> data;  ///< 1 .. 2^20 dwords
  friend bool operator==(const WriteLinear&, const WriteLinear&) = default;
};

struct ConstFill {
  std::uint64_t dst = 0;
  std::uint32_t pattern = 0;
  std::uint32_t element_log2 = 2;  ///< 0 byte, 1 half word, 2 dword
  std::uint32_t elements = 0;      ///< decoded as (count >> element_log2) + 1, which accepts both encodings in use
  friend bool operator==(const ConstFill&, const ConstFill&) = default;
};

struct Fence {
  std::uint64_t address = 0;  ///< dword aligned
  std::uint32_t value = 0;
  friend bool operator==(const Fence&, const Fence&) = default;
};

struct Trap {
  std::uint32_t context = 0;  ///< 28 bits
  friend bool operator==(const Trap&, const Trap&) = default;
};

enum class PollFunction : std::uint8_t { always = 0, lt = 1, le = 2, eq = 3, ne = 4, ge = 5, gt = 6 };

/// 32-bit compare of (memory & mask) with the reference. Register polls are decoded but never executed here.
struct PollRegmem {
  bool memory = true;
  bool hdp_flush = false;
  PollFunction function = PollFunction::ge;
  std::uint64_t address = 0;
  std::uint32_t reference = 0;
  std::uint32_t mask = 0xffffffff;
  std::uint16_t interval = 4;
  std::uint16_t retry_count = 0xfff;  ///< 12 bits; 0xfff = forever
  friend bool operator==(const PollRegmem&, const PollRegmem&) = default;
};

inline constexpr std::uint8_t kAtomicAdd64 = 47;

struct Atomic {
  std::uint8_t operation = kAtomicAdd64;  ///< 7 bits, texture-cache numbering
  bool loop = false;
  std::uint64_t address = 0;
  std::uint64_t data = 0;
  std::uint64_t compare = 0;
  std::uint16_t loop_interval = 0;  ///< 13 bits
  friend bool operator==(const Atomic&, const Atomic&) = default;
};

enum class TimestampOp : std::uint8_t { set = 0, get_local = 1, get_global = 2 };

struct Timestamp {
  TimestampOp operation = TimestampOp::get_global;
  std::uint64_t address_or_value = 0;  ///< get: address, 8-byte aligned; set: the value
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

struct CondExe {
  std::uint64_t address = 0;
  std::uint32_t reference = 0;
  std::uint16_t exec_count = 0;  ///< 14 bits: number of following dwords that run only if memory equals the reference
  friend bool operator==(const CondExe&, const CondExe&) = default;
};

struct Indirect {
  std::uint8_t vmid = 0;
  std::uint64_t base = 0;    ///< 32-byte aligned
  std::uint32_t dwords = 0;  ///< 20 bits
  std::uint64_t context_save = 0;
  friend bool operator==(const Indirect&, const Indirect&) = default;
};

/// ROCr's fixed 6-dword packet that flushes the host data path.
struct HdpFlush {
  friend bool operator==(const HdpFlush&, const HdpFlush&) = default;
};

using Packet =
    std::variant<Nop, CopyLinear, CopyBroadcast, CopySwap, CopyWindow, CopyAdd, WriteLinear, ConstFill, Fence, Trap,
                 PollRegmem, Atomic, Timestamp, CondExe, Indirect, HdpFlush, CopyMulticast, CopyFused, CopyList>;

/// Dwords of the packet in the ring buffer.
std::size_t dwords(const Packet& packet);

/// Writes the packet at `out`, which has room for dwords(packet); returns the dwords written. The typed forms are for
/// the submission path. A packet without an encoding is a broken invariant (CHECK): use why_not_encodable first.
std::size_t encode(const Packet& packet, std::uint32_t* out);
std::size_t encode(const Nop& packet, std::uint32_t* out);
std::size_t encode(const CopyLinear& packet, std::uint32_t* out);
std::size_t encode(const CopyBroadcast& packet, std::uint32_t* out);
std::size_t encode(const CopySwap& packet, std::uint32_t* out);
std::size_t encode(const CopyWindow& packet, std::uint32_t* out);
std::size_t encode(const CopyAdd& packet, std::uint32_t* out);
std::size_t encode(const CopyMulticast& packet, std::uint32_t* out);
std::size_t encode(const CopyFused& packet, std::uint32_t* out);
std::size_t encode(const CopyList& packet, std::uint32_t* out);
std::size_t encode(const WriteLinear& packet, std::uint32_t* out);
std::size_t encode(const ConstFill& packet, std::uint32_t* out);
std::size_t encode(const Fence& packet, std::uint32_t* out);
std::size_t encode(const Trap& packet, std::uint32_t* out);
std::size_t encode(const PollRegmem& packet, std::uint32_t* out);
std::size_t encode(const Atomic& packet, std::uint32_t* out);
std::size_t encode(const Timestamp& packet, std::uint32_t* out);
std::size_t encode(const CondExe& packet, std::uint32_t* out);
std::size_t encode(const Indirect& packet, std::uint32_t* out);
std::size_t encode(const HdpFlush& packet, std::uint32_t* out);

/// Why the packet has no encoding ("bytes is 0", "a is not 64-byte aligned"); empty if it has one. Covers only the
/// packet format; the verifier checks limits of a machine (bytes per packet, the 32-byte rule of broadcast).
std::string why_not_encodable(const Packet& packet);

enum class DecodeErrorKind {
  truncated,  ///< the span ends inside the packet
  unknown_opcode,
  unknown_sub_opcode,
  /// A bit is set outside the fields of the structs above. Some of these bits change what the packet does (encryption,
  /// endian swap, cache policy), so a packet with any of them must not run as if the bit were not set.
  reserved_bits,
  misaligned,  ///< an address with low bits that the packet format requires to be zero
};

struct DecodeError {
  DecodeErrorKind kind{};
  std::uint32_t header = 0;       ///< dword 0
  std::size_t needed_dwords = 0;  ///< truncated: dwords of the whole packet
  std::uint64_t address = 0;      ///< misaligned: the address
  std::string message{};
};

struct Decoded {
  /// Builds the packet in place: moving a variant costs more than decoding.
  template <class P>
  Decoded(P&& decoded_packet, std::size_t size) : packet(std::forward<P>(decoded_packet)), dwords(size) {}

  Packet packet;
  std::size_t dwords;
};

/// The packet at the start of `ring`. Never reads past the span. A decoded packet encodes back to a packet that decodes
/// the same.
Expected<Decoded, DecodeError> decode(std::span<const std::uint32_t> ring);

/// "COPY linear 4096 B 0x7f1234567000 -> 0x7e0000001000"
std::string to_string(const Packet& packet);

}  // namespace cortado::sdma

// --- Packets of a program --------------------------------------------------------------------------------------------

namespace cortado::device {

/// One queue's packets of one iteration, as a GPU would receive them.
struct QueuePackets {
  QueueId queue;
  std::vector<std::uint32_t> dwords;
  /// start[i] = index of the first dword of the packet of command i; start.back() = dwords.size(). Commands that share
  /// a packet (Packing) have the same index.
  std::vector<std::uint32_t> start;
};

/// Packets of a program without a device, at addresses of a fixed layout, so that the bytes are reproducible: the
/// buffers of rank r are contiguous from 0x1000'0000'0000 * (r + 1), each aligned to the machine's allocation
/// alignment; signals from 0x0f00'0000'0000, 64 bytes apart; timestamp slots from 0x0e00'0000'0000, 32 bytes apart;
/// lists of addresses from 0x0d00'0000'0000.
Result<std::vector<QueuePackets>> encode_program(const VerifiedProgram& program);

}  // namespace cortado::device
