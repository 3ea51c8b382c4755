#include "device/vkfd/part.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

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

}  // namespace cortado::device::vkfd
