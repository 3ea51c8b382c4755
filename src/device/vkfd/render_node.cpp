// Ioctls of a render node: what libdrm_amdgpu requests when it opens a GPU.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/ioctl.h>

#include <fmt/format.h>

#include "device/abi/drm_abi.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {
namespace {

void answer_text(std::string_view text, char* out, std::uint64_t& bytes) {
  if (out != nullptr) std::memcpy(out, text.data(), std::min<std::size_t>(text.size(), bytes));
  bytes = text.size();
}

int answer_version(drm::Version& version) {
  version.major = 3;
  version.minor = 54;
  version.patch = 0;
  answer_text("amdgpu", version.name, version.name_bytes);
  answer_text("20150101", version.date, version.date_bytes);
  answer_text("AMD GPU", version.description, version.description_bytes);
  return 0;
}

drm::DeviceInfo device_info(const Machine& machine, const Part& part) {
  drm::DeviceInfo info;
  info.device_id = part.device_id;
  info.external_rev = 1;
  info.family = drm::kFamilyVega;
  info.shader_engines = part.shader_arrays;
  info.arrays_per_engine = 1;
  info.counter_khz = 100'000;
  info.max_engine_khz = part.engine_clock_mhz * std::uint64_t{1000};
  info.active_units = machine.compute_units;
  info.address_offset = 0x200000;
  info.address_max = 0x7fffffffffff;
  info.address_alignment = 4096;
  info.fragment_size = 2 << 20;
  info.gart_page_size = 4096;
  return info;
}

}  // namespace

int VirtualKfd::render_ioctl(std::uint32_t gpu, unsigned long request, void* argument) {
  if (_IOC_TYPE(request) != drm::kType) return ENOTTY;
  if (_IOC_NR(request) == drm::kVersionCall) return answer_version(*static_cast<drm::Version*>(argument));
  if (_IOC_NR(request) == drm::kInfoCall) {
    const auto& info = *static_cast<const drm::Info*>(argument);
    std::memset(info.out, 0, info.out_bytes);
    switch (static_cast<drm::Query>(info.query)) {
      case drm::Query::accel_working: {
        constexpr std::uint32_t kWorks = 1;
        std::memcpy(info.out, &kWorks, std::min<std::size_t>(sizeof(kWorks), info.out_bytes));
        return 0;
      }
      case drm::Query::read_registers:
        return 0;
      case drm::Query::device_info: {
        const drm::DeviceInfo device = device_info(machine_, part_);
        std::memcpy(info.out, &device, std::min<std::size_t>(sizeof(device), info.out_bytes));
        return 0;
      }
    }
    options_.log(
        fmt::format("query {:#x} of the render node of GPU {} is not supported here: EINVAL", info.query, gpu));
    return EINVAL;
  }
  options_.log(
      fmt::format("ioctl {:#04x} of the render node of GPU {} is not supported here: ENOTTY", _IOC_NR(request), gpu));
  return ENOTTY;
}

}  // namespace cortado::device::vkfd
