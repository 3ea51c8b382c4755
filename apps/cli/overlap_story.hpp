// A part of the demo: a product beside a collective that it does not need, from the plans to a proof, a prediction and
// a real run.
#pragma once

#include "cortado/device/driver.hpp"

#include "story.hpp"

namespace cortado::cli {

/// Where the machine does not say what products cost, or the device runs none, the story says so and is short.
pipeline::Outcome<StoryPart> overlap_story(const Machine& machine, device::Driver& driver);

}  // namespace cortado::cli
