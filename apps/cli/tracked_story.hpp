// A part of the demo: what hardware to come would give, memory that counts stores and adds, from the plan to a proof, a
// prediction and a real run.
#pragma once

#include "cortado/device/driver.hpp"

#include "story.hpp"

namespace cortado::cli {

/// Where the machine does not say what products cost the story says so and is short. The driver has no such hardware:
/// the small question is run on an embedded node of its own.
pipeline::Outcome<StoryPart> tracked_story(const Machine& machine, device::Driver& driver);

}  // namespace cortado::cli
