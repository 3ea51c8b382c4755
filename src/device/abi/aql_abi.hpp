// Packets of compute queues (AQL) and the signals they use, as bytes. Source: HSA Platform System Architecture 1.2 and
// the public headers hsa.h, amd_hsa_signal.h and hsa_ext_amd.h of ROCr.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cortado::device::aql {

enum class PacketType : std::uint8_t {
  vendor = 0,
  invalid = 1,
  kernel_dispatch = 2,
  barrier_and = 3,
  agent_dispatch = 4,
  barrier_or = 5,
};

/// AMD's packets of type vendor, distinguished by the byte after the header.
enum class VendorFormat : std::uint8_t { pm4 = 1, barrier_value = 2 };

enum class Condition : std::uint32_t { eq = 0, ne = 1, lt = 2, ge = 3 };

inline constexpr std::uint64_t kPacketBytes = 64;
inline constexpr std::size_t kDependencies = 5;

struct KernelDispatch {
  std::uint16_t header = 0;
  std::uint16_t setup = 0;
  std::uint16_t group_size[3] = {};
  std::uint16_t reserved0 = 0;
  std::uint32_t grid_size[3] = {};
  std::uint32_t private_bytes = 0;
  std::uint32_t group_bytes = 0;
  std::uint64_t kernel = 0;  ///< address of its descriptor; an offset to the code is 16 bytes into it
  std::uint64_t arguments = 0;
  std::uint64_t reserved1 = 0;
  std::uint64_t completion = 0;
};
static_assert(sizeof(KernelDispatch) == kPacketBytes && offsetof(KernelDispatch, kernel) == 32);

/// Barrier-AND and barrier-OR. Signals are addresses of Signal; 0: none.
struct Barrier {
  std::uint16_t header = 0;  ///< its low byte is the PacketType
  std::uint16_t reserved0 = 0;
  std::uint32_t reserved1 = 0;
  std::uint64_t dependencies[kDependencies] = {};
  std::uint64_t reserved2 = 0;
  std::uint64_t completion = 0;
};
static_assert(sizeof(Barrier) == kPacketBytes && offsetof(Barrier, completion) == 56);

/// Waits until (signal & mask) compares with the value.
struct BarrierValue {
  std::uint16_t header = 0;
  std::uint8_t format = 0;
  std::uint8_t reserved0 = 0;
  std::uint32_t reserved1 = 0;
  std::uint64_t signal = 0;
  std::int64_t value = 0;
  std::int64_t mask = 0;
  std::uint32_t condition = 0;
  std::uint32_t reserved2 = 0;
  std::uint64_t reserved3[2] = {};
  std::uint64_t completion = 0;
};
static_assert(sizeof(BarrierValue) == kPacketBytes && offsetof(BarrierValue, completion) == 56);

/// A buffer of commands for the command processor.
struct Pm4 {
  std::uint16_t header = 0;
  std::uint8_t format = 0;
  std::uint8_t reserved0 = 0;
  std::uint32_t jump = 0;  ///< the command INDIRECT_BUFFER
  std::uint32_t base_low = 0;
  std::uint32_t base_high = 0;
  std::uint32_t dwords = 0;  ///< in the low 20 bits
  std::uint32_t remaining = 0;
  std::uint32_t reserved[8] = {};
  std::uint64_t completion = 0;
};
static_assert(sizeof(Pm4) == kPacketBytes && offsetof(Pm4, completion) == 56);

inline constexpr std::uint32_t kPm4SizeMask = (1U << 20) - 1;
inline constexpr std::uint32_t kPm4Nop = 0x10;
inline constexpr std::uint32_t kPm4AcquireMem = 0x58;  ///< invalidates caches

struct Signal {
  std::int64_t kind = 0;
  std::int64_t value = 0;
  std::uint64_t mailbox = 0;  ///< address of a word that gets the event's id; 0: nobody sleeps on the signal
  std::uint32_t event_id = 0;
  std::uint32_t reserved0 = 0;
  std::uint64_t begin = 0;  ///< time stamps
  std::uint64_t end = 0;
  std::uint64_t reserved1[2] = {};
};
static_assert(sizeof(Signal) == 64 && offsetof(Signal, begin) == 32);

}  // namespace cortado::device::aql
