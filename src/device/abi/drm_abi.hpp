// What libdrm requests from the render node of an AMD GPU, as bytes. Source: include/uapi/drm/drm.h and amdgpu_drm.h of
// Linux.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cortado::device::drm {

inline constexpr std::uint32_t kType = 'd';
inline constexpr std::uint32_t kVersionCall = 0x00;
inline constexpr std::uint32_t kInfoCall = 0x45;
inline constexpr unsigned kMajor = 226;  ///< device number of render nodes

struct Version {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::int32_t patch = 0;
  std::uint64_t name_bytes = 0;  ///< in: room at `name`; out: its length
  char* name = nullptr;
  std::uint64_t date_bytes = 0;
  char* date = nullptr;
  std::uint64_t description_bytes = 0;
  char* description = nullptr;
};
static_assert(sizeof(Version) == 64);

enum class Query : std::uint32_t { accel_working = 0x00, read_registers = 0x15, device_info = 0x16 };

struct Info {
  void* out = nullptr;
  std::uint32_t out_bytes = 0;
  std::uint32_t query = 0;
  std::uint64_t parameters[2] = {};
};
static_assert(sizeof(Info) == 32);

/// Its first fields; the rest is zero here.
struct DeviceInfo {
  std::uint32_t device_id = 0;
  std::uint32_t chip_rev = 0;
  std::uint32_t external_rev = 0;
  std::uint32_t pci_rev = 0;
  std::uint32_t family = 0;
  std::uint32_t shader_engines = 0;
  std::uint32_t arrays_per_engine = 0;
  std::uint32_t counter_khz = 0;
  std::uint64_t max_engine_khz = 0;
  std::uint64_t max_memory_khz = 0;
  std::uint32_t active_units = 0;
  std::uint32_t always_on_mask = 0;
  std::uint32_t unit_bitmap[4][4] = {};
  std::uint32_t pipes_mask = 0;
  std::uint32_t pipes = 0;
  std::uint32_t contexts = 0;
  std::uint32_t pcie_generation = 0;
  std::uint64_t flags = 0;
  std::uint64_t address_offset = 0;
  std::uint64_t address_max = 0;
  std::uint32_t address_alignment = 0;
  std::uint32_t fragment_size = 0;
  std::uint32_t gart_page_size = 0;
  std::uint32_t ce_ram_size = 0;
  std::uint32_t vram_type = 0;
  std::uint32_t vram_bits = 0;
};
static_assert(offsetof(DeviceInfo, address_offset) == 144 && offsetof(DeviceInfo, vram_bits) == 180);

inline constexpr std::uint32_t kFamilyVega = 141;

}  // namespace cortado::device::drm
