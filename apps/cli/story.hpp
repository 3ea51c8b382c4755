// What the parts of the demo have in common.
#pragma once

#include <cstdint>
#include <string>

#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/run.hpp"

namespace cortado::cli {

struct StoryPart {
  std::string text;
  std::uint64_t wrong = 0;  ///< bytes that came out wrong
};

/// The story with its ending: the program is proved, to say how large it is ("proved: 80 queues, ...; `what` is
/// right"), and the small question was run.
pipeline::Outcome<StoryPart> with_proof_and_run(StoryPart story, Result<Program> program, const Machine& machine,
                                                const std::string& what, const pipeline::Outcome<StoryPart>& run);

/// How often a small question is really run.
pipeline::RunSettings story_settings();

/// A device that runs no kernels is no failure: the part to show in place of a real run, or the failure itself.
pipeline::Outcome<StoryPart> not_run(const pipeline::Failure& failure);

}  // namespace cortado::cli
