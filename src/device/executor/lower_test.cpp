#include "device/executor/lower.hpp"

#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "device/executor/preparation.hpp"
#include "ir/engine_signals.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace lower_test {

using Dwords = std::vector<std::uint32_t>;

// Addresses of the golden vectors: source S, destinations D and D2, signal F, slot T.
constexpr std::uint64_t kS = 0x00007f1234567000;
constexpr std::uint64_t kD = 0x00007e0000001000;
constexpr std::uint64_t kD2 = 0x00007c0000003000;
constexpr std::uint64_t kF = 0x00007d00aabbcc40;
constexpr std::uint64_t kT = 0x00007b0000000040;

/// One dma queue over three buffers s, d, d2 and one signal f.
struct OneQueue {
  OneQueue() : builder("test", "test", 1) {
    s = builder.buffer("s", RankId{0}, 16_MiB, BufferRole::input);
    d = builder.buffer("d", RankId{0}, 16_MiB, BufferRole::output);
    d2 = builder.buffer("d2", RankId{0}, 16_MiB, BufferRole::output);
    f = builder.signal("f");
    queue = builder.dma_queue("dma", RankId{0}, EngineId{2});
  }
  Result<Frame> lower(LowerOptions options = {}) const {
    const AddressMap addresses{{kS, kD, kD2}, {kF}, {kT}, {}};
    return lower_queue(builder.peek(), queue, addresses, signal_advances(builder.peek()), options);
  }
  static Region all(BufferId buffer, Bytes bytes) { return make_region(buffer, 0_B, bytes); }

  ProgramBuilder builder;
  BufferId s, d, d2;
  SignalId f;
  QueueId queue;
};

TEST(Lower, CopyBroadcastSwapAreTheGoldenVectors) {
  OneQueue q;
  q.builder.add(q.queue, Copy{OneQueue::all(q.s, 4_KiB), OneQueue::all(q.d, 4_KiB)})
      .add(q.queue, Broadcast{OneQueue::all(q.s, 4_KiB), OneQueue::all(q.d, 4_KiB), OneQueue::all(q.d2, 4_KiB)})
      .add(q.queue, Swap{OneQueue::all(q.d, 4_KiB), OneQueue::all(q.s, 4_KiB)});
  const auto frame = q.lower();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->dwords,
            (Dwords{0x00000001, 0x00000fff, 0,          0x34567000, 0x00007f12, 0x00001000, 0x00007e00,  //
                    0x08000001, 0x00000fff, 0,          0x34567000, 0x00007f12, 0x00001000, 0x00007e00, 0x00003000,
                    0x00007c00, 0x00000901, 0x00000fff, 0,          0x00001000, 0x00007e00, 0x34567000, 0x00007f12}));
  EXPECT_EQ(frame->start, (Dwords{0, 7, 16, 23}));
  EXPECT_TRUE(frame->values.empty());
}

// Rows of 1024 bytes = 64 elements of 16; pitches 4096 and 8192 bytes = 256 and 512 elements.
TEST(Lower, RowsBecomeASubWindowOfTheLargestElement) {
  OneQueue q;
  q.builder.add(q.queue, Copy{{q.s, 0_B, 1_KiB, 32, 4_KiB}, {q.d, 0_B, 1_KiB, 32, 8_KiB}});
  EXPECT_EQ(q.lower()->dwords, (Dwords{0x80000401, 0x34567000, 0x00007f12, 0, 0x001fe000, 0, 0x00001000, 0x00007e00, 0,
                                       0x003fe000, 0, 0x001f003f, 0}));
}

// Offset 6 = 4 + 2: elements of 2 bytes (log2 1), base 4 higher, x = 1. Width 10 bytes = 5 elements; pitch 20 bytes =
// 10 elements: (10 - 1) << 13 = 0x12000; 3 rows: (3 - 1) << 16.
TEST(Lower, OffsetsInsideADwordGoIntoX) {
  OneQueue q;
  q.builder.add(q.queue, Copy{{q.s, 6_B, 10_B, 3, 20_B}, {q.d, 0_B, 10_B, 3, 20_B}});
  EXPECT_EQ(q.lower()->dwords, (Dwords{0x20000401, 0x34567004, 0x00007f12, 1, 0x00012000, 0, 0x00001000, 0x00007e00, 0,
                                       0x00012000, 0, 0x00020004, 0}));
}

