// Published results recomputed on a modelled machine.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "reproduce/reproduction.hpp"

namespace cortado::pipeline {

struct ReproduceOptions {
  std::uint32_t threads = 1;      ///< concurrent simulations; results do not depend on it
  bool collectives_only = false;  ///< for callers that need nothing else; some publications have more
  /// Called with (done, total) simulations, never by two threads at once; false stops.
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// `machine` none: the one on which the publication measured.
Outcome<report::Reproduction> reproduce(const std::string& publication, const std::optional<Machine>& machine,
                                        const ReproduceOptions& options = {});

}  // namespace cortado::pipeline
