// Costs of the embedded node: submission, a small all-gather's worth of packets, and large copies against plain memcpy.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "cortado/packets.hpp"

#include "device/soft/soft.hpp"

namespace cortado::device {
namespace {

constexpr std::uint32_t kGpus = 8;
constexpr std::uint64_t kRingBytes = 1 << 16;

Machine bench_machine() {
  Machine machine;
  machine.name = "bench";
  machine.gpus = kGpus;
  for (std::uint32_t id = 0; id < 16; ++id) machine.engines.push_back({EngineId{id}, EngineClass::peer, true});
  machine.dma.queues_per_engine = 8;
  machine.features = {true, true, false};
  return machine;
}

/// A queue whose packets are written as the executor does: never across the end of the ring.
struct Sender {
  SdmaQueue* queue = nullptr;
  std::uint64_t written = 0;

  template <class Packet>
  void push(const Packet& packet) {
    auto* out = reinterpret_cast<std::uint32_t*>(queue->ring + written % kRingBytes);
    written += sdma::encode(packet, out) * sizeof(std::uint32_t);
  }
  /// Zero dwords are NOPs: fills the ring's tail if less than `bytes` are left of it.
  void reserve(std::uint64_t bytes) {
    const std::uint64_t place = written % kRingBytes;
    if (kRingBytes - place >= bytes) return;
    std::memset(queue->ring + place, 0, kRingBytes - place);
    written += kRingBytes - place;
  }
};

/// All pairs of GPUs, one queue a pair, as the plain all-gather uses them: copy a block, raise the receiver's counter.
class PairwiseCopies {
 public:
  PairwiseCopies(std::uint64_t block_bytes, std::optional<std::uint32_t> workers) : block_bytes_(block_bytes) {
    SoftOptions options;
    options.workers = workers;
    driver_ = std::move(*open_soft_node(bench_machine(), kGpus, options));
    for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      buffers_.push_back(*driver_->allocate({RankId{gpu}, {block_bytes * kGpus}, {4096}}));
      std::memset(buffers_.back().data, static_cast<int>(gpu), block_bytes * kGpus);
      signals_.push_back(*driver_->allocate({RankId{gpu}, {4096}, {4096}}));
    }
    for (std::uint32_t src = 0; src < kGpus; ++src) {
      for (std::uint32_t dst = 0; dst < kGpus; ++dst) {
        if (src == dst) continue;
        senders_.push_back({*driver_->create_sdma_queue({RankId{src}, EngineId{dst}, {kRingBytes}}), 0});
      }
    }
  }
  ~PairwiseCopies() {
    for (const Sender& sender : senders_) driver_->destroy(sender.queue);
  }

  Driver& driver() { return *driver_; }
  std::uint64_t bytes() const { return block_bytes_ * kGpus * (kGpus - 1); }

  void submit() {
    std::size_t next = 0;
    for (std::uint32_t src = 0; src < kGpus; ++src) {
      for (std::uint32_t dst = 0; dst < kGpus; ++dst) {
        if (src == dst) continue;
        Sender& sender = senders_[next++];
        sender.reserve(64);
        sender.push(sdma::CopyLinear{static_cast<std::uint32_t>(block_bytes_),
                                     buffers_[src].address() + src * block_bytes_,
                                     buffers_[dst].address() + src * block_bytes_});
        sender.push(sdma::Atomic{sdma::kAtomicAdd64, false, signals_[dst].address(), 1, 0, 0});
        driver_->ring_doorbell(*sender.queue, sender.written);
      }
    }
    ++rounds_;
  }

  void wait() {
    for (const Memory& signal : signals_) {
      const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(signal.data));
      while (word.load(std::memory_order_acquire) < rounds_ * (kGpus - 1)) driver_->assist();
    }
  }

 private:
  std::uint64_t block_bytes_;
  std::unique_ptr<Driver> driver_;
  std::vector<Memory> buffers_;
  std::vector<Memory> signals_;
  std::vector<Sender> senders_;
  std::uint64_t rounds_ = 0;
};

/// 56 queues, each COPY 128 B + ATOMIC, 56 doorbells, until all counters are there. Argument: worker threads.
void small_all_gather(benchmark::State& state) {
  PairwiseCopies copies(128, static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    copies.submit();
    copies.wait();
  }
}
BENCHMARK(small_all_gather)->Arg(0)->Arg(1)->ArgName("workers")->Unit(benchmark::kMicrosecond)->UseRealTime();

