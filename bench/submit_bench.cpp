// What the host pays to put packets into a ring and to announce them.
#include <atomic>
#include <cstring>
#include <memory>

#include "cortado/packets.hpp"
#include "cortado/program.hpp"

#include "device/executor/ring_writer.hpp"
#include "device/executor/testing/recording_driver.hpp"
#include "ir/visit.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

constexpr std::uint64_t kRingBytes = 2 << 20;
constexpr std::uint32_t kRuns = 51;
constexpr std::uint32_t kFrames = 20'000;

/// Rings the doorbell as the driver of a real GPU does, before an engine that reads everything at once.
class DoorbellDriver final : public device::testing::RecordingDriver {
 public:
  DoorbellDriver() : RecordingDriver(kRingBytes) {}
  void ring_doorbell(device::SdmaQueue& q, std::uint64_t write_offset) override {
    std::atomic_thread_fence(std::memory_order_release);
    std::atomic_ref(*q.write_pointer).store(write_offset, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::atomic_ref(*q.doorbell).store(write_offset, std::memory_order_relaxed);
    read_pointer = write_offset;
  }
};

/// The packets of a queue of `copies` prelaunched copies of 128 bytes and one signal.
device::Frame frame_of(std::uint32_t copies) {
  ProgramBuilder p("submit", "bench", 1);
  const BufferId in = p.buffer("in", RankId{0}, 4_KiB, BufferRole::input);
  const BufferId out = p.buffer("out", RankId{0}, 4_KiB, BufferRole::output);
  const SignalId go = p.signal("go");
  const SignalId done = p.signal("done");
  const QueueId queue = p.dma_queue("dma", RankId{0}, EngineId{2});
  p.add(queue, Wait{go});
  for (std::uint32_t i = 0; i < copies; ++i) {
    p.add(queue, Copy{make_region(in, 0_B, 128_B), make_region(out, 0_B, 128_B)});
  }
  p.add(queue, Signal{done});
  Machine machine;
  return device::lower_queue(p.peek(), queue, device::fixed_layout(p.peek(), machine), signal_advances(p.peek()))
      .value();
}

/// Nanoseconds to write and announce a frame of `copies` copies.
double ns_per_frame(std::uint32_t copies) {
  DoorbellDriver driver;
  device::RingWriter writer(driver, driver.queue, QueueId{0}, frame_of(copies));
  std::uint64_t iteration = 0;
  return median_ns(kRuns,
                   [&] {
                     for (std::uint32_t i = 0; i < kFrames; ++i) writer.try_submit(++iteration, 0);
                   }) /
         kFrames;
}

/// Nanoseconds to encode a COPY and an ATOMIC from their fields straight into a ring.
double ns_per_encoded_packet() {
  std::vector<std::uint32_t> ring(kRingBytes / 4);
  std::uint64_t address = 0x7f0000000000;
  std::size_t at = 0;
  const double both = median_ns(kRuns, [&] {
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      if (at + 15 > ring.size()) at = 0;
      at += sdma::encode(sdma::CopyLinear{128, address, address + 4096}, ring.data() + at);
      sdma::Atomic atomic;
      atomic.address = address;
      atomic.data = 1;
      at += sdma::encode(atomic, ring.data() + at);
      address += 128;
    }
  });
  return both / kFrames / 2;
}

}  // namespace

std::vector<Row> submit_rows() {
  // A frame of n copies takes a + (n + 2) * b: one submission and n + 2 packets. Two sizes give both.
  constexpr std::uint32_t kSmall = 1;
  constexpr std::uint32_t kLarge = 65;
  const double small = ns_per_frame(kSmall);
  const double large = ns_per_frame(kLarge);
  const double packet = (large - small) / (kLarge - kSmall);
  const double submission = std::max(small - packet * (kSmall + 2), 0.0);
  return {{"packet: encode from fields into the ring", ns_per_encoded_packet(), "ns", 20, Better::lower},
          {"packet: replay of a prepared frame", packet, "ns", 20, Better::lower},
          {"submission: pointers and doorbell", submission, "ns", 50, Better::lower}};
}

}  // namespace cortado::bench
