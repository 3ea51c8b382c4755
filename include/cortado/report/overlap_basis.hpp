// What a study left out.
#pragma once

#include <string>

#include "cortado/base/result.hpp"

namespace cortado::report {

/// A policy or schedule that cannot do it.
struct SkippedWay {
  std::string name;
  Diagnostic reason;
};

}  // namespace cortado::report
