// The machine files as of the build of the library.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace cortado::internal {

/// (name, text of machines/<name>.toml) of every machine.
std::span<const std::pair<std::string_view, std::string_view>> embedded_machines();

}  // namespace cortado::internal
