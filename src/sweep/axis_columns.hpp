// Axes of a spec as columns of a database.
#pragma once

#include <string>
#include <vector>

#include "sweep/spec.hpp"
#include "sweep/sqlite.hpp"

namespace cortado::sweep {

/// Their names, as SQL writes them.
std::vector<std::string> axis_columns(const Spec& spec);

void bind_value(Statement& statement, int at, const Value& value);

/// As text_of writes the value that was bound.
std::string text_of_column(const Statement& row, int at);

}  // namespace cortado::sweep
