// A program on AMD's libhsakmt, as people write them. It knows nothing of Cortado's node; only its packets are encoded
// by Cortado's encoder.
//
//   thunk_program copies          every engine of every GPU: copies, broadcast, swap, polls, fences, atomics,
//                                 time stamps
//   thunk_program unordered       two engines, the second reads what the first writes and does not wait
//   thunk_program ordered         the same with a poll between them
//   thunk_program unmapped        a copy to memory that the GPU does not reach; prints the exception
//   thunk_program large BYTES     one copy packet of this many bytes
//   thunk_program churn COUNT     this many queues, one after another
//   thunk_program leave           ends while engines work
//   thunk_program fork            a child that opens the driver again, concurrently with its parent
//   thunk_program threads         eight threads with queues of their own; the process ends while they work
//   thunk_program exec            becomes another program while engines work
//   thunk_program queues          as many queues of one class on GPU 0 as there are
//   thunk_program absent          a copy on every xGMI engine of GPU 0; prints how many finish
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <hsakmt.h>

#include "cortado/packets.hpp"

namespace {

using namespace cortado;  // NOLINT: a test program

/// Any thread, also while main() returns: nothing is destroyed.
[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "thunk_program: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void check(HSAKMT_STATUS status, const char* what) {
  if (status != HSAKMT_STATUS_SUCCESS) give_up(std::string(what) + ": status " + std::to_string(status));
}

// Never destroyed: threads use it until the process is gone.
std::vector<HSAuint32>& gpu_nodes = *new std::vector<HSAuint32>;  // NOLINT

void* allocate(HSAuint32 node, HSAuint64 bytes, bool host_access, bool executable = false) {
  HsaMemFlags flags{};
  flags.ui32.NonPaged = node == 0 ? 0 : 1;
  flags.ui32.HostAccess = host_access ? 1 : 0;
  flags.ui32.PageSize = HSA_PAGE_SIZE_4KB;
  flags.ui32.NoNUMABind = 1;
  flags.ui32.ExecuteAccess = executable ? 1 : 0;
  flags.ui32.Uncached = 1;
  void* address = nullptr;
  check(hsaKmtAllocMemory(node, bytes, flags, &address), "hsaKmtAllocMemory");
  HSAuint64 gpu_address = 0;
  check(hsaKmtMapMemoryToGPUNodes(address, bytes, &gpu_address, HsaMemMapFlags{}, gpu_nodes.size(), gpu_nodes.data()),
        "hsaKmtMapMemoryToGPUNodes");
  return address;
}

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

class Queue {
 public:
  Queue(HSAuint32 node, HSA_QUEUE_TYPE type) {
    ring_ = static_cast<std::uint32_t*>(allocate(0, kRingBytes, true, true));
    check(hsaKmtCreateQueue(node, type, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_, kRingBytes, nullptr, &resource_),
          "hsaKmtCreateQueue");
  }
  ~Queue() {
    check(hsaKmtDestroyQueue(resource_.QueueId), "hsaKmtDestroyQueue");
    hsaKmtUnmapMemoryToGPU(ring_);
    hsaKmtFreeMemory(ring_, kRingBytes);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Queue& add(const sdma::Packet& packet) {
    written_ += sdma::encode(packet, ring_ + written_ / 4) * 4;
    return *this;
  }
  void submit() {
    std::atomic_ref(*resource_.Queue_write_ptr_aql).store(written_, std::memory_order_release);
    std::atomic_ref(*resource_.Queue_DoorBell_aql).store(written_, std::memory_order_release);
  }
  bool finished() { return std::atomic_ref(*resource_.Queue_read_ptr_aql).load(std::memory_order_acquire) == written_; }

 private:
  static constexpr HSAuint64 kRingBytes = 4096;
  std::uint32_t* ring_ = nullptr;
  HsaQueueResource resource_{};
  std::uint64_t written_ = 0;
};

template <class Condition>
void wait_for(Condition&& condition, const char* what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) give_up(std::string("gave up waiting for ") + what);
    std::this_thread::yield();
  }
}

sdma::PollRegmem poll_at_least(const void* word, std::uint32_t value) {
  return {true, false, sdma::PollFunction::ge, address_of(word), value, 0xffffffff, 4, 0xfff};
}

sdma::Fence fence(const void* word, std::uint32_t value) {
  return {address_of(word), value};
}

constexpr std::uint32_t kBytes = 4096;
constexpr std::uint32_t kRegions = 5;

