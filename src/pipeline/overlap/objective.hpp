// The choice among ways by what they are ranked by: time, energy, or both.
#pragma once

#include <string>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/report/overlap_basis.hpp"

#include "pipeline/overlap/study.hpp"

namespace cortado::pipeline {

/// Refuses energy where nobody counts it: on devices (overlap.objective) and machines without power (power.machine).
Status check_objective(report::Objective objective, const Machine& machine, Times kind);

/// What a row is ranked by: less is better.
double cost_of(const report::WayRow& row, report::Objective objective);

struct NamedRow {
  std::string name;
  const report::WayRow* row = nullptr;
};

template <class Row>
std::vector<NamedRow> named_rows(const std::vector<Row>& rows, std::string Row::*name) {
  std::vector<NamedRow> named;
  for (const Row& row : rows) named.push_back({row.*name, &row});
  return named;
}

/// Says so in the note if rows draw more than their board may: clocks are those of the machine file.
void add_cap_note(report::OverlapBasis& basis, const std::vector<NamedRow>& rows, const Machine& machine);

/// Why `best`, one of these rows, is the one to use by energy or by its product with time, in one line.
std::string energy_reason(const std::vector<NamedRow>& rows, const report::WayRow& best, report::Objective objective);

}  // namespace cortado::pipeline
