#include "node_of_process.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/cores.hpp"
#include "device/vkfd/node_folder.hpp"
#include "device/vkfd/packet_log.hpp"
#include "device/vkfd/race_checker.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr std::uint64_t kDoorbellDelay = 100'000;  // nanoseconds: many times what a program needs to ring the next

// Never destroyed: threads of the program may use the node until the process ends.
std::atomic<VirtualKfd*> the_driver{nullptr};
std::atomic<bool> failed{false};

std::mutex& opening() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void say(const std::string& line) {
  const std::string text = "cortado node: " + line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// The child has neither our threads nor a right to the parent's rings: it opens anew.
void after_fork_in_child() {
  the_driver.store(nullptr);
  failed.store(false);
}

void at_end() {
  if (VirtualKfd* const ending = driver()) ending->stop_engines();
}

Result<std::unique_ptr<VirtualKfd>> make_driver() {
  CORTADO_ASSIGN_OR_RETURN(const NodeFolder folder, read_node_folder(std::string(node_folder())));
  VirtualKfdOptions options;
  options.log = say;
  options.faults = folder.options.faults;
  options.runner.seed = folder.options.adversarial_seed;
  options.runner.threads = std::max(available_cores(), 2U) - 1;
  std::vector<std::unique_ptr<NodeObserver>> observers;
  if (folder.options.races) {
    observers.push_back(std::make_unique<RaceChecker>([](const std::string& race) {
      say(race);
      add_finding(std::string(node_folder()), race);
    }));
    options.runner.doorbell_delay = kDoorbellDelay;
    options.runner.threads = 1;
  }
  if (!folder.options.packets.empty()) observers.push_back(std::make_unique<PacketLog>(std::string(node_folder())));
  if (!observers.empty()) options.observer = std::make_unique<Observers>(std::move(observers));
  options.runner.observer = options.observer.get();
  return VirtualKfd::create(folder.machine, std::move(options));
}

}  // namespace

std::string_view node_folder() {
  static const char* const folder = std::getenv(kFolderVariable);
  return folder == nullptr ? std::string_view() : std::string_view(folder);
}

VirtualKfd* driver() {
  return the_driver.load(std::memory_order_acquire);
}

VirtualKfd* open_driver() {
  const std::lock_guard lock(opening());
  if (driver() != nullptr || failed.load()) return driver();
  auto made = make_driver();
  if (!made) {
    say(to_string(made.error()));
    failed.store(true);
    return nullptr;
  }
  static const bool once = [] {
    ::pthread_atfork([] { opening().lock(); }, [] { opening().unlock(); },
                     [] {
                       opening().unlock();
                       after_fork_in_child();
                     });
    std::atexit(at_end);
    return true;
  }();
  static_cast<void>(once);
  the_driver.store(made->release(), std::memory_order_release);
  return driver();
}

DeviceName device_of_path(std::string_view path) {
  if (node_folder().empty() || !path.starts_with("/dev/")) return {};
  if (path == kfd::kDevice) return {DeviceName::Kind::kfd, 0};
  const std::string_view render = kfd::kRenderNodes;
  if (!path.starts_with(render)) return {};
  std::uint32_t minor = 0;
  const std::string_view number = path.substr(render.size());
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), minor);
  if (error != std::errc() || end != number.data() + number.size() || minor < kfd::kFirstRenderMinor) return {};
  return {DeviceName::Kind::render, minor - kfd::kFirstRenderMinor};
}

DeviceName device_of_file(dev_t device, ino_t inode) {
  const VirtualKfd* const node = driver();
  if (node == nullptr) return {};
  if (node->kfd_file().is(device, inode)) return {DeviceName::Kind::kfd, 0};
  for (std::uint32_t gpu = 0; gpu < node->machine().gpus; ++gpu) {
    if (node->render_file(gpu).is(device, inode)) return {DeviceName::Kind::render, gpu};
  }
  return {};
}

}  // namespace cortado::device::vkfd