/// What one queue works on; words are 32 bytes apart.
struct Lane {
  std::byte* in;
  std::byte* out;        // two regions
  std::byte* own;        // regions in memory of the GPU of the queue
  std::byte* peer;       // one region in memory of the next GPU
  std::uint64_t* words;  // 0 trigger, 4 fence, 8 signal, 12 and 16 time stamps
  bool swaps;
};

void submit_lane(Queue& queue, const Lane& lane) {
  const auto own = [&](std::uint32_t region) { return address_of(lane.own + region * kBytes); };
  queue.add(poll_at_least(lane.words, 1));
  queue.add(sdma::Timestamp{sdma::TimestampOp::get_global, address_of(lane.words + 12)});
  queue.add(sdma::CopyLinear{kBytes, address_of(lane.in), own(0)}).add(fence(lane.words + 4, 1));
  queue.add(sdma::CopyLinear{kBytes, own(0), address_of(lane.peer)}).add(fence(lane.words + 4, 2));
  queue.add(sdma::CopyBroadcast{kBytes, address_of(lane.peer), own(1), own(2)});
  queue.add(sdma::ConstFill{own(3), 0x5a5a5a5a, 2, kBytes / 4}).add(fence(lane.words + 4, 3));
  if (lane.swaps) queue.add(sdma::CopySwap{kBytes, own(1), own(3)}).add(fence(lane.words + 4, 4));
  const std::uint32_t copied = lane.swaps ? 3 : 1;
  queue.add(sdma::CopyLinear{kBytes, own(copied), address_of(lane.out)});
  queue.add(sdma::CopyLinear{kBytes, own(lane.swaps ? 1 : 3), address_of(lane.out + kBytes)});
  queue.add(sdma::Timestamp{sdma::TimestampOp::get_global, address_of(lane.words + 16)});
  queue.add(sdma::Atomic{sdma::kAtomicAdd64, false, address_of(lane.words + 8), 1, 0, 0});
  queue.submit();
}

