#include "node_of_process.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <link.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/cores.hpp"
#include "device/vkfd/node_folder.hpp"
#include "device/vkfd/packet_log.hpp"
#include "device/vkfd/race_checker.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr int kRefused = 70;                       // EX_SOFTWARE of sysexits.h
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

/// The child has neither our threads nor a right to the parent's rings: it opens the devices again.
void after_fork_in_child() {
  if (VirtualKfd* const of_parent = the_driver.exchange(nullptr)) of_parent->close_files();
  failed.store(false);
}

void at_end() {
  if (VirtualKfd* const ending = driver()) ending->stop_engines();
}

Result<std::unique_ptr<VirtualKfd>> make_driver() {
  CORTADO_ASSIGN_OR_RETURN(const NodeFolder folder, read_node_folder(std::string(node_folder())));
  VirtualKfdOptions options;
  options.log = say;
  options.refuse = [](const std::string& what) {
    say(what);
    add_finding(std::string(node_folder()), Finding::refusal, what);
    ::_exit(kRefused);  // other threads of the program wait for what will never happen
  };
  options.faults = folder.options.faults;
  options.model_time = folder.options.model_time;
  options.runner.seed = folder.options.adversarial_seed;
  constexpr std::uint32_t kMostThreads = 8;  // more do not make memory faster
  options.runner.threads = std::clamp(available_cores() - 1, 1U, kMostThreads);
  if (folder.options.races) {
    options.observer = std::make_unique<RaceChecker>([](const std::string& race) {
      say(race);
      add_finding(std::string(node_folder()), Finding::race, race);
    });
    options.runner.doorbell_delay = kDoorbellDelay;
    options.runner.threads = 1;
  }
  if (!folder.options.packets.empty()) options.packet_log = std::make_unique<PacketLog>(std::string(node_folder()));
  return VirtualKfd::create(folder.machine, std::move(options));
}

/// The file of a loaded library, with links resolved; empty if it is not loaded.
std::string loaded_library(const char* name) {
  std::pair<const char*, std::string> search{name, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& [wanted, found] = *static_cast<decltype(search)*>(data);
        if (std::strstr(info->dlpi_name, wanted) == nullptr) return 0;
        std::error_code error;
        found = std::filesystem::canonical(info->dlpi_name, error).filename().string();
        return 1;
      },
      &search);
  return search.second;
}

/// ROCr up to 1.5 (ROCm 5.2, Debian 12) knows GPUs up to gfx90a and silently ignores others.
void warn_of_old_runtime(const VirtualKfd& node) {
  constexpr std::uint32_t kNewestKnown = 90010;
  constexpr const char* kRuntime = "libhsa-runtime64.so.1";
  if (node.part().gfx_target_version <= kNewestKnown) return;
  const std::string file = loaded_library(kRuntime);
  if (!file.starts_with(std::string(kRuntime) + ".5.")) return;
  say(fmt::format("{} of this program does not know the GPUs of {} and will show none: use --machine mi250x-8", file,
                  node.machine().name));
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
  warn_of_old_runtime(**made);
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
