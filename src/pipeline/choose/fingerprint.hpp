// What a time depends on besides the machine and the request.
#pragma once

#include <string_view>

namespace cortado::pipeline {

/// Hash of the sources that plan, prove and simulate.
std::string_view model_fingerprint();

}  // namespace cortado::pipeline
