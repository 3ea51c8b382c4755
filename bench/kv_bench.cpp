// KV blocks from host memory to one GPU of the embedded node: back to back, by a call each, and one memcpy of the same
// bytes, in turns.
#include <cstring>
#include <memory>
#include <vector>

#include "device/executor/executor.hpp"
#include "device/soft/soft.hpp"
#include "measure.hpp"
#include "plan/kv.hpp"

namespace cortado::bench {
namespace {

constexpr std::uint64_t kBlocks = 4096;
constexpr Bytes kBlock{32 << 10};
constexpr std::uint32_t kKvRounds = 7;

device::PreparedProgram prepare_kv(const char* strategy, const Machine& machine, device::Driver& node) {
  const plan::KvRequest request{.blocks = kBlocks, .fragment = kBlock};
  auto program = plan::find_kv_strategy(strategy).value().strategy->plan(request, machine).value();
  return device::PreparedProgram::prepare(verify(std::move(program), machine).value(), node).value();
}

/// GB/s of the median iteration.
double rate_of(device::PreparedProgram& program) {
  device::RunOptions options;
  options.iterations = 3;
  options.check = device::CheckOutputs::none;
  const double us = microseconds(median_time(program.run(options).value().timeline));
  return static_cast<double>((kBlock * kBlocks).value) / us / 1e3;
}

}  // namespace

std::vector<Row> kv_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  const std::unique_ptr<device::Driver> node = device::open_soft_node(machine, 1).value();
  device::PreparedProgram b2b = prepare_kv("b2b", machine, *node);
  device::PreparedProgram loop = prepare_kv("loop", machine, *node);
  const Bytes all = kBlock * kBlocks;
  const device::Memory from = node->allocate({.home = {}, .bytes = all}).value();
  const device::Memory to = node->allocate({.home = RankId{0}, .bytes = all}).value();
  std::memset(from.data, 1, all.value);
  std::memset(to.data, 2, all.value);
  std::vector<double> of_b2b;
  std::vector<double> of_loop;
  std::vector<double> of_memcpy;
  for (std::uint32_t round = 0; round <= kKvRounds; ++round) {
    const double packets = rate_of(b2b);
    const double calls = rate_of(loop);
    const double plain = static_cast<double>(all.value) / time_ns([&] { std::memcpy(to.data, from.data, all.value); });
    if (round == 0) continue;
    of_b2b.push_back(packets);
    of_loop.push_back(calls);
    of_memcpy.push_back(plain);
  }
  node->release(from);
  node->release(to);
  return {{"KV fetch of 4096 blocks of 32KiB, b2b", median(of_b2b), "GB/s"},
          {"the same by a call each (loop)", median(of_loop), "GB/s"},
          {"one memcpy of the same bytes", median(of_memcpy), "GB/s"},
          {"b2b rate / memcpy rate", median(of_b2b) / median(of_memcpy), "", 0.8, Better::higher},
          {"b2b rate / loop rate", median(of_b2b) / median(of_loop), "", 1, Better::higher}};
}

}  // namespace cortado::bench
