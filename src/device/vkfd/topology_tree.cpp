#include "device/vkfd/topology_tree.hpp"

#include <algorithm>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/abi/kfd_abi.hpp"

namespace cortado::device::vkfd {
namespace {

// gfx versions and device ids: Linux amdgpu driver and libdrm's amdgpu.ids; everything else of MI300X is from KFD
// topology dumps in public test suites. Arrays, clocks and caches of the other parts are assumptions: nothing here
// depends on them.
constexpr Part kParts[] = {
    {"MI250X GCD", 90010, 0x7408, 1, 8, 14, 1700, 8192}, {"MI300X", 90402, 0x74a1, 8, 32, 10, 2100, 262144},
    {"MI308X", 90402, 0x74a2, 4, 16, 10, 2100, 262144},  {"MI325X", 90402, 0x74a5, 8, 32, 10, 2100, 262144},
    {"MI355X", 90500, 0x75a3, 8, 32, 8, 2400, 262144},
};

}  // namespace

Result<Part> part_of(const Machine& machine) {
  const auto* const part = std::ranges::find(kParts, std::string_view(machine.gpu), &Part::gpu);
  if (part != std::end(kParts)) return *part;
  std::vector<std::string> known;
  for (const Part& each : kParts) known.emplace_back(each.gpu);
  return fail(About::machine, "vkfd.machine",
              fmt::format("{} has GPUs of type {}, which the AMD driver does not support", machine.name, machine.gpu),
              fmt::format("use a machine with {}, such as mi300x-8", join(known)));
}

namespace {

using Tree = std::map<std::string, std::string>;
using Lines = std::vector<std::pair<const char*, std::uint64_t>>;

constexpr std::uint32_t kSimdsPerUnit = 4;
constexpr std::uint64_t kPublicHeap = 1;
constexpr std::uint64_t kSystemHeap = 0;
constexpr std::uint64_t kHive = 0x1d00dfeed;  // any number: GPUs joined by xGMI have the same one

// 64-bit doorbells (2 in bits 12 and 13), queues of any power of two (3, 4). No SVM (27), no debugger (30).
constexpr std::uint64_t kCapability = 2U << 12 | 1U << 4 | 1U << 3;

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& [key, value] : lines) text += fmt::format("{} {}\n", key, value);
  return text;
}

