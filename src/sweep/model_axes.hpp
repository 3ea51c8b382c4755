// The layers of models as axes: a point for each collective of a layer with the GEMM that it depends on, or that
// depends on it, or that it can hide behind; and for all GEMMs of a layer beside the collectives of sharded weights.
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
///   tokens = [2048, 8192]                        # of a prompt, or of a sequence to train on
///   tp = 8                                       # GPUs that share a layer; their tokens are divided too, as --sp does
///   ep = 8                                       # GPUs that the experts are divided among, without tp
///   phase = "train"                              # else prefill
///   fsdp = 8                                     # training: GPUs that keep a share of the weights each
///
/// The axes operator, model and prompt (its tokens) only tell points apart; ranks, collective and gemm are flags of
/// cortado overlap, and so are gemm-first, independent and bytes, where any point has them. Paths are relative to
/// `folder`.
Result<std::vector<Axis>> axes_of_models(const toml::table& zip, const std::string& file, const std::string& folder);

/// Those of the axes that are no flags.
inline constexpr std::array<std::string_view, 3> kModelLabels{"operator", "model", "prompt"};

}  // namespace cortado::sweep
