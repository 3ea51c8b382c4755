// How many threads this computer runs at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

namespace cortado {

/// At least 1, also where the system does not say.
inline std::uint32_t available_cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace cortado
