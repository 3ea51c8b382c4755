#include "device/kfd/discover.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace cortado::device {
namespace {

using Properties = std::map<std::string, std::uint64_t>;

/// Lines of "key value".
Properties parse_properties(const std::string& text) {
  Properties properties;
  std::istringstream lines(text);
  std::string key;
  std::string value;
  while (lines >> key >> value) properties[key] = std::strtoull(value.c_str(), nullptr, 10);
  return properties;
}

std::uint32_t property(const Properties& properties, const std::string& key) {
  const auto found = properties.find(key);
  return found == properties.end() ? 0 : static_cast<std::uint32_t>(found->second);
}

/// 90402 is gfx942: major, minor and stepping in two decimal digits each, the last ones as hexadecimal digits.
std::string gfx_name(std::uint32_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

/// Engine numbers as KFD counts them: first the engines for the host link, then those for xGMI.
GpuInfo gpu_info(const Properties& properties) {
  GpuInfo gpu{fmt::format("{} device {:#06x}", gfx_name(property(properties, "gfx_target_version")),
                          property(properties, "device_id")),
              {},
              property(properties, "num_sdma_queues_per_engine")};
  const std::uint32_t host = property(properties, "num_sdma_engines");
  for (std::uint32_t i = 0; i < host + property(properties, "num_sdma_xgmi_engines"); ++i) {
    gpu.engines.push_back({EngineId{i}, i < host ? EngineClass::host : EngineClass::peer, true});
  }
  return gpu;
}

std::string node_folder(std::uint32_t node) {
  return fmt::format("{}/nodes/{}", kfd::kTopology, node);
}

void add_recommended(KfdSystem& system, Discovery& found, std::size_t src) {
  for (std::uint32_t link = 0;; ++link) {
    const auto text = system.read(fmt::format("{}/io_links/{}/properties", node_folder(found.gpus[src].node), link));
    if (!text && text.error() == ENOENT) return;
    if (!text) continue;  // to a node that this process cannot see
    const Properties properties = parse_properties(*text);
    const auto dst = std::ranges::find(found.gpus, property(properties, "node_to"), &KfdGpu::node);
    if (dst == found.gpus.end()) continue;
    found.topology.recommended[src][static_cast<std::size_t>(dst - found.gpus.begin())] =
        property(properties, "recommended_sdma_engine_id_mask");
  }
}

}  // namespace

Result<Discovery> discover(KfdSystem& system, const kfd::GetVersion& version) {
  Discovery found;
  found.queues_by_engine = version.major > kfd::kMajorVersion ||
                           (version.major == kfd::kMajorVersion && version.minor >= kfd::kVersionWithEngineQueues);
  std::uint32_t nodes = 0;
  for (;; ++nodes) {
    const auto id = system.read(node_folder(nodes) + "/gpu_id");
    if (!id && id.error() == ENOENT) break;
    const auto text = system.read(node_folder(nodes) + "/properties");
    // Nodes outside the container's share exist, but cannot be read.
    if (!id || !text) continue;
    const Properties properties = parse_properties(*text);
    if (property(properties, "simd_count") == 0) continue;
    found.gpus.push_back({nodes, static_cast<std::uint32_t>(std::strtoul(id->c_str(), nullptr, 10)),
                          property(properties, "drm_render_minor")});
    found.topology.gpus.push_back(gpu_info(properties));
  }
  const std::size_t gpus = found.gpus.size();
  if (gpus == 0) {
    return fail(Diagnostic{
        "device.no_gpu",
        fmt::format("{} exists, but none of the {} nodes in {} is a GPU", kfd::kDevice, nodes, kfd::kTopology),
        kUseSoft,
        {},
        About::environment});
  }
  found.topology.recommended.assign(gpus, std::vector<std::uint32_t>(gpus, 0));
  for (std::size_t src = 0; found.queues_by_engine && src < gpus; ++src) add_recommended(system, found, src);
  found.topology.node = fmt::format("KFD {}.{}: {} GPU{} ({}), {}", version.major, version.minor, gpus,
                                    gpus == 1 ? "" : "s", found.topology.gpus.front().name,
                                    found.queues_by_engine ? "queues by engine" : "engines chosen by the kernel");
  return found;
}

}  // namespace cortado::device
