// The files of published/ as they were when the library was built.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace cortado::internal {

/// (name, text of published/<name>.toml) of every publication.
std::span<const std::pair<std::string_view, std::string_view>> embedded_publications();

/// (name, text of published/scenarios/<name>.toml) of every list of scenarios.
std::span<const std::pair<std::string_view, std::string_view>> embedded_scenarios();

/// (name, text of published/sublayers/<name>.toml) of every list of sub-layers.
std::span<const std::pair<std::string_view, std::string_view>> embedded_sublayers();

/// (name, text of published/products/<name>.toml) of every list of measured GEMMs.
std::span<const std::pair<std::string_view, std::string_view>> embedded_products();

/// (name, text of published/steps/<name>.toml) of every list of steps of models.
std::span<const std::pair<std::string_view, std::string_view>> embedded_steps();

}  // namespace cortado::internal
