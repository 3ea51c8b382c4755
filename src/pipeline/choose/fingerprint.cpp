#include "pipeline/choose/fingerprint.hpp"

#include "model_fingerprint.hpp"

namespace cortado::pipeline {

std::string_view model_fingerprint() {
  return kModelFingerprint;
}

}  // namespace cortado::pipeline
