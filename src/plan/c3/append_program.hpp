// Programs put together: what several programs, each planned alone, are when one follows another.
#pragma once

#include "plan/collective/variant.hpp"

namespace cortado::plan {

/// With the places of its host queues, one for each rank, which have "begin" and "end".
OpenProgram open_program(Program program);

/// Adds `more` behind `program`: the same hosts launch it when they have seen the end of what was there. Time begins
/// and ends once. The buffers, signals and queues of `more` get names that end in `suffix`.
void append_program(OpenProgram& program, OpenProgram more, const std::string& suffix);

/// Adds `more` beside `program`: each keeps its own host queues, and both begin at once.
void add_beside(OpenProgram& program, OpenProgram more, const std::string& suffix);

}  // namespace cortado::plan
