// The resources of this computer: how many threads run at a time, and how much its largest cache holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "cortado/result.hpp"

namespace cortado {

/// At least 1, even if the system does not say.
inline std::uint32_t available_cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// The cache of one core. If the system does not say: 32 MiB, an assumption that fits current servers.
Bytes last_level_cache();

}  // namespace cortado