TEST(Lower, AddCopiesHaveOnePacketARow) {
  OneQueue q;
  q.builder.add(q.queue, Copy{{q.s, 0_B, 64_B, 2, 128_B}, {q.d, 0_B, 64_B, 2, 256_B}, CopyOp::add, DType::f32});
  const auto frame = q.lower();
  EXPECT_EQ(frame->dwords, (Dwords{0x0400f001, 63, 0, 0x34567000, 0x00007f12, 0x00001000, 0x00007e00,  //
                                   0x0400f001, 63, 0, 0x34567080, 0x00007f12, 0x00001100, 0x00007e00}));
  EXPECT_EQ(frame->start, (Dwords{0, 14}));
}

// The signal gets 3 + 4 = 7 per iteration. A poll for 7 is at dword 0, its reference at dword 3.
TEST(Lower, WaitsPollTheLowWordAndMoveWithTheIteration) {
  OneQueue q;
  q.builder.add(q.queue, Wait{q.f, 7})
      .add(q.queue, Signal{q.f, 3})
      .add(q.queue, Signal{q.f, 4})
      .add(q.queue, Wait{q.f, 5, Compare::eq});
  const auto frame = q.lower();
  EXPECT_EQ(frame->dwords, (Dwords{0xd0000008, 0xaabbcc40, 0x00007d00, 7, 0xffffffff, 0x0fff0004,        //
                                   0x5e00000a, 0xaabbcc40, 0x00007d00, 3, 0,          0,          0, 0,  //
                                   0x5e00000a, 0xaabbcc40, 0x00007d00, 4, 0,          0,          0, 0,  //
                                   0xb0000008, 0xaabbcc40, 0x00007d00, 5, 0xffffffff, 0x0fff0004}));
  ASSERT_EQ(frame->values.size(), 2U) << "adds need no patch";
  EXPECT_EQ(frame->values[0].dword, 3U);
  EXPECT_EQ(frame->values[0].value, 7U);
  EXPECT_EQ(frame->values[0].advance, 7U);
  EXPECT_EQ(frame->values[1].dword, 25U);
}

TEST(Lower, SettingASignalIsAFenceThatMovesWithTheIteration) {
  OneQueue q;
  q.builder.add(q.queue, Signal{q.f, 0x11, SignalOp::set});
  const auto frame = q.lower();
  EXPECT_EQ(frame->dwords, (Dwords{0x00000005, 0xaabbcc40, 0x00007d00, 0x11}));
  ASSERT_EQ(frame->values.size(), 1U);
  EXPECT_EQ(frame->values[0].dword, 3U);
  EXPECT_EQ(frame->values[0].advance, 0x11U);
}

TEST(Lower, TimestampsWriteTheSlotOfTheirCommand) {
  OneQueue q;
  q.builder.add(q.queue, Signal{q.f}).add(q.queue, Timestamp{"done"});
  const auto frame = q.lower();
  EXPECT_EQ(Dwords(frame->dwords.begin() + 8, frame->dwords.end()), (Dwords{0x0000020d, 0x00000060, 0x00007b00}));
  EXPECT_TRUE(frame->slots.empty());
}

// Slots: T + 0 before the signal, T + 32 the Timestamp itself, T + 64 after the last.
TEST(Lower, TracingPutsAStampBeforeEveryCommandAndBehindTheLast) {
  OneQueue q;
  q.builder.add(q.queue, Signal{q.f}).add(q.queue, Timestamp{"done"});
  const auto frame = q.lower({true});
  EXPECT_EQ(frame->dwords, (Dwords{0x0000020d, 0x00000040, 0x00007b00,                 //
                                   0x5e00000a, 0xaabbcc40, 0x00007d00, 1, 0, 0, 0, 0,  //
                                   0x0000020d, 0x00000060, 0x00007b00,                 //
                                   0x0000020d, 0x00000080, 0x00007b00}));
  EXPECT_EQ(frame->start, (Dwords{0, 11, 17}));
  ASSERT_EQ(frame->slots.size(), 3U);
  EXPECT_EQ(frame->slots[1].dword, 12U);
  EXPECT_EQ(frame->slots[1].address, kT + 32);
}

