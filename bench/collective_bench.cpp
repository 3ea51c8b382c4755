// DMA collectives on the embedded node: latency of small ones, bandwidth of large ones against plain memcpy.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "cortado/plan.hpp"

#include "device/executor/executor.hpp"
#include "device/soft/soft.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

constexpr std::uint32_t kGpus = 8;
constexpr std::uint32_t kRounds = 7;

/// A collective that can be run repeatedly.
struct Prepared {
  std::string name;
  device::PreparedProgram program;
  std::vector<double> microseconds{};  // median of each round
};

Prepared prepare(const Machine& machine, device::Driver& node, const std::string& variant, bool prelaunch,
                 Bytes bytes) {
  CollectiveRequest request;
  request.collective = "all-gather";
  request.variant = variant;
  request.prelaunch = prelaunch;
  request.in_place = true;  // the 56 copies of the published form
  request.bytes = bytes;
  const auto verified = verify(plan_collective(request, machine).value(), machine);
  return {variant + (prelaunch ? " prelaunched" : ""),
          device::PreparedProgram::prepare(verified.value(), node).value()};
}

/// Runs once; the median iteration in microseconds.
double run(device::PreparedProgram& program, std::uint32_t iterations) {
  device::RunOptions options;
  options.iterations = iterations;
  options.check = device::CheckOutputs::none;
  return microseconds(median_time(program.run(options).value().timeline));
}

/// The variants take turns, so that whatever else the computer does hits all of them alike.
std::vector<Row> small_rows(const Machine& machine, device::Driver& node) {
  constexpr std::uint32_t kIterations = 500;
  std::vector<Prepared> all;
  for (const char* variant : {"pcpy", "bcst", "b2b"}) {
    for (const bool prelaunch : {false, true}) all.push_back(prepare(machine, node, variant, prelaunch, 1_KiB));
  }
  for (std::uint32_t round = 0; round <= kRounds; ++round) {
    for (Prepared& one : all) {
      const double time = run(one.program, kIterations);
      if (round > 0) one.microseconds.push_back(time);
    }
  }
  std::vector<Row> rows;
  std::map<std::string, double> time;
  for (const Prepared& one : all) {
    time[one.name] = median(one.microseconds);
    rows.push_back({"all-gather 8 GPUs 1KiB " + one.name, time[one.name], "us", 20, Better::lower});
  }
  rows.push_back({"b2b time / pcpy time", time["b2b"] / time["pcpy"], "", 1, Better::lower});
  return rows;
}

/// Copies the blocks of an all-gather with plain memcpy on this many threads; GB/s.
class MemcpyAllGather {
 public:
  /// Its memory is the node's, so that both have the same pages.
  MemcpyAllGather(device::Driver& node, std::size_t bytes) : node_(node), block_(bytes / kGpus) {
    for (std::uint32_t i = 0; i < kGpus; ++i) {
      buffers_.push_back(node.allocate({.home = RankId{i}, .bytes = Bytes{bytes}}).value());
      std::memset(buffers_.back().data, static_cast<int>(i), bytes);
    }
  }
  MemcpyAllGather(const MemcpyAllGather&) = delete;
  MemcpyAllGather& operator=(const MemcpyAllGather&) = delete;
  ~MemcpyAllGather() {
    for (const device::Memory& buffer : buffers_) node_.release(buffer);
  }

  double gigabytes_per_second(std::uint32_t threads) {
    std::atomic<std::uint32_t> next{0};
    const auto work = [&] {
      for (std::uint32_t i = next++; i < kGpus * kGpus; i = next++) {
        const std::uint32_t from = i / kGpus;
        const std::uint32_t to = i % kGpus;
        if (from == to) continue;  // in place, as the collective
        std::memcpy(buffers_[to].data + from * block_, buffers_[from].data + from * block_, block_);
      }
    };
    const double ns = time_ns([&] {
      std::vector<std::thread> helpers;
      for (std::uint32_t t = 1; t < threads; ++t) helpers.emplace_back(work);
      work();
      for (std::thread& helper : helpers) helper.join();
    });
    return static_cast<double>(kGpus * (kGpus - 1) * block_) / ns;
  }

 private:
  device::Driver& node_;
  std::size_t block_;
  std::vector<device::Memory> buffers_;
};

std::vector<Row> large_rows(const Machine& machine, device::Driver& node) {
  constexpr std::size_t kBytes = 64 << 20;
  const std::uint32_t threads = std::max(std::thread::hardware_concurrency(), 1U);
  Prepared gather = prepare(machine, node, "pcpy", false, Bytes{kBytes});
  MemcpyAllGather plain(node, kBytes);
  std::vector<double> soft_rates;
  std::vector<double> plain_rates;
  for (std::uint32_t round = 0; round <= kRounds; ++round) {
    const double us = run(gather.program, 3);
    const double rate = static_cast<double>((kGpus - 1) * kBytes) / us / 1e3;
    const double reference = plain.gigabytes_per_second(threads);
    if (round == 0) continue;
    soft_rates.push_back(rate);
    plain_rates.push_back(reference);
  }
  const double soft = median(soft_rates);
  const double reference = median(plain_rates);
  const std::string suffix = ", " + std::to_string(threads) + " threads";
  return {{"all-gather 8 GPUs 64MiB pcpy" + suffix, soft, "GB/s"},
          {"memcpy of the same blocks" + suffix, reference, "GB/s"},
          {"all-gather rate / memcpy rate", soft / reference, "", 0.85, Better::higher}};
}

}  // namespace

std::vector<Row> collective_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  const std::unique_ptr<device::Driver> node = device::open_soft_node(machine, kGpus).value();
  std::vector<Row> rows = small_rows(machine, *node);
  for (Row& row : large_rows(machine, *node)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace cortado::bench
