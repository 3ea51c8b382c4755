// Programs put together: what several collectives, planned alone, are when one follows another.
#pragma once

#include "plan/collective/variant.hpp"

namespace cortado::plan {

/// Adds `more` behind `program`: the same hosts launch it when they have seen the end of what was there. Time begins
/// and ends once. The buffers, signals and queues of `more` get names that end in `suffix`.
void append_program(OpenProgram& program, OpenProgram more, const std::string& suffix);

}  // namespace cortado::plan
