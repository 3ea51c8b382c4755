// The values of one axis, as a spec writes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "cortado/result.hpp"

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// More values of one axis than anybody means.
inline constexpr std::size_t kMostValues = 1'000'000;

/// A number, a text, true or false, or a list of these, joined by commas; none of anything else.
std::optional<Value> value_of(const toml::node& node);

/// Where in a spec something stands, for errors.
Place place_in(const std::string& file, const toml::node& node, const std::string& key);

/// Files are relative to `folder`.
Result<std::vector<Value>> axis_values(const toml::node& node, const std::string& name, const std::string& file,
                                       const std::string& folder);

/// A file with a line of names, then lines of values, all separated by commas.
Result<std::vector<Axis>> axes_of_file(const std::string& path);

}  // namespace cortado::sweep