std::uint64_t cores() {
  return static_cast<std::uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

std::uint64_t host_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint32_t mask_of(const Machine& machine, EngineClass kind) {
  std::uint32_t mask = 0;
  for (const Engine& engine : machine.engines) {
    if (engine.kind == kind && engine.id.value < 32) mask |= 1U << engine.id.value;
  }
  return mask;
}

/// The one engine of the affinity table, or all of the class.
std::uint32_t recommended(const Machine& machine, std::uint32_t src, std::uint32_t dst) {
  if (src < machine.affinity.size() && dst < machine.affinity[src].size() && machine.affinity[src][dst]) {
    return 1U << machine.affinity[src][dst]->value;
  }
  return mask_of(machine, EngineClass::peer);
}

std::string link(std::uint32_t type, std::uint32_t from, std::uint32_t to, std::uint64_t weight, double gbps,
                 std::uint32_t mask) {
  const auto mbps = static_cast<std::uint64_t>(gbps * 1000);
  return text_of({{"type", type},
                  {"version_major", 0},
                  {"version_minor", 0},
                  {"node_from", from},
                  {"node_to", to},
                  {"weight", weight},
                  {"min_latency", 0},
                  {"max_latency", 0},
                  {"min_bandwidth", mbps},
                  {"max_bandwidth", mbps},
                  {"recommended_transfer_size", 0},
                  {"recommended_sdma_engine_id_mask", mask},
                  {"flags", 1}});
}

void add_link(Tree& tree, const std::string& node, std::uint64_t& links, std::string text) {
  tree[fmt::format("{}/io_links/{}/properties", node, links++)] = std::move(text);
}

double pcie_rate(const Machine& machine) {
  return machine.timing && machine.timing->host_link ? machine.timing->host_link->to_gpu.value : 0;
}

double xgmi_rate(const Machine& machine, std::uint32_t src, std::uint32_t dst) {
  return machine.timing ? machine.timing->link.peak.value * machine.link_count(RankId{src}, RankId{dst}) : 0;
}

void add_host(Tree& tree, const Machine& machine, const std::string& node) {
  std::uint64_t links = 0;
  for (std::uint32_t gpu = 0; gpu < machine.gpus; ++gpu) {
    add_link(tree, node, links, link(kfd::kLinkPcie, 0, gpu + 1, 20, pcie_rate(machine), 0));
  }
  tree[node + "/gpu_id"] = "0\n";
  tree[node + "/name"] = "\n";
  tree[node + "/mem_banks/0/properties"] = text_of(
      {{"heap_type", kSystemHeap}, {"size_in_bytes", host_memory()}, {"flags", 0}, {"width", 64}, {"mem_clk_max", 0}});
  tree[node + "/properties"] = text_of({{"cpu_cores_count", cores()},
                                        {"simd_count", 0},
                                        {"mem_banks_count", 1},
                                        {"caches_count", 0},
                                        {"io_links_count", links},
                                        {"p2p_links_count", 0},
                                        {"cpu_core_id_base", 0},
                                        {"simd_id_base", 0},
                                        {"max_waves_per_simd", 0},
                                        {"simd_per_cu", 0},
                                        {"max_engine_clk_ccompute", 0}});
}

void add_gpu(Tree& tree, const Machine& machine, const Part& part, std::uint32_t gpu, const std::string& node) {
  std::uint64_t links = 0;
  add_link(tree, node, links,
           link(kfd::kLinkPcie, gpu + 1, 0, 20, pcie_rate(machine), mask_of(machine, EngineClass::host)));
  for (std::uint32_t peer = 0; peer < machine.gpus; ++peer) {
    if (peer == gpu || !machine.linked[gpu][peer]) continue;
    add_link(
        tree, node, links,
        link(kfd::kLinkXgmi, gpu + 1, peer + 1, 15, xgmi_rate(machine, gpu, peer), recommended(machine, gpu, peer)));
  }
  tree[node + "/gpu_id"] = fmt::format("{}\n", gpu_id(gpu));
  tree[node + "/name"] = "ip discovery\n";
  tree[node + "/mem_banks/0/properties"] = text_of({{"heap_type", kPublicHeap},
                                                    {"size_in_bytes", machine.memory_bytes.value},
                                                    {"flags", 0},
                                                    {"width", 8192},
                                                    {"mem_clk_max", 1300}});
  // ROCr requires at least one cache.
  tree[node + "/caches/0/properties"] = text_of({{"processor_id_low", gpu * 100},
                                                 {"level", 2},
                                                 {"size", part.cache_kib},
                                                 {"cache_line_size", 128},
                                                 {"cache_lines_per_tag", 1},
                                                 {"association", 16},
                                                 {"latency", 0},
                                                 {"type", 9}}) +
                                        "sibling_map 1\n";
  const auto count = [&](EngineClass kind) {
    return static_cast<std::uint64_t>(std::ranges::count(machine.engines, kind, &Engine::kind));
  };
  tree[node + "/properties"] = text_of({{"cpu_cores_count", 0},
                                        {"simd_count", std::uint64_t{machine.compute_units} * kSimdsPerUnit},
                                        {"mem_banks_count", 1},
                                        {"caches_count", 1},
                                        {"io_links_count", links},
                                        {"p2p_links_count", 0},
                                        {"cpu_core_id_base", 0},
                                        {"simd_id_base", 2147487744U + gpu * 4096},
                                        {"max_waves_per_simd", 8},
                                        {"lds_size_in_kb", 64},
                                        {"gds_size_in_kb", 0},
                                        {"num_gws", 0},
                                        {"wave_front_size", 64},
                                        {"array_count", part.shader_arrays},
                                        {"simd_arrays_per_engine", 1},
                                        {"cu_per_simd_array", part.units_per_array},
                                        {"simd_per_cu", kSimdsPerUnit},
                                        {"max_slots_scratch_cu", 32},
                                        {"gfx_target_version", part.gfx_target_version},
                                        {"vendor_id", 4098},
                                        {"device_id", part.device_id},
                                        {"location_id", std::uint64_t{gpu + 1} << 8},
                                        {"domain", 0},
                                        {"drm_render_minor", kfd::kFirstRenderMinor + gpu},
                                        {"hive_id", kHive},
                                        {"num_sdma_engines", count(EngineClass::host)},
                                        {"num_sdma_xgmi_engines", count(EngineClass::peer)},
                                        {"num_sdma_queues_per_engine", machine.dma.queues_per_engine},
                                        {"num_cp_queues", 24},
                                        {"max_engine_clk_fcompute", part.engine_clock_mhz},
                                        {"local_mem_size", machine.memory_bytes.value},
                                        {"fw_version", 154},
                                        {"capability", kCapability},
                                        {"debug_prop", 0},
                                        {"sdma_fw_version", 0x1a5},  // from this version on, ROCr flushes the host path
                                        {"unique_id", 0xc0de0000 + gpu},
                                        {"num_xcc", part.compute_dies},
                                        {"max_engine_clk_ccompute", 0}});
}

}  // namespace

std::map<std::string, std::string> topology_tree(const Machine& machine, const Part& part) {
  Tree tree;
  const std::string top = kfd::kTopology;
  tree[top + "/generation_id"] = "1\n";
  tree[top + "/system_properties"] = "platform_oem 0\nplatform_id 0\nplatform_rev 0\n";
  add_host(tree, machine, top + "/nodes/0");
  for (std::uint32_t gpu = 0; gpu < machine.gpus; ++gpu) {
    add_gpu(tree, machine, part, gpu, fmt::format("{}/nodes/{}", top, gpu + 1));
    // A folder that libdrm looks for.
    tree[fmt::format("/sys/dev/char/226:{}/device/drm/renderD{}/dev", kfd::kFirstRenderMinor + gpu,
                     kfd::kFirstRenderMinor + gpu)] = fmt::format("226:{}\n", kfd::kFirstRenderMinor + gpu);
  }
  // For lsmod, which rocminfo uses to check whether the driver is loaded.
  tree["/proc/modules"] = "amdgpu 9000000 0 - Live 0x0000000000000000\n";
  tree["/sys/module/amdgpu/initstate"] = "live\n";
  tree["/sys/module/amdgpu/version"] = "6.8.5\n";
  tree["/sys/module/amdgpu/refcnt"] = "0\n";
  tree["/sys/module/amdgpu/coresize"] = "9000000\n";
  tree["/sys/module/amdgpu/holders/.keep"] = "";
  return tree;
}

}  // namespace cortado::device::vkfd
