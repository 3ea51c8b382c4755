// The virtual node as a program sees it: this program runs itself under it, and uses /dev/kfd.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/ioctl.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/packets.hpp"

#include "base/file.hpp"
#include "device/abi/kfd_abi.hpp"
#include "device/kfd/kfd.hpp"
#include "device/vkfd/vkfd.hpp"
#include "measure.hpp"

namespace cortado::bench {
namespace {

constexpr std::uint32_t kSmall = 4096;
constexpr std::uint32_t kLarge = 64 << 20;

/// A queue, and the packets that were put into it; few enough for the ring.
class Client {
 public:
  Client() : driver_(device::open_kfd_node().value()) {
    queue_ = driver_->create_sdma_queue({RankId{0}, EngineId{2}, Bytes{2 << 20}}).value();
    done_ = reinterpret_cast<std::uint64_t*>(memory(kSmall));
    event_ = driver_->create_event().value();
  }

  std::byte* memory(std::uint64_t bytes) { return driver_->allocate({RankId{0}, Bytes{bytes}}).value().data; }

  /// From before the first packet is written until the fence after the copy is seen.
  double copy_ns(const std::byte* from, std::byte* to, std::uint32_t bytes) {
    return time_ns([&] {
      add(sdma::CopyLinear{bytes, reinterpret_cast<std::uint64_t>(from), reinterpret_cast<std::uint64_t>(to)});
      add(sdma::Fence{reinterpret_cast<std::uint64_t>(done_), ++copies_});
      driver_->ring_doorbell(*queue_, written_);
      while (std::atomic_ref(*done_).load(std::memory_order_acquire) != copies_) {
        if (bytes > kSmall) std::this_thread::yield();
      }
    });
  }

  /// The same, until an interrupt wakes the program, which sleeps in the driver.
  double blocked_copy_ns(const std::byte* from, std::byte* to, std::uint32_t bytes) {
    return time_ns([&] {
      add(sdma::CopyLinear{bytes, reinterpret_cast<std::uint64_t>(from), reinterpret_cast<std::uint64_t>(to)});
      add(sdma::Trap{event_.id});
      driver_->ring_doorbell(*queue_, written_);
      driver_->wait(event_, std::chrono::seconds(10));
    });
  }

 private:
  template <class Packet>
  void add(const Packet& packet) {
    written_ += sdma::encode(packet, reinterpret_cast<std::uint32_t*>(queue_->ring + written_)) * sizeof(std::uint32_t);
  }

  std::unique_ptr<device::Driver> driver_;
  device::SdmaQueue* queue_ = nullptr;
  std::uint64_t* done_ = nullptr;
  device::Event event_{};
  std::uint32_t copies_ = 0;
  std::uint64_t written_ = 0;
};

double ioctl_us() {
  const int file = ::open(device::kfd::kDevice, O_RDWR | O_CLOEXEC);
  device::kfd::ClockCounters counters;
  constexpr std::uint32_t kCalls = 2000;
  const double ns = median_ns(21, [&] {
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      ::ioctl(file, device::kfd::request<device::kfd::ClockCounters>(device::kfd::Call::get_clock_counters), &counters);
    }
  });
  ::close(file);
  return ns / kCalls / 1000;
}

/// Percent of a core that the node takes while the program sleeps, with a queue whose doorbell is never rung.
double idle_percent() {
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  constexpr int kSeconds = 2;
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
  return 100 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / kSeconds;
}

}  // namespace

int measure_inside_node(const std::string& out) {
  Client client;
  std::byte* const from = client.memory(kLarge);
  std::byte* const to = client.memory(kLarge);
  std::memset(from, 1, kLarge);
  std::memset(to, 2, kLarge);
  std::vector<double> small;
  for (int i = 0; i < 2000; ++i) small.push_back(client.copy_ns(from, to, kSmall) / 1000);
  std::vector<double> after_pause;
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    after_pause.push_back(client.copy_ns(from, to, kSmall) / 1000);
  }
  std::vector<double> blocked;
  for (int i = 0; i < 50; ++i) blocked.push_back(client.blocked_copy_ns(from, to, kSmall) / 1000);
  std::vector<double> ratios;
  for (int i = 0; i < 7; ++i) {
    const double engine = client.copy_ns(from, to, kLarge);
    ratios.push_back(time_ns([&] { std::memcpy(to, from, kLarge); }) / engine);
  }
  const std::string text =
      fmt::format("{} {} {} {} {} {}\n", median(std::move(small)), median(std::move(after_pause)),
                  median(std::move(ratios)), ioctl_us(), median(std::move(blocked)), idle_percent());
  return write_file(out, text) ? 0 : 1;
}

std::vector<Row> node_rows() {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const std::string out =
      (std::filesystem::temp_directory_path(error) / fmt::format("cortado-bench-{}", ::getpid())).string();
  const auto run =
      device::run_on_virtual_node(load_machine("mi300x-8").value(), {}, CORTADO_KFD_LIBRARY, {self, kInsideNode, out});
  double small = 0;
  double after_pause = 0;
  double ratio = 0;
  double ioctl = 0;
  double blocked = 0;
  double idle = 0;
  if (run && run->exit_code == 0) {
    const std::string text = read_file(out).value();
    std::sscanf(text.c_str(), "%lf %lf %lf %lf %lf %lf", &small, &after_pause, &ratio, &ioctl, &blocked, &idle);
  }
  std::filesystem::remove(out, error);
  return {{"node: copy of 4 KiB, submission to fence seen", small, "us", 15, Better::lower},
          {"node: the same after a pause of 500 us", after_pause, "us"},
          {"node: copy of 64 MiB, rate against memcpy", ratio, "", 0.8, Better::higher},
          {"node: one ioctl", ioctl, "us", 2, Better::lower},
          {"node: copy of 4 KiB, submission to a blocked wait woken", blocked, "us", 50'000, Better::lower},
          {"node: an idle queue, percent of a core", idle, "%", 1, Better::lower}};
}

}  // namespace cortado::bench
