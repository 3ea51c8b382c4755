// The tables of a reproduction that text, Markdown and pages show.
#pragma once

#include <string>
#include <vector>

#include "reproduce/reproduction.hpp"

namespace cortado::report {

/// "2.87 / 2.91": published and ours, by size; "- / 2.91" if the published point is left out.
Table side_by_side(const ReproducedTable& table);

/// "mean error 4.2 % (goal 8), worst 20.1 % (goal 25): reached"
std::string verdict(const ReproducedTable& table);

Table figure_table(const std::vector<ReproducedFigure>& figures);

}  // namespace cortado::report
