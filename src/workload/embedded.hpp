// The model files as of the build of the library.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace cortado::internal {

/// (name, text of models/<name>.toml) of every model.
std::span<const std::pair<std::string_view, std::string_view>> embedded_models();

}  // namespace cortado::internal
