// Why a strategy is the one to use.
#pragma once

#include <string>

#include "cortado/study.hpp"

namespace cortado::pipeline {

/// Of times that differ by no more than this factor, none is the better one.
inline constexpr double kLevelWithin = 1.001;

/// One line: what bounds the time, what is not hidden, and what the other families lose. `best` is one of the rows.
std::string overlap_reason(const OverlapReport& report, const OverlapRow& best);

/// Says so in the note if rows draw more than their board may: clocks are those of the machine file.
void add_cap_note(OverlapReport& report, const Machine& machine);

}  // namespace cortado::pipeline
