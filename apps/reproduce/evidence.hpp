// Known errors of predictions: published numbers for similar questions next to ours.
#pragma once

#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "pipeline/explain.hpp"

namespace cortado::pipeline {

/// Everything published about the collective on the machine; recomputed, so that it holds for the machine as given.
Outcome<std::vector<Evidence>> collective_evidence(Collective collective, const Machine& machine);

/// For people: the mean error over each list of GEMMs that were measured on the machine and has one near this shape,
/// and the error of the nearest.
Result<std::vector<std::string>> gemm_evidence(const GemmShape& gemm, const Machine& machine);

/// The same for the GEMM and the collectives of a problem.
Outcome<std::vector<std::string>> overlap_evidence(const OverlapProblem& problem, const Machine& machine);

}  // namespace cortado::pipeline
