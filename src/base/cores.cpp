#include "base/cores.hpp"

#include <fstream>

#include <fmt/format.h>

namespace cortado {

// Not sysconf: on AMD processors the C library reports the caches of all cores together (256 MiB where each core has
// 32), and so does its memcpy.
Bytes last_level_cache() {
  Bytes last{std::uint64_t{32} << 20};
  for (int index = 0;; ++index) {  // levels ascend
    std::ifstream size(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::uint64_t kibibytes = 0;
    if (!(size >> kibibytes)) return last;
    last = {kibibytes << 10};
  }
}

}  // namespace cortado
