// What a spec keeps of answers, and ranks in them, before the first point is done.
#pragma once

#include "cortado/result.hpp"

#include "sweep/question.hpp"
#include "sweep/spec.hpp"

namespace cortado::sweep {

/// Refuses tables and columns that no answer has, with the nearest known one, and a ranking by what is not kept
/// (sweep.column), or by a condition that is no SQL over it (sweep.sql).
Status check_kept(const Spec& spec, const Question& question);

}  // namespace cortado::sweep
