// The packet sizes and limits in the machine files are those of the encoder.
#include <gtest/gtest.h>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "device/sdma/rules.hpp"

namespace cortado::sdma {
namespace machine_limits_test {

TEST(MachineLimits, PacketsTakeTheDwordsTheMachineFilesSay) {
  for (const std::string& name : machine_names()) {
    const auto machine = load_machine(name);
    ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
    const DmaLimits& dma = machine->dma;
    EXPECT_EQ(dma.copy_dwords, dwords(CopyLinear{})) << name;
    EXPECT_EQ(dma.broadcast_dwords, dwords(CopyBroadcast{})) << name;
    EXPECT_EQ(dma.swap_dwords, dwords(CopySwap{})) << name;
    EXPECT_EQ(dma.window_dwords, dwords(CopyWindow{})) << name;
    EXPECT_EQ(dma.poll_dwords, dwords(PollRegmem{})) << name;
    EXPECT_EQ(dma.atomic_dwords, dwords(Atomic{})) << name;
    EXPECT_EQ(dma.fence_dwords, dwords(Fence{})) << name;
    EXPECT_EQ(dma.timestamp_dwords, dwords(Timestamp{})) << name;
    if (machine->features.near_memory_compute) {
      EXPECT_EQ(dma.add_copy_dwords, dwords(CopyAdd{})) << name;
    }
  }
}

// A program within the limits of its machine must never contain a packet without an encoding.
TEST(MachineLimits, TheLargestPacketsOfTheMachinesHaveAnEncoding) {
  for (const std::string& name : machine_names()) {
    const auto machine = load_machine(name);
    ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
    const DmaLimits& dma = machine->dma;
    const auto copy_bytes = static_cast<std::uint32_t>(dma.max_copy_bytes.value);
    const auto swap_bytes = static_cast<std::uint32_t>(dma.max_swap_bytes.value);
    const auto extent = static_cast<std::uint32_t>(dma.max_window_elements);
    const auto pitch = static_cast<std::uint32_t>(dma.max_pitch_elements);
    EXPECT_EQ(why_not_encodable(CopyLinear{.bytes = copy_bytes}), "") << name;
    EXPECT_EQ(why_not_encodable(CopyBroadcast{.bytes = copy_bytes}), "") << name;
    EXPECT_EQ(why_not_encodable(
                  CopyWindow{.src = {.pitch = pitch}, .dst = {.pitch = pitch}, .width = extent, .height = extent}),
              "")
        << name;
    if (machine->features.swap) {
      EXPECT_EQ(why_not_encodable(CopySwap{.bytes = swap_bytes}), "") << name;
      EXPECT_EQ(dma.swap_alignment.value % kSwapAlignment, 0U) << name;
    }
  }
}

}  // namespace machine_limits_test
}  // namespace cortado::sdma