/// One packet, one doorbell, one look until it is done: the shortest way there and back.
void one_packet(benchmark::State& state) {
  SoftOptions options;
  options.workers = 0;
  const auto driver = std::move(*open_soft_node(bench_machine(), 1, options));
  const Memory memory = *driver->allocate({RankId{0}, {4096}, {4096}});
  Sender sender{*driver->create_sdma_queue({RankId{0}, EngineId{0}, {kRingBytes}}), 0};
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(memory.data));
  std::uint64_t sent = 0;
  for (auto _ : state) {
    sender.reserve(32);
    sender.push(sdma::Atomic{sdma::kAtomicAdd64, false, memory.address(), 1, 0, 0});
    driver->ring_doorbell(*sender.queue, sender.written);
    ++sent;
    while (word.load(std::memory_order_acquire) < sent) driver->assist();
  }
}
BENCHMARK(one_packet);

/// Engine time of a packet in a long row of COPY 128 B + ATOMIC on one queue.
void packet_execution(benchmark::State& state) {
  constexpr std::uint64_t kPairs = 512;
  SoftOptions options;
  options.workers = 0;
  const auto driver = std::move(*open_soft_node(bench_machine(), 1, options));
  const Memory memory = *driver->allocate({RankId{0}, {8192}, {4096}});
  Sender sender{*driver->create_sdma_queue({RankId{0}, EngineId{0}, {kRingBytes}}), 0};
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(memory.data));
  std::uint64_t sent = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      sender.reserve(64);
      sender.push(sdma::CopyLinear{128, memory.address() + 1024, memory.address() + 4096});
      sender.push(sdma::Atomic{sdma::kAtomicAdd64, false, memory.address(), 1, 0, 0});
    }
    sent += kPairs;
    state.ResumeTiming();
    driver->ring_doorbell(*sender.queue, sender.written);
    while (word.load(std::memory_order_acquire) < sent) driver->assist();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sent * 2));
}
BENCHMARK(packet_execution);

/// Ring write of COPY + ATOMIC and the doorbell, while nothing is executed.
void submission(benchmark::State& state) {
  PairwiseCopies copies(128, 0);
  for (auto _ : state) {
    copies.submit();
    state.PauseTiming();
    copies.wait();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kGpus * (kGpus - 1));
}
BENCHMARK(submission)->Unit(benchmark::kMicrosecond);

/// Large copies through engines. Arguments: MiB of the whole gathered buffer, worker threads.
void large_all_gather(benchmark::State& state) {
  PairwiseCopies copies((static_cast<std::uint64_t>(state.range(0)) << 20) / kGpus,
                        static_cast<std::uint32_t>(state.range(1)));
  for (auto _ : state) {
    copies.submit();
    copies.wait();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(copies.bytes()));
}
BENCHMARK(large_all_gather)
    ->ArgsProduct({{64, 256}, {0, 1}})
    ->ArgNames({"MiB", "workers"})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

/// The same bytes with memcpy, divided among as many threads. Arguments as above.
void large_memcpy(benchmark::State& state) {
  const std::uint64_t block = (static_cast<std::uint64_t>(state.range(0)) << 20) / kGpus;
  const auto threads = static_cast<std::uint32_t>(state.range(1)) + 1;
  SoftOptions options;
  options.workers = 0;
  const auto driver = std::move(*open_soft_node(bench_machine(), kGpus, options));
  std::vector<Memory> buffers;
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
    buffers.push_back(*driver->allocate({RankId{gpu}, {block * kGpus}, {4096}}));
    std::memset(buffers.back().data, static_cast<int>(gpu), block * kGpus);
  }
  for (auto _ : state) {
    std::vector<std::thread> pool;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      pool.emplace_back([&, thread] {
        std::uint32_t pair = 0;
        for (std::uint32_t src = 0; src < kGpus; ++src) {
          for (std::uint32_t dst = 0; dst < kGpus; ++dst) {
            if (src == dst || pair++ % threads != thread) continue;
            std::memcpy(buffers[dst].data + src * block, buffers[src].data + src * block, block);
          }
        }
      });
    }
    for (std::thread& thread : pool) thread.join();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(block * kGpus * (kGpus - 1)));
}
BENCHMARK(large_memcpy)
    ->ArgsProduct({{64, 256}, {0, 1}})
    ->ArgNames({"MiB", "workers"})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace cortado::device

BENCHMARK_MAIN();
