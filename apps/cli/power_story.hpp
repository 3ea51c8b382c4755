// A part of the demo: what it draws, and what managing components would give.
#pragma once

#include "cortado/device/driver.hpp"

#include "story.hpp"

namespace cortado::cli {

/// Where the machine says nothing of power the story says so and is short. Nothing is run: the driver has no meter.
pipeline::Outcome<StoryPart> power_story(const Machine& machine, device::Driver& driver);

}  // namespace cortado::cli
