// The layers of models as axes: a point for each GEMM of a layer that depends on a collective, or a collective on it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "cortado/result.hpp"

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// Of a zip:
///
///   models = ["llama-3.1-8b", "llama-3.1-70b"]   # names, or paths of config.json
///   tp = 8                                       # GPUs that share a layer; their tokens are divided too, as --sp does
///   tokens = [2048, 8192]                        # of a prompt
///
/// The axes operator, model and prompt (its tokens) only tell points apart; ranks, collective and gemm are flags of
/// cortado overlap. Paths are relative to `folder`.
Result<std::vector<Axis>> axes_of_models(const toml::table& zip, const std::string& file, const std::string& folder);

/// Those of the axes that are no flags.
inline constexpr std::array<std::string_view, 3> kModelLabels{"operator", "model", "prompt"};

}  // namespace cortado::sweep
