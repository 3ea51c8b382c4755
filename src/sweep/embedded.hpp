// The shipped studies as they were when the library was built.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace cortado::sweep {

/// (name, text of studies/<name>.toml) of every study.
std::span<const std::pair<std::string_view, std::string_view>> embedded_studies();

}  // namespace cortado::sweep
