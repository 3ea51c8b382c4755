#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/sdma/testing/golden.hpp"

namespace cortado::sdma {
namespace describe_test {

using golden::kD;
using golden::kD2;
using golden::kF;
using golden::kS;

TEST(Describe, EveryKindOfPacketIsOneReadableLine) {
  const std::vector<std::pair<Packet, const char*>> cases{
      {Nop{}, "NOP"},
      {Nop{7}, "NOP +7"},
      {CopyLinear{4096, kS, kD}, "COPY linear 4096 B 0x7f1234567000 -> 0x7e0000001000"},
      {CopyBroadcast{4096, kS, kD, kD2}, "COPY broadcast 4096 B 0x7f1234567000 -> 0x7e0000001000, 0x7c0000003000"},
      {CopySwap{4096, kD, kS}, "COPY swap 4096 B 0x7e0000001000 <-> 0x7f1234567000"},
      {CopyWindow{4, {.base = kS, .pitch = 256}, {.base = kD, .pitch = 512}, 64, 32, 1},
       "COPY window 64x32x1 of 16 B 0x7f1234567000 pitch 256 -> 0x7e0000001000 pitch 512"},
      {CopyWindow{0, {kS, 1, 2, 3, 256, 1024}, {.base = kD, .pitch = 512}, 64, 32, 2},
       "COPY window 64x32x2 of 1 B 0x7f1234567000 at (1, 2, 3) pitch 256 slice 1024 -> 0x7e0000001000 pitch 512"},
      {CopyAdd{DType::f32, 4096, kS, kD}, "COPY add f32 4096 B 0x7f1234567000 -> 0x7e0000001000 (private)"},
      {WriteLinear{kD, {0xcafe0001, 2}}, "WRITE 2 dwords -> 0x7e0000001000: cafe0001 00000002"},
      {WriteLinear{kD, {1, 2, 3, 4, 5}}, "WRITE 5 dwords -> 0x7e0000001000: 00000001 00000002 00000003 00000004 ..."},
      {ConstFill{kD, 0xdeadbeef, 2, 1024}, "CONST_FILL 1024 x 4 B of 0xdeadbeef -> 0x7e0000001000"},
      {Fence{kF, 0x11}, "FENCE 0x7d00aabbcc40 <- 0x11"},
      {Trap{0x2a}, "TRAP 0x2a"},
      {PollRegmem{.address = kF, .reference = 7}, "POLL memory 0x7d00aabbcc40 >= 0x7 interval 4"},
      {PollRegmem{false, true, PollFunction::eq, 0x800000004, 1, 0xff, 10, 5},
       "POLL register 0x800000004 & 0xff == 0x1 hdp_flush interval 10 retries 5"},
      {Atomic{.address = kF, .data = 1}, "ATOMIC add64 0x7d00aabbcc40 0x1"},
      {Atomic{0x48, true, kF, 1, 2, 3}, "ATOMIC cmpswap32 no return 0x7d00aabbcc40 0x1 compare 0x2 loop interval 3"},
      {Atomic{.operation = 0x39, .address = kF}, "ATOMIC dec64 0x7d00aabbcc40 0x0"},
      {Atomic{.operation = 1, .address = kF}, "ATOMIC op 0x1 0x7d00aabbcc40 0x0"},
      {Timestamp{TimestampOp::get_global, kF}, "TIMESTAMP global -> 0x7d00aabbcc40"},
      {Timestamp{TimestampOp::get_local, kF}, "TIMESTAMP local -> 0x7d00aabbcc40"},
      {Timestamp{TimestampOp::set, 5}, "TIMESTAMP set 0x5"},
      {CondExe{kF, 1, 7}, "COND_EXE next 7 dwords if 0x7d00aabbcc40 == 0x1"},
      {Indirect{.base = kS, .dwords = 16}, "INDIRECT 16 dwords at 0x7f1234567000 vmid 0"},
      {HdpFlush{}, "HDP flush"},
  };
  for (const auto& [packet, text] : cases) EXPECT_EQ(to_string(packet), text);
}

}  // namespace describe_test
}  // namespace cortado::sdma
