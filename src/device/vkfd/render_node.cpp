// Ioctls of a render node: what libdrm_amdgpu requests when it opens a GPU.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/ioctl.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/abi/drm_abi.hpp"
#include "device/vkfd/program_memory.hpp"
#include "device/vkfd/virtual_kfd.hpp"

namespace cortado::device::vkfd {
namespace {

bool answer_text(std::string_view text, char* out, std::uint64_t& bytes) {
  const std::size_t room = std::exchange(bytes, text.size());
  return out == nullptr || copy_out(out, text.data(), std::min(text.size(), room));
}

int answer_version(void* argument) {
  drm::Version version;
  if (!copy_in(&version, argument, sizeof(version))) return EFAULT;
  version.major = 3;
  version.minor = 54;
  version.patch = 0;
  const bool answered = answer_text("amdgpu", version.name, version.name_bytes) &&
                        answer_text("20150101", version.date, version.date_bytes) &&
                        answer_text("AMD GPU", version.description, version.description_bytes) &&
                        copy_out(argument, &version, sizeof(version));
  return answered ? 0 : EFAULT;
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
  if (_IOC_NR(request) == drm::kVersionCall) return answer_version(argument);
  if (_IOC_NR(request) == drm::kInfoCall) {
    drm::Info info;
    if (!copy_in(&info, argument, sizeof(info))) return EFAULT;
    // As many bytes of an answer as there is room for; the rest of the room, if it is that of a real answer, is zero.
    const auto answer = [&](const void* value, std::size_t bytes) {
      constexpr std::size_t kLargestAnswer = 4096;
      std::vector<std::byte> out(std::min<std::size_t>(info.out_bytes, kLargestAnswer));
      std::memcpy(out.data(), value, std::min(bytes, out.size()));
      return copy_out(info.out, out.data(), out.size()) ? 0 : EFAULT;
    };
    constexpr std::uint32_t kWorks = 1;
    constexpr std::uint32_t kRegister = 0;
    const drm::DeviceInfo device = device_info(machine_, part_);
    switch (static_cast<drm::Query>(info.query)) {
      case drm::Query::accel_working:
        return answer(&kWorks, sizeof(kWorks));
      case drm::Query::read_registers:
        return answer(&kRegister, sizeof(kRegister));
      case drm::Query::device_info:
        return answer(&device, sizeof(device));
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
