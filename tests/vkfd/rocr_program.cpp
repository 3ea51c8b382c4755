// A program on AMD's ROCr (libhsa-runtime64), as people write them; it knows nothing of Cortado.
//
//   rocr_program copies            host -> GPU 0 -> GPU 1 -> host, blocking waits
//   rocr_program bandwidth BYTES   one copy each way, timed by the GPU's own time stamps
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <string>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::fprintf(stderr, "rocr_program: %s: status %#x\n", what, static_cast<unsigned>(status));
  std::exit(1);
}

struct Agent {
  hsa_agent_t agent{};
  hsa_amd_memory_pool_t pool{};
};

struct Node {
  std::vector<Agent> gpus;
  Agent host;
};

hsa_status_t take_pool(hsa_amd_memory_pool_t pool, void* data) {
  hsa_amd_segment_t segment{};
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  bool allocates = false;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates);
  if (segment != HSA_AMD_SEGMENT_GLOBAL || !allocates) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
  return HSA_STATUS_INFO_BREAK;
}

hsa_status_t take_agent(hsa_agent_t agent, void* data) {
  auto& node = *static_cast<Node*>(data);
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  Agent found{agent, {}};
  hsa_amd_agent_iterate_memory_pools(agent, take_pool, &found.pool);
  if (type == HSA_DEVICE_TYPE_GPU) {
    node.gpus.push_back(found);
  } else {
    node.host = found;
  }
  return HSA_STATUS_SUCCESS;
}

void* allocate(const Node& node, const Agent& where, std::size_t bytes) {
  void* memory = nullptr;
  check(hsa_amd_memory_pool_allocate(where.pool, bytes, 0, &memory), "hsa_amd_memory_pool_allocate");
  std::vector<hsa_agent_t> agents;
  for (const Agent& gpu : node.gpus) agents.push_back(gpu.agent);
  check(hsa_amd_agents_allow_access(static_cast<std::uint32_t>(agents.size()), agents.data(), nullptr, memory),
        "hsa_amd_agents_allow_access");
  return memory;
}

/// Ticks of the system's clock that the copy took by the engine's time stamps.
double copy(void* dst, const Agent& to, const void* src, const Agent& from, std::size_t bytes) {
  hsa_signal_t signal{};
  check(hsa_signal_create(1, 0, nullptr, &signal), "hsa_signal_create");
  check(hsa_amd_memory_async_copy(dst, to.agent, src, from.agent, bytes, 0, nullptr, signal),
        "hsa_amd_memory_async_copy");
  constexpr std::uint64_t kForever = UINT64_MAX;
  const hsa_signal_value_t left =
      hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, kForever, HSA_WAIT_STATE_BLOCKED);
  if (left != 0) {
    std::fprintf(stderr, "rocr_program: the copy does not finish\n");
    std::exit(1);
  }
  hsa_amd_profiling_async_copy_time_t time{};
  check(hsa_amd_profiling_get_async_copy_time(signal, &time), "hsa_amd_profiling_get_async_copy_time");
  hsa_signal_destroy(signal);
  return static_cast<double>(time.end - time.start);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "copies";
  const std::size_t bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1 << 20;
  check(hsa_init(), "hsa_init");
  Node node;
  check(hsa_iterate_agents(take_agent, &node), "hsa_iterate_agents");
  if (node.gpus.size() < 2) {
    std::fprintf(stderr, "rocr_program: %zu GPUs\n", node.gpus.size());
    return 1;
  }
  check(hsa_amd_profiling_async_copy_enable(true), "hsa_amd_profiling_async_copy_enable");
  auto* const in = static_cast<unsigned char*>(allocate(node, node.host, bytes));
  auto* const out = static_cast<unsigned char*>(allocate(node, node.host, bytes));
  void* const first = allocate(node, node.gpus[0], bytes);
  void* const second = allocate(node, node.gpus[1], bytes);
  for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<unsigned char>(i % 251);
  const double up = copy(first, node.gpus[0], in, node.host, bytes);
  const double over = copy(second, node.gpus[1], first, node.gpus[0], bytes);
  const double down = copy(out, node.host, second, node.gpus[1], bytes);
  std::uint64_t frequency = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  const auto gbps = [&](double ticks) {
    return static_cast<double>(bytes) / (ticks / static_cast<double>(frequency)) / 1e9;
  };
  const bool same = std::memcmp(in, out, bytes) == 0;
  if (what == "bandwidth") std::printf("%.2f %.2f %.2f GB/s\n", gbps(up), gbps(over), gbps(down));
  std::printf("%zu bytes over %zu GPUs: %s\n", bytes, node.gpus.size(), same ? "same" : "WRONG");
  check(hsa_shut_down(), "hsa_shut_down");
  return same ? 0 : 1;
}
