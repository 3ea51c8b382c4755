// A report for users whose GPUs do not work with Cortado: versions, topology without serial numbers, and the result of
// each call of a small copy on every GPU.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <sys/utsname.h>
#include <utility>

#include <fmt/format.h>

#include "cortado/packets.hpp"

#include "device/kfd/kfd.hpp"
#include "device/kfd/kfd_node.hpp"

namespace cortado::device {
namespace {

constexpr std::uint32_t kReportBytes = 65536;
constexpr std::chrono::seconds kReportPatience{2};

const char* call_name(kfd::Call call) {
  switch (call) {
    case kfd::Call::get_version:
      return "GET_VERSION";
    case kfd::Call::create_queue:
      return "CREATE_QUEUE";
    case kfd::Call::destroy_queue:
      return "DESTROY_QUEUE";
    case kfd::Call::get_clock_counters:
      return "GET_CLOCK_COUNTERS";
    case kfd::Call::create_event:
      return "CREATE_EVENT";
    case kfd::Call::destroy_event:
      return "DESTROY_EVENT";
    case kfd::Call::wait_events:
      return "WAIT_EVENTS";
    case kfd::Call::get_apertures:
      return "GET_PROCESS_APERTURES_NEW";
    case kfd::Call::acquire_vm:
      return "ACQUIRE_VM";
    case kfd::Call::alloc_memory:
      return "ALLOC_MEMORY_OF_GPU";
    case kfd::Call::free_memory:
      return "FREE_MEMORY_OF_GPU";
    case kfd::Call::map_memory:
      return "MAP_MEMORY_TO_GPU";
    case kfd::Call::unmap_memory:
      return "UNMAP_MEMORY_FROM_GPU";
    default:
      return "another";
  }
}

/// Counts the results of calls while forwarding them to the real ones.
class CountingSystem final : public KfdSystem {
 public:
  using Counts = std::map<std::pair<std::string, int>, int>;  // what and errno -> number of times

  CountingSystem(std::unique_ptr<KfdSystem> real, Counts& counts) : real_(std::move(real)), counts_(counts) {}

  int open(const std::string& path) override {
    const int file = real_->open(path);
    ++counts_[{"open " + path, file < 0 ? -file : 0}];
    return file;
  }
  void close(int file) override { real_->close(file); }
  int ioctl(int file, unsigned long request, void* argument) override {
    const int error = real_->ioctl(file, request, argument);
    ++counts_[{fmt::format("ioctl {}", call_name(static_cast<kfd::Call>(_IOC_NR(request)))), error}];
    return error;
  }
  Expected<std::string, int> read(const std::string& path) override { return real_->read(path); }

 private:
  std::unique_ptr<KfdSystem> real_;
  Counts& counts_;
};

/// The file, without lines that identify this computer.
std::string public_lines(KfdSystem& system, const std::string& path) {
  const auto text = system.read(path);
  if (!text) return fmt::format("    {}\n", std::strerror(text.error()));
  std::string result;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("unique_id") && !line.starts_with("hive_id")) result += "    " + line + "\n";
  }
  return result;
}

std::string topology_text(KfdSystem& system) {
  std::string text;
  for (std::uint32_t node = 0;; ++node) {
    const std::string folder = fmt::format("{}/nodes/{}", kfd::kTopology, node);
    const auto id = system.read(folder + "/gpu_id");
    if (!id && id.error() == ENOENT) break;
    text += fmt::format("node {}\n{}", node, public_lines(system, folder + "/properties"));
    for (std::uint32_t link = 0;; ++link) {
      const std::string path = fmt::format("{}/io_links/{}/properties", folder, link);
      if (const auto exists = system.read(path); !exists && exists.error() == ENOENT) break;
      text += fmt::format("  link {}\n{}", link, public_lines(system, path));
    }
  }
  return text;
}

/// Tries a copy on the first engine of the GPU, its signal and its interrupt.
Result<std::string> try_copy(Driver& node, RankId gpu) {
  const EngineId engine = node.topology().gpus[gpu.value].engines.front().id;
  CORTADO_ASSIGN_OR_RETURN(const Memory memory,
                           node.allocate({gpu, Bytes{2 * std::uint64_t{kReportBytes}}, Bytes{4096}}));
  CORTADO_ASSIGN_OR_RETURN(const Event event, node.create_event());
  CORTADO_ASSIGN_OR_RETURN(SdmaQueue* const queue, node.create_sdma_queue({gpu, engine, Bytes{4096}}));
  std::memset(memory.data, 0x5a, kReportBytes);
  std::uint64_t end = 0;
  for (const sdma::Packet& packet :
       {sdma::Packet(sdma::CopyLinear{kReportBytes, memory.address(), memory.address() + kReportBytes}),
        sdma::Packet(sdma::Fence{reinterpret_cast<std::uintptr_t>(event.mailbox), event.id}),
        sdma::Packet(sdma::Trap{event.id})}) {
    end += sdma::encode(packet, reinterpret_cast<std::uint32_t*>(queue->ring + end)) * sizeof(std::uint32_t);
  }
  node.ring_doorbell(*queue, end);
  const bool interrupted = node.wait(event, kReportPatience);
  const bool fenced = std::atomic_ref(*event.mailbox).load(std::memory_order_acquire) == event.id;
  const bool same = std::memcmp(memory.data, memory.data + kReportBytes, kReportBytes) == 0;
  std::string text = fmt::format("copy {}, fence {}, interrupt {}", same ? "right" : "WRONG",
                                 fenced ? "written" : "MISSING", interrupted ? "came" : "MISSING");
  if (!same || !fenced || !interrupted) text += ", queue " + node.state(*queue).doing;
  for (const EngineFault& fault : node.faults()) text += "; " + fault.message;
  node.destroy(queue);
  node.destroy(event);
  node.release(memory);
  return text;
}

}  // namespace

std::string kfd_report(std::unique_ptr<KfdSystem> system) {
  utsname kernel{};
  ::uname(&kernel);
  std::string text = fmt::format("kernel {} {}\n", kernel.release, kernel.machine);
  const auto version = system->read("/sys/module/amdgpu/version");
  text += fmt::format("amdgpu {}", version ? *version : "version unknown\n");
  text += topology_text(*system);
  CountingSystem::Counts counts;
  {
    const auto node = open_kfd_node(std::make_unique<CountingSystem>(std::move(system), counts));
    if (!node) {
      text += to_string(node.error()) + "\n";
    } else {
      text += (*node)->topology().node + "\n";
      for (std::uint32_t gpu = 0; gpu < (*node)->topology().gpus.size(); ++gpu) {
        const auto copy = try_copy(**node, RankId{gpu});
        text += fmt::format("GPU {}: {}\n", gpu, copy ? *copy : to_string(copy.error()));
      }
    }
  }
  for (const auto& [what, times] : counts) {
    text += fmt::format("{} x {}: {}\n", times, what.first, what.second == 0 ? "ok" : std::strerror(what.second));
  }
  return text;
}

std::string kfd_report() {
  return kfd_report(linux_system());
}

}  // namespace cortado::device