std::uint64_t load(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

int copies() {
  struct Gpu {
    HsaNodeProperties properties{};
    std::byte* memory = nullptr;
  };
  std::vector<Gpu> gpus(gpu_nodes.size());
  std::uint32_t lanes = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    check(hsaKmtGetNodeProperties(gpu_nodes[i], &gpus[i].properties), "hsaKmtGetNodeProperties");
    const std::uint32_t queues = gpus[i].properties.NumSdmaEngines + gpus[i].properties.NumSdmaXgmiEngines;
    lanes += queues;
    // Memory of the GPU that the host has no access to.
    gpus[i].memory = static_cast<std::byte*>(allocate(gpu_nodes[i], queues * (kRegions + 1) * kBytes, false));
  }
  auto* const host = static_cast<std::byte*>(allocate(0, lanes * std::uint64_t{4} * kBytes, true));
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<Lane> all;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const HsaNodeProperties& properties = gpus[i].properties;
    const bool swaps = properties.EngineId.ui32.Major == 9 && properties.EngineId.ui32.Minor >= 4;
    for (std::uint32_t j = 0; j < properties.NumSdmaEngines + properties.NumSdmaXgmiEngines; ++j) {
      const bool xgmi = j >= properties.NumSdmaEngines;
      queues.push_back(std::make_unique<Queue>(gpu_nodes[i], xgmi ? HSA_QUEUE_SDMA_XGMI : HSA_QUEUE_SDMA));
      std::byte* const mine = host + all.size() * 4 * kBytes;
      const std::size_t next = xgmi ? (i + 1) % gpus.size() : i;  // the others are for the host
      all.push_back({mine, mine + kBytes, gpus[i].memory + j * (kRegions + 1) * kBytes,
                     gpus[next].memory + (j * (kRegions + 1) + kRegions) * kBytes,
                     reinterpret_cast<std::uint64_t*>(mine + 3 * kBytes), swaps});
      for (std::uint32_t k = 0; k < kBytes; ++k) mine[k] = static_cast<std::byte>((k + all.size() * 17) % 251);
      submit_lane(*queues.back(), all.back());
    }
  }
  for (const Lane& lane : all) std::atomic_ref(*lane.words).store(1, std::memory_order_release);
  std::uint64_t wrong = 0;
  for (const Lane& lane : all) {
    wait_for([&] { return load(lane.words + 8) == 1; }, "a signal");
    if (std::memcmp(lane.in, lane.out, kBytes) != 0) ++wrong;
    for (std::uint32_t k = 0; k < kBytes; ++k) wrong += lane.out[kBytes + k] == std::byte{0x5a} ? 0 : 1;
    if (load(lane.words + 16) < load(lane.words + 12)) ++wrong;
  }
  std::printf("%zu GPUs, %zu queues, %llu wrong\n", gpus.size(), queues.size(), static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

int two_engines(bool ordered) {
  auto* const host = static_cast<std::byte*>(allocate(0, 4 * kBytes, true));
  auto* const words = reinterpret_cast<std::uint64_t*>(host + 3 * kBytes);
  auto* const memory = static_cast<std::byte*>(allocate(gpu_nodes[0], kBytes, false));
  std::memset(host, 7, kBytes);
  Queue writer(gpu_nodes[0], HSA_QUEUE_SDMA);
  Queue reader(gpu_nodes[1], HSA_QUEUE_SDMA_XGMI);
  writer.add(sdma::CopyLinear{kBytes, address_of(host), address_of(memory)}).add(fence(words, 1));
  if (ordered) reader.add(poll_at_least(words, 1));
  reader.add(sdma::CopyLinear{kBytes, address_of(memory), address_of(host + kBytes)}).add(fence(words + 4, 1));
  writer.submit();
  reader.submit();
  wait_for([&] { return load(words) == 1 && load(words + 4) == 1; }, "both engines");
  return ordered && std::memcmp(host, host + kBytes, kBytes) != 0 ? 1 : 0;
}

int unmapped() {
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_MEMORY;
  HsaEvent* event = nullptr;
  check(hsaKmtCreateEvent(&descriptor, true, false, &event), "hsaKmtCreateEvent");
  auto* const host = static_cast<std::byte*>(allocate(0, kBytes, true));
  Queue queue(gpu_nodes[0], HSA_QUEUE_SDMA);
  queue.add(sdma::Nop{0}).add(sdma::CopyLinear{kBytes, address_of(host), 0x700000001000}).submit();
  check(hsaKmtWaitOnEvent(event, 10000), "hsaKmtWaitOnEvent");
  const HsaMemoryAccessFault& fault = event->EventData.EventData.MemoryAccessFault;
  std::printf("memory exception: node %u, address %#llx, not present %u\n", fault.NodeId,
              static_cast<unsigned long long>(fault.VirtualAddress), fault.Failure.NotPresent);
  return 0;
}

int large(std::uint32_t bytes) {
  auto* const memory = static_cast<std::byte*>(allocate(gpu_nodes[0], std::uint64_t{2} * bytes, false));
  auto* const words = static_cast<std::uint64_t*>(allocate(0, kBytes, true));
  Queue queue(gpu_nodes[0], HSA_QUEUE_SDMA);
  queue.add(sdma::CopyLinear{bytes, address_of(memory), address_of(memory + bytes)}).add(fence(words, 1)).submit();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2000);
  while (load(words) != 1) {
    if (std::chrono::steady_clock::now() > end) {
      std::printf("the copy does not finish\n");
      return 3;
    }
    std::this_thread::yield();
  }
  std::printf("copied\n");
  return 0;
}

/// What a process holds: threads, open files, resident kilobytes.
struct Holdings {
  std::size_t threads = 0;
  std::size_t files = 0;
  std::size_t kilobytes = 0;
};

Holdings holdings() {
  Holdings now;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) ++now.threads;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++now.files;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> now.kilobytes;
  }
  return now;
}

int churn(int count) {
  auto* const words = static_cast<std::uint64_t*>(allocate(0, kBytes, true));
  Holdings early;
  for (int i = 0; i < count; ++i) {
    if (i == count / 10) early = holdings();
    Queue queue(gpu_nodes[static_cast<std::size_t>(i) % gpu_nodes.size()], HSA_QUEUE_SDMA);
    if (i % 100 != 0) continue;
    queue.add(fence(words, static_cast<std::uint32_t>(i) + 1)).submit();
    wait_for([&] { return queue.finished(); }, "a queue");
  }
  const Holdings late = holdings();
  constexpr std::size_t kSlack = 1024;  // kilobytes: allocators do not return memory
  const bool grown =
      late.threads > early.threads || late.files > early.files || late.kilobytes > early.kilobytes + kSlack;
  std::printf("%d queues%s\n", count, grown ? ", and the process has grown" : "");
  return grown ? 1 : 0;
}

