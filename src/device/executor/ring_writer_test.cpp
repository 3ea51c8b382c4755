#include "device/executor/ring_writer.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "cortado/packets.hpp"

#include "device/executor/testing/recording_driver.hpp"

namespace cortado::device {
namespace ring_writer_test {

using testing::RecordingDriver;

/// `dwords` dwords 100, 101, ... of which the first is 100 + 5 * iteration; two commands, the second from dword 2 on.
Frame frame_of(std::uint32_t dwords) {
  Frame frame;
  for (std::uint32_t i = 0; i < dwords; ++i) frame.dwords.push_back(100 + i);
  frame.start = {0, 2, dwords};
  frame.values = {{0, 100, 5}};
  return frame;
}

TEST(RingWriter, WritesTheFrameWithItsValuesAndRingsOnce) {
  RecordingDriver driver(64);
  RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(5));
  ASSERT_TRUE(writer.try_submit(0, 0));
  ASSERT_TRUE(writer.try_submit(1, 0));
  EXPECT_EQ(driver.doorbells, (std::vector<std::uint64_t>{20, 40}));
  EXPECT_EQ(driver.dword(0), 100U);
  EXPECT_EQ(driver.dword(20), 105U);
  EXPECT_EQ(driver.dword(24), 101U);
}

TEST(RingWriter, PatchesSlotsAddresses) {
  RecordingDriver driver(64);
  Frame frame = frame_of(5);
  frame.slots = {{3, 0x1'0000'0040}};
  RingWriter writer(driver, driver.queue, QueueId{0}, std::move(frame));
  ASSERT_TRUE(writer.try_submit(0, 0x100));
  EXPECT_EQ(driver.dword(12), 0x140U);
  EXPECT_EQ(driver.dword(16), 0x1U);
}

// Three frames of 20 bytes take 60 of 64. The fourth starts the next lap at 64 and ends at 84; it may be written once
// 84 - read < 64, so after the engine has read 21 bytes or more. The 4 bytes of the tail become a NOP.
TEST(RingWriter, WaitsForTheEngineAndSkipsTheTail) {
  RecordingDriver driver(64);
  RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(5));
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(writer.try_submit(i, 0));
  EXPECT_FALSE(writer.try_submit(3, 0));
  driver.read_pointer = 20;
  EXPECT_FALSE(writer.try_submit(3, 0));
  EXPECT_EQ(driver.dword(60), 0xffffffffU) << "nothing is written before there is room";
  driver.read_pointer = 24;
  EXPECT_TRUE(writer.try_submit(3, 0));
  EXPECT_EQ(driver.doorbells.back(), 84U);
  EXPECT_EQ(driver.dword(60), 0U);
  EXPECT_EQ(driver.dword(64), 115U);
}

// A frame of 40 bytes at offset 40 of 64: tail 24 + frame 40 = 64 is more than a ring can ever hold. The tail is
// announced alone; the frame follows when the engine has passed offset 41.
TEST(RingWriter, AnnouncesTheTailAloneWhereTailAndFrameNeverFitTogether) {
  RecordingDriver driver(64);
  RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(10));
  ASSERT_TRUE(writer.try_submit(0, 0));
  EXPECT_FALSE(writer.try_submit(1, 0));
  EXPECT_EQ(driver.doorbells, (std::vector<std::uint64_t>{40})) << "64 - 0 < 64 does not hold yet";
  driver.read_pointer = 40;
  EXPECT_FALSE(writer.try_submit(1, 0));
  EXPECT_EQ(driver.doorbells, (std::vector<std::uint64_t>{40, 64}));
  driver.read_pointer = 64;
  EXPECT_TRUE(writer.try_submit(1, 0));
  EXPECT_EQ(driver.doorbells.back(), 104U);
  EXPECT_EQ(driver.dword(64), 105U);
}

TEST(RingWriter, DrainsWithAnAtomicBehindTheFrames) {
  RecordingDriver driver(64);
  RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(5));
  ASSERT_TRUE(writer.try_submit(0, 0));
  std::uint64_t word = 0;
  ASSERT_TRUE(writer.try_submit_drain(&word));
  EXPECT_EQ(driver.doorbells.back(), 52U);
  std::array<std::uint32_t, 8> dwords{};
  for (std::uint32_t i = 0; i < 8; ++i) dwords[i] = driver.dword(20 + 4 * i);
  const auto decoded = sdma::decode(dwords);
  ASSERT_TRUE(decoded);
  const auto& atomic = std::get<sdma::Atomic>(decoded->packet);
  EXPECT_EQ(atomic.address, reinterpret_cast<std::uint64_t>(&word));
  EXPECT_EQ(atomic.data, 1U);
}

/// Submits frame after frame with an engine that reads immediately, and checks every offset of the last frames.
void expect_locates(std::uint64_t ring_bytes, std::uint32_t dwords, std::uint64_t drains) {
  RecordingDriver driver(ring_bytes);
  RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(dwords));
  std::uint64_t word = 0;
  for (std::uint64_t i = 0; i < drains; ++i) {
    while (!writer.try_submit_drain(&word)) driver.read_pointer = writer.announced();
    driver.read_pointer = writer.announced();
  }
  writer.begin_batch();
  for (std::uint64_t iteration = 0; iteration < 40; ++iteration) {
    while (!writer.try_submit(iteration, 0)) driver.read_pointer = writer.announced();
    driver.read_pointer = writer.announced();
    const std::uint64_t start = writer.announced() - dwords * 4;
    for (std::uint32_t dword = 0; dword < dwords; ++dword) {
      const auto place = writer.locate(start + dword * 4);
      ASSERT_TRUE(place) << iteration << " dword " << dword;
      EXPECT_EQ(place->iteration, iteration);
      EXPECT_EQ(place->command, dword < 2 ? 0U : 1U);
    }
    EXPECT_FALSE(writer.locate(writer.announced())) << "nothing stands there yet";
  }
}

TEST(RingWriter, LocatesTheCommandAtAnOffsetAcrossLapsAndBatches) {
  expect_locates(64, 5, 0);
  expect_locates(64, 5, 1);
  expect_locates(64, 8, 3);
  expect_locates(64, 10, 1);
  expect_locates(128, 15, 7);
}

}  // namespace ring_writer_test
}  // namespace cortado::device
