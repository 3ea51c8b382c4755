// Why planning, proving or running a program stopped, and at which stage.
#pragma once

#include <functional>
#include <vector>

#include "cortado/base/result.hpp"

namespace cortado {

enum class Stage { plan, verify, prepare, run };

/// Told of each stage as it begins.
using OnStage = std::function<void(Stage)>;

struct Failure {
  Stage stage = Stage::plan;
  std::vector<Diagnostic> errors;  ///< at least one; only verify gives several

  /// True if the program itself was found wanting (refused by the verifier, a fault or a time-out while it ran), false
  /// if the request or the environment was.
  bool program_failed() const { return stage == Stage::verify || stage == Stage::run; }
};

template <class T>
using Outcome = tl::expected<T, Failure>;

inline tl::unexpected<Failure> fail_at(Stage stage, Diagnostic error) {
  return tl::unexpected(Failure{stage, {std::move(error)}});
}
inline tl::unexpected<Failure> fail_at(Stage stage, std::vector<Diagnostic> errors) {
  return tl::unexpected(Failure{stage, std::move(errors)});
}

}  // namespace cortado
