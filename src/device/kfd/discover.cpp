#include "device/kfd/discover.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "device/kfd/status.hpp"

namespace cortado::device {
namespace {

/// The public name, which the library stores as 16-bit characters; the internal name if there is none.
std::string gpu_name(const HsaNodeProperties& properties) {
  std::string name;
  for (const HSAuint16 character : properties.MarketingName) {
    if (character == 0) break;
    name += character < 0x80 ? static_cast<char>(character) : '?';
  }
  if (!name.empty()) return name;
  const auto* const begin = reinterpret_cast<const char*>(properties.AMDName);
  return {begin, std::find(begin, begin + sizeof properties.AMDName, '\0')};
}

/// Engine numbers as KFD counts them: first the engines for the host link, then those for xGMI.
GpuInfo gpu_info(const HsaNodeProperties& properties) {
  GpuInfo gpu{gpu_name(properties), {}, properties.NumSdmaQueuesPerEngine};
  const std::uint32_t host = properties.NumSdmaEngines;
  for (std::uint32_t i = 0; i < host + properties.NumSdmaXgmiEngines; ++i) {
    gpu.engines.push_back({EngineId{i}, i < host ? EngineClass::host : EngineClass::peer, true});
  }
  return gpu;
}

/// Recommended engines of every link of a node, by target node. Only for libraries and kernels that know the property.
Result<std::vector<IoLinkWithMask>> links_of(const ThunkFunctions& thunk, HSAuint32 node, HSAuint32 count) {
  std::vector<IoLinkWithMask> links(count);
  if (count == 0) return links;
  auto* const out = reinterpret_cast<HsaIoLinkProperties*>(links.data());
  if (const Outcome got = call(thunk.get_node_io_link_properties, node, count, out); !got.ok()) {
    return fail(thunk_error("device.topology", fmt::format("hsaKmtGetNodeIoLinkProperties of node {}", node), got));
  }
  return links;
}

}  // namespace

Result<Discovery> discover(const ThunkFunctions& thunk, std::uint32_t nodes) {
  HsaVersionInfo version{};
  if (const Outcome got = call(thunk.get_version, &version); !got.ok()) {
    return fail(thunk_error("device.topology", "hsaKmtGetVersion", got));
  }
  const bool kernel_1_17 = version.KernelInterfaceMajorVersion > 1 ||
                           (version.KernelInterfaceMajorVersion == 1 && version.KernelInterfaceMinorVersion >= 17);

  Discovery found;
  found.queues_by_engine = kernel_1_17 && thunk.create_queue_ext;
  std::vector<HSAuint32> link_counts;
  bool host_seen = false;
  for (HSAuint32 node = 0; node < nodes; ++node) {
    Padded<HsaNodeProperties> properties;
    if (const Outcome got = call(thunk.get_node_properties, node, &properties.value); !got.ok()) {
      return fail(thunk_error("device.topology", fmt::format("hsaKmtGetNodeProperties of node {}", node), got));
    }
    if (properties.value.NumCPUCores > 0 && !host_seen) {
      found.host_node = node;
      host_seen = true;
    }
    if (properties.value.NumFComputeCores == 0) continue;
    found.gpu_nodes.push_back(node);
    found.topology.gpus.push_back(gpu_info(properties.value));
    link_counts.push_back(properties.value.NumIOLinks);
  }
  const std::size_t gpus = found.gpu_nodes.size();
  if (gpus == 0) {
    return fail(Diagnostic{"device.no_gpu",
                           fmt::format("/dev/kfd is there, but none of its {} nodes is a GPU", nodes),
                           "run on the embedded node instead: --on soft",
                           {},
                           About::environment});
  }

  found.topology.recommended.assign(gpus, std::vector<std::uint32_t>(gpus, 0));
  for (std::size_t src = 0; found.queues_by_engine && src < gpus; ++src) {
    CORTADO_ASSIGN_OR_RETURN(const auto links, links_of(thunk, found.gpu_nodes[src], link_counts[src]));
    for (const IoLinkWithMask& link : links) {
      const auto dst = std::find(found.gpu_nodes.begin(), found.gpu_nodes.end(), link.before_mask[kLinkNodeTo]);
      if (dst == found.gpu_nodes.end()) continue;
      found.topology.recommended[src][static_cast<std::size_t>(dst - found.gpu_nodes.begin())] =
          link.recommended_engines;
    }
  }
  found.topology.node =
      fmt::format("KFD {}.{}: {} GPU{} ({}), {}", version.KernelInterfaceMajorVersion,
                  version.KernelInterfaceMinorVersion, gpus, gpus == 1 ? "" : "s", found.topology.gpus.front().name,
                  found.queues_by_engine ? "queues by engine" : "engines chosen by the kernel");
  return found;
}

}  // namespace cortado::device
