// processes_bench RANKS BYTES...: medians of collectives among processes, one line each: what, bytes, memory, median
// and least time in us. bench/processes compares them with those of MPI and gloo.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cortado/communicator.hpp"

namespace cortado::bench {
namespace {

/// A sample is the mean of this many operations in sequence: each needs all ranks, so differences between the ranks
/// cancels out, and samples are short enough for some to have all cores to themselves.
std::uint32_t batch(std::uint64_t bytes, std::uint32_t ranks) {
  if (ranks > std::thread::hardware_concurrency()) return 1;
  return bytes <= 16 << 10 ? 20 : bytes <= 256 << 10 ? 5 : 1;
}

/// As many samples as take a tenth of a second or so, by the bytes that all ranks move. Fewer where ranks share cores:
/// MPICH's ranks keep theirs until the system takes it away, and an operation takes milliseconds.
std::uint32_t samples(std::uint64_t bytes, std::uint32_t ranks) {
  const std::uint64_t most = ranks > std::thread::hardware_concurrency() ? 40 : 400;
  const std::uint64_t moved = (bytes * ranks * ranks + 20'000) * batch(bytes, ranks);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(400'000'000 / moved, 5, most));
}

struct Times {
  double median;
  double least;  ///< what others do on the computer counts less
};

Times measure_us(Communicator& comm, const Operation& operation, std::uint64_t bytes) {
  const std::uint32_t count = samples(bytes, comm.ranks());
  const std::uint32_t operations = batch(bytes, comm.ranks());
  std::vector<double> times;
  for (std::uint32_t i = 0; i < count + count / 10 + 1; ++i) {
    if (!comm.run(barrier())) std::abort();
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t j = 0; j < operations; ++j) {
      if (const Status status = comm.run(operation); !status) {
        fmt::print(stderr, "{}\n", to_string(status.error()));
        std::abort();
      }
    }
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (i > count / 10) times.push_back(us / operations);
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front()};
}

void measure(Communicator& comm, std::uint64_t bytes, std::span<std::byte> send, std::span<std::byte> recv,
             const char* memory) {
  const auto report = [&](const char* what, const Operation& operation) {
    const Times us = measure_us(comm, operation, bytes);
    if (comm.rank() == 0) fmt::print("{} {} {} {:.2f} {:.2f}\n", what, bytes, memory, us.median, us.least);
  };
  const std::uint64_t ranks = comm.ranks();
  report("all-gather", all_gather(send.first(bytes), recv.first(bytes * ranks)));
  report("all-to-all", all_to_all(send.first(bytes), recv.first(bytes)));
  report("all-reduce", all_reduce(Element::f32, send.first(bytes), recv.first(bytes)));
  report("reduce-scatter", reduce_scatter(Element::f32, send.first(bytes), recv.first(bytes / ranks)));
  if (comm.rank() == 0) std::fflush(stdout);
}

/// Every rank on its own core, as mpirun of Open MPI starts ranks if there are enough.
void bind_to_core(const CommunicatorOptions& options) {
  const std::uint32_t cores = std::thread::hardware_concurrency();
  if (options.ranks > cores) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(options.rank, &own);
  (void)::sched_setaffinity(0, sizeof own, &own);  // if it is forbidden, the system decides
}

int of_rank(const CommunicatorOptions& options, const std::vector<std::uint64_t>& sizes) {
  bind_to_core(options);
  auto joined = Communicator::join(options);
  if (!joined) {
    fmt::print(stderr, "{}\n", to_string(joined.error()));
    return 1;
  }
  Communicator& comm = *joined;
  for (const std::uint64_t bytes : sizes) {
    std::vector<std::byte> send(bytes);
    std::vector<std::byte> recv(bytes * comm.ranks());
    measure(comm, bytes, send, recv, "own");
    const auto shared_send = comm.allocate({bytes});
    const auto shared_recv = comm.allocate({bytes * comm.ranks()});
    if (shared_send && shared_recv) {
      std::ranges::fill(*shared_send, std::byte{});
      std::ranges::fill(*shared_recv, std::byte{});
      measure(comm, bytes, *shared_send, *shared_recv, "window");
      comm.release(*shared_send);
      comm.release(*shared_recv);
    }
  }
  return 0;
}

}  // namespace
}  // namespace cortado::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("processes_bench RANKS BYTES...\n", stderr);
    return 2;
  }
  cortado::CommunicatorOptions options;
  options.name = fmt::format("bench {}", ::getpid());
  options.ranks = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  std::vector<std::uint64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  for (options.rank = 1; options.rank < options.ranks; ++options.rank) {
    if (::fork() == 0) return cortado::bench::of_rank(options, sizes);
  }
  options.rank = 0;
  int worst = cortado::bench::of_rank(options, sizes);
  int status = 0;
  while (::wait(&status) > 0) worst |= status;
  return worst == 0 ? 0 : 1;
}
