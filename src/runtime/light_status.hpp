// A Status for the path of every small operation.
#pragma once

#include <memory>
#include <utility>

#include "cortado/result.hpp"

namespace cortado::runtime {

/// One word, null while all is well. A Status is over 200 bytes, all of which `return {}` clears: 15 ns each time,
/// where two ranks meet in 100.
class [[nodiscard]] LightStatus {
 public:
  LightStatus() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as a Status is made of what fail() returns
  LightStatus(tl::unexpected<Diagnostic>&& failure)
      : failure_(std::make_unique<Diagnostic>(std::move(failure.value()))) {}

  explicit operator bool() const { return failure_ == nullptr; }
  Diagnostic&& error() && { return std::move(*failure_); }
  // NOLINTNEXTLINE(google-explicit-constructor): on its way to the caller
  operator Status() && {
    if (failure_ == nullptr) return {};
    return fail(std::move(*failure_));
  }

 private:
  std::unique_ptr<Diagnostic> failure_;
};

}  // namespace cortado::runtime
