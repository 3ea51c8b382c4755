// The commands that a sweep can ask, each with its own flags and its own tables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "sweep/question.hpp"

namespace cortado::cli {

std::vector<std::string> question_names();

/// Refuses unknown names with the nearest known one (sweep.question).
Result<std::unique_ptr<sweep::Question>> find_question(const std::string& name);

}  // namespace cortado::cli
