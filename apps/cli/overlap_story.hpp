// The last part of the demo: one question about overlap, from the plans to a proof, a prediction and a real run.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/device/driver.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/failure.hpp"

namespace cortado::cli {

struct OverlapStory {
  std::string text;
  std::uint64_t wrong = 0;  ///< output bytes of the real runs
};

/// Where the machine does not say what products cost, or the device runs none, the story says so and is short.
pipeline::Outcome<OverlapStory> overlap_story(const Machine& machine, device::Driver& driver);

}  // namespace cortado::cli