/// Engines have work for a while.
void start_work() {
  constexpr std::uint32_t kLarge = 64 << 20;
  auto* const memory = static_cast<std::byte*>(allocate(gpu_nodes[0], 2 * std::uint64_t{kLarge}, false));
  auto* const queue = new Queue(gpu_nodes[0], HSA_QUEUE_SDMA);
  for (int i = 0; i < 20; ++i) queue->add(sdma::CopyLinear{kLarge, address_of(memory), address_of(memory + kLarge)});
  queue->submit();
}

int threads() {
  static std::atomic<int> copied{0};  // the threads outlive this function
  for (std::size_t i = 0; i < 8; ++i) {
    std::thread([i] {
      const HSAuint32 node = gpu_nodes[i % gpu_nodes.size()];
      auto* const memory = static_cast<std::uint64_t*>(allocate(0, 2 * kBytes, true));
      for (std::uint64_t round = 1;; ++round) {
        Queue queue(node, round % 2 == 0 ? HSA_QUEUE_SDMA : HSA_QUEUE_SDMA_XGMI);
        memory[0] = round;
        queue.add(sdma::CopyLinear{kBytes, address_of(memory), address_of(memory) + kBytes}).add(sdma::Nop{0}).submit();
        wait_for([&] { return queue.finished(); }, "a copy");
        if (load(memory + kBytes / 8) != round) give_up("wrong bytes");
        ++copied;
      }
    }).detach();
  }
  wait_for([&] { return copied.load() >= 200; }, "200 copies");
  std::printf("8 threads\n");
  std::fflush(stdout);
  start_work();
  return 0;  // the threads go on meanwhile
}

int queues() {
  std::size_t made = 0;
  auto* const ring = allocate(0, 4096, true, true);
  for (HsaQueueResource resource{};; ++made) {
    if (hsaKmtCreateQueue(gpu_nodes[0], HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL, ring, 4096, nullptr,
                          &resource) != HSAKMT_STATUS_SUCCESS) {
      break;
    }
  }
  std::printf("%zu queues\n", made);
  return 0;
}

int absent() {
  HsaNodeProperties properties{};
  check(hsaKmtGetNodeProperties(gpu_nodes[0], &properties), "hsaKmtGetNodeProperties");
  auto* const words = static_cast<std::uint64_t*>(allocate(0, kBytes, true));
  std::vector<std::unique_ptr<Queue>> all;
  for (std::uint32_t i = 0; i < properties.NumSdmaXgmiEngines; ++i) {
    all.push_back(std::make_unique<Queue>(gpu_nodes[0], HSA_QUEUE_SDMA_XGMI));
    all.back()->add(fence(words + i * 4, 1)).submit();
  }
  const auto finished = [&] { return std::ranges::count_if(all, [](const auto& queue) { return queue->finished(); }); };
  wait_for([&] { return 2 * finished() >= std::ssize(all); }, "half of the engines");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::printf("%lld of %zu engines\n", static_cast<long long>(finished()), all.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  check(hsaKmtOpenKFD(), "hsaKmtOpenKFD");
  pid_t child = 0;
  if (what == "fork") {
    what = "ordered";
    child = fork();
    if (child == 0) check(hsaKmtOpenKFD(), "hsaKmtOpenKFD in the child");
  }
  HsaSystemProperties system{};
  check(hsaKmtAcquireSystemProperties(&system), "hsaKmtAcquireSystemProperties");
  for (HSAuint32 node = 0; node < system.NumNodes; ++node) {
    HsaNodeProperties properties{};
    check(hsaKmtGetNodeProperties(node, &properties), "hsaKmtGetNodeProperties");
    if (properties.NumFComputeCores > 0) gpu_nodes.push_back(node);
  }
  if (gpu_nodes.empty()) give_up("no GPU");
  if (what == "copies") return copies();
  if (what == "unordered") return two_engines(false);
  if (what == "ordered") {
    const int result = two_engines(true);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) give_up("the child failed");
    return result;
  }
  if (what == "unmapped") return unmapped();
  if (what == "large" && argc > 2) return large(static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  if (what == "churn" && argc > 2) return churn(std::atoi(argv[2]));
  if (what == "threads") return threads();
  if (what == "queues") return queues();
  if (what == "absent") return absent();
  if (what == "leave" || what == "exec") start_work();
  if (what == "leave") return 0;
  if (what == "exec") execlp(argv[0], argv[0], "copies", nullptr);
  give_up("what? See the first lines of its source");
}