TEST(Lower, RefusesWhatHasNoPacket) {
  OneQueue q;
  q.builder.add(q.queue, Copy{OneQueue::all(q.s, 0_B), OneQueue::all(q.d, 0_B)});
  const auto empty = q.lower();
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, "device.encode");
  EXPECT_EQ(empty.error().place.queue, "dma");
  EXPECT_EQ(empty.error().place.command, 0U);

  OneQueue kernel;
  kernel.builder.add(kernel.queue, Kernel{KernelOp::reduce, {}, OneQueue::all(kernel.d, 4_B)});
  EXPECT_EQ(kernel.lower().error().code, "device.encode");
}

TEST(FixedLayout, SpreadsRanksSignalsAndSlots) {
  ProgramBuilder builder("layout", "test", 2);
  builder.buffer("a", RankId{0}, 5000_B, BufferRole::input);
  builder.buffer("b", RankId{1}, 1_B, BufferRole::input);
  builder.buffer("c", RankId{0}, 1_B, BufferRole::input);
  builder.signal("x");
  builder.signal("y");
  builder.host_queue("host");
  const QueueId first = builder.dma_queue("first", RankId{0}, EngineId{2});
  builder.dma_queue("second", RankId{1}, EngineId{2});
  builder.add(first, Signal{SignalId{0}});
  Machine machine;
  machine.allocation_alignment = 4096_B;
  const AddressMap map = fixed_layout(builder.peek(), machine);
  // 5000 bytes take two pages of 4096.
  EXPECT_EQ(map.buffers, (std::vector<std::uint64_t>{0x1000'0000'0000, 0x2000'0000'0000, 0x1000'0000'2000}));
  EXPECT_EQ(map.signals, (std::vector<std::uint64_t>{0x0f00'0000'0000, 0x0f00'0000'0040}));
  // The first device queue has one command and so two slots of 32 bytes.
  EXPECT_EQ(map.slots[1], 0x0e00'0000'0000U);
  EXPECT_EQ(map.slots[2], 0x0e00'0000'0040U);
}

/// A host adds; an engine, or the host itself, waits.
Program counting(std::uint64_t add, std::uint64_t wait, QueueKind waiter = QueueKind::dma) {
  ProgramBuilder builder("counting", "test", 1);
  const SignalId f = builder.signal("f");
  const QueueId host = builder.host_queue("host");
  const QueueId dma = builder.dma_queue("dma", RankId{0}, EngineId{0});
  builder.add(host, Signal{f, add}).add(waiter == QueueKind::dma ? dma : host, Wait{f, wait});
  return std::move(builder).finish();
}

std::uint64_t batch_of(const Program& program) {
  const auto iterations = batch_iterations(program, signal_advances(program));
  return iterations ? *iterations : 0;
}

// 2^31 - 1 = 2147483647 = 7 * 306783378 + 1.
TEST(BatchIterations, KeepCountersBelowTwoToThe31) {
  EXPECT_EQ(batch_of(counting(7, 7)), 306783378U);
  EXPECT_EQ(batch_of(counting(7, 1)), 306783378U) << "the counter itself counts, too";
  EXPECT_EQ(batch_of(counting(1ULL << 30, 1)), 1U);
  EXPECT_EQ(batch_of(counting(1, kMaxEngineCounter)), 1U);
  EXPECT_EQ(batch_of(counting(0, 0)), ~std::uint64_t{0});
}

TEST(BatchIterations, CountersOfTheHostHave64Bits) {
  // (2^63 - 1 - 2^40) / 2^40 + 1 = 2^23 - 1 (rounded down): 8388607 iterations.
  EXPECT_EQ(batch_of(counting(1ULL << 40, 1ULL << 40, QueueKind::host)), 8388607U);
}

TEST(BatchIterations, RefuseASignalThatNoPollCanSee) {
  const Program program = counting(1ULL << 31, 1);
  const auto iterations = batch_iterations(program, signal_advances(program));
  ASSERT_FALSE(iterations);
  EXPECT_EQ(iterations.error().code, "device.counter");
}

}  // namespace lower_test
}  // namespace cortado::device
