// Golden vectors of the packets, for tests: each was derived twice, from the field offsets of the Linux driver's
// packet header and from ROCr's bit-fields, and the two agree bit for bit (swap: ROCr only; the private packets:
// ours).
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/packets.hpp"

namespace cortado::sdma::golden {

inline constexpr std::uint64_t kS = 0x00007f1234567000;
inline constexpr std::uint64_t kD = 0x00007e0000001000;
inline constexpr std::uint64_t kD2 = 0x00007c0000003000;
inline constexpr std::uint64_t kF = 0x00007d00aabbcc40;

struct Vector {
  const char* name;
  Packet packet;
  std::vector<std::uint32_t> dwords;
};

/// At least one vector for every kind of packet.
inline std::vector<Vector> vectors() {
  const auto poll = [](PollFunction function) {
    return PollRegmem{.function = function, .address = kF, .reference = 7};
  };
  // 32 rows of 64 elements of 16 bytes; pitches 256 and 512 elements: 255 << 13 and 511 << 13.
  const CopyWindow window{.element_log2 = 4,
                          .src = {.base = kS, .pitch = 256},
                          .dst = {.base = kD, .pitch = 512},
                          .width = 64,
                          .height = 32};
  return {
      {"nop", Nop{}, {0}},
      {"nop_block", Nop{7}, {0x00070000, 0, 0, 0, 0, 0, 0, 0}},
      {"copy_4KiB",
       CopyLinear{4096, kS, kD},
       {0x00000001, 0x00000fff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00}},
      {"copy_16MiB",
       CopyLinear{16 << 20, kS, kD},
       {0x00000001, 0x00ffffff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00}},
      {"broadcast",
       CopyBroadcast{4096, kS, kD, kD2},
       {0x08000001, 0x00000fff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00, 0x00003000, 0x00007c00}},
      {"swap", CopySwap{4096, kD, kS}, {0x00000901, 0x00000fff, 0, 0x00001000, 0x00007e00, 0x34567000, 0x00007f12}},
      {"window",
       window,
       {0x80000401, 0x34567000, 0x00007f12, 0, 0x001fe000, 0, 0x00001000, 0x00007e00, 0, 0x003fe000, 0, 0x001f003f, 0}},
      // DType::f32 is number 4, in bits 27:24.
      {"add",
       CopyAdd{DType::f32, 4096, kS, kD},
       {0x0400f001, 0x00000fff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00}},
      {"multicast",
       CopyMulticast{4096, kS, 3, {kD, kD2, kF}},
       {0x0300f101, 0x00000fff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00, 0x00003000, 0x00007c00, 0xaabbcc40,
        0x00007d00}},
      {"fused",
       CopyFused{4096, kS, kD, true, kF, 7, true, kD2, 1},
       {0x0300f201, 0x00000fff, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00, 0xaabbcc40, 0x00007d00, 7,
        0x00003000, 0x00007c00, 1, 0}},
      {"list",
       CopyList{4096, 2048, kS, kD, kD2},
       {0x0000f301, 0x00000fff, 0x000007ff, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00, 0x00003000, 0x00007c00}},
      {"write",
       WriteLinear{kD, {0xcafe0001, 0xcafe0002}},
       {0x00000002, 0x00001000, 0x00007e00, 0x00000001, 0xcafe0001, 0xcafe0002}},
      {"const_fill", ConstFill{kD, 0xdeadbeef, 2, 1024}, {0x8000000b, 0x00001000, 0x00007e00, 0xdeadbeef, 0x00000fff}},
      {"fence", Fence{kF, 0x11223344}, {0x00000005, 0xaabbcc40, 0x00007d00, 0x11223344}},
      {"trap", Trap{0x2a}, {0x00000006, 0x0000002a}},
      {"poll_eq", poll(PollFunction::eq), {0xb0000008, 0xaabbcc40, 0x00007d00, 7, 0xffffffff, 0x0fff0004}},
      {"poll_ge", poll(PollFunction::ge), {0xd0000008, 0xaabbcc40, 0x00007d00, 7, 0xffffffff, 0x0fff0004}},
      {"atomic_increment", Atomic{.address = kF, .data = 1}, {0x5e00000a, 0xaabbcc40, 0x00007d00, 1, 0, 0, 0, 0}},
      {"atomic_decrement",
       Atomic{.address = kF, .data = ~std::uint64_t{0}},
       {0x5e00000a, 0xaabbcc40, 0x00007d00, 0xffffffff, 0xffffffff, 0, 0, 0}},
      {"timestamp", Timestamp{TimestampOp::get_global, kF}, {0x0000020d, 0xaabbcc40, 0x00007d00}},
      {"cond_exe", CondExe{kF, 1, 7}, {0x00000009, 0xaabbcc40, 0x00007d00, 1, 7}},
      {"indirect", Indirect{.base = kS, .dwords = 16}, {0x00000004, 0x34567000, 0x00007f12, 0x10, 0, 0}},
      {"hdp_flush", HdpFlush{}, {0x00000008, 0x00000000, 0x80000000, 0, 0, 0}},
  };
}

}  // namespace cortado::sdma::golden
