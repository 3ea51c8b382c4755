// What the caller of proved programs pays: persistent operations, replays, rebinding; and how near large ones are to
// memcpy.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/cores.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

constexpr std::uint32_t kRanks = 8;

/// Aligned memory of all ranks.
struct Spans {
  explicit Spans(std::size_t bytes) {
    constexpr std::size_t kAlignment = 4096;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      memory.emplace_back(bytes + kAlignment, std::byte{1});
      const auto start = reinterpret_cast<std::uintptr_t>(memory.back().data());
      spans.push_back(std::span(memory.back()).subspan(kAlignment - start % kAlignment, bytes));
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<std::byte>> spans;
};

CollectiveRequest gather_of(Bytes bytes, const char* variant) {
  return {.collective = "all-gather", .variant = variant, .bytes = bytes, .in_place = true};
}

std::uint64_t packets_of(const Program& program) {
  std::uint64_t packets = 0;
  for (const Queue& queue : program.queues) {
    if (queue.kind == QueueKind::dma) packets += queue.commands.size();
  }
  return packets;
}

/// Threads that are there before anything is timed: plain copies of the same bytes by as many as there are cores, the
/// caller one of them.
class Copiers {
 public:
  Copiers(const Spans& from, const Spans& to, std::uint64_t bytes) : from_(from), to_(to), bytes_(bytes) {
    for (std::uint32_t t = 1; t < threads_; ++t) workers_.emplace_back([this, t] { work(t); });
  }
  ~Copiers() {
    stop_ = true;
    round_.fetch_add(1);
    for (std::thread& worker : workers_) worker.join();
  }
  Copiers(const Copiers&) = delete;
  Copiers& operator=(const Copiers&) = delete;

  void copy_all() {
    left_ = threads_ - 1;
    round_.fetch_add(1);
    copy(0);
    while (left_.load() > 0) std::this_thread::yield();
  }

 private:
  void work(std::uint32_t thread) {
    for (std::uint32_t seen = 0;;) {
      while (round_.load() == seen) std::this_thread::yield();
      if (stop_.load()) return;
      ++seen;
      copy(thread);
      left_.fetch_sub(1);
    }
  }
  void copy(std::uint32_t thread) const {
    for (std::uint32_t pair = thread; pair < kRanks * kRanks; pair += threads_) {
      if (pair / kRanks == pair % kRanks) continue;
      const std::uint64_t at = pair % kRanks * bytes_;
      std::memcpy(to_.spans[pair / kRanks].data() + at, from_.spans[pair % kRanks].data() + at, bytes_);
    }
  }

  const Spans& from_;
  const Spans& to_;
  std::uint64_t bytes_;
  std::uint32_t threads_ = available_cores();
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> left_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace

std::vector<Row> runtime_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  NodeCommunicator node = NodeCommunicator::open(machine).value();
  std::vector<Row> rows;

  Spans small(8 << 10);
  for (const char* variant : {"pcpy", "bcst", "b2b"}) {
    auto persistent = node.prepare(gather_of(8_KiB, variant), small.spans, small.spans).value();
    const double ns = median_ns(2001, [&] { (void)persistent.run(); });
    rows.push_back({std::string("persistent all-gather, 8 ranks of 1KiB, ") + variant, ns / 1e3, "us",
                    variant == std::string("b2b") ? std::optional(15.0) : std::nullopt});
  }

  const auto target = open_target({.name = "soft"}, machine).value();
  const Program program = plan_collective(gather_of(8_KiB, "b2b"), machine).value();
  const VerifiedProgram proved = verify(program, machine).value();
  BoundProgram bound = BoundProgram::prepare(proved, *target, small.spans).value();
  const double bare = median_ns(2001, [&] { (void)bound.run(); });
  const CollectiveRequest request = gather_of(8_KiB, "b2b");
  const double whole = median_ns(2001, [&] { (void)node.run(request, small.spans, small.spans); });
  rows.push_back({"the same prepared and not prelaunched, b2b", bare / 1e3, "us"});
  rows.push_back({"what the communicator adds to it", (whole - bare) / 1e3, "us", 1});

  Spans other(8 << 10);
  bool turn = false;
  const double elsewhere = median_ns(2001, [&] {
    turn = !turn;
    const Spans& memory = turn ? other : small;
    (void)node.run(request, memory.spans, memory.spans);
  });
  rows.push_back({"what it adds with other memory every time", (elsewhere - bare) / 1e3, "us"});
  constexpr std::uint32_t kTurns = 100;  // in a sample: the clock of processor time costs more than a turn
  const double rebind = median_thread_ns(101, [&] {
    for (std::uint32_t i = 0; i < kTurns; ++i) {
      turn = !turn;
      (void)bound.rebind(turn ? other.spans : small.spans);
    }
  });
  rows.push_back({"rebinding, a packet", rebind / kTurns / static_cast<double>(packets_of(program)), "ns", 50});

  constexpr std::uint64_t kLarge = 4 << 20;
  Spans large(kLarge * kRanks);
  Spans copies(kLarge * kRanks);
  BoundProgram moving =
      BoundProgram::prepare(
          verify(plan_collective(gather_of({kLarge * kRanks}, "pcpy"), machine).value(), machine).value(), *target,
          large.spans)
          .value();
  // In turns, so that what else the computer does hits both alike.
  std::vector<double> ours;
  std::vector<double> plain;
  {
    Copiers copiers(copies, large, kLarge);
    for (int i = 0; i < 12; ++i) {
      const double moved = time_ns([&] { (void)moving.run(); });
      const double copied = time_ns([&] { copiers.copy_all(); });
      if (i == 0) continue;
      ours.push_back(moved);
      plain.push_back(copied);
    }
  }
  rows.push_back({"all-gather of 32MiB, of what memcpy moves with the same threads", median(plain) / median(ours), "",
                  0.9, Better::higher});
  return rows;
}

}  // namespace cortado::bench
