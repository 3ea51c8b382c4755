// What computes one publication again: one file each, listed in reproduce.cpp.
#pragma once

#include <functional>
#include <string>

#include "reproduce/reproduce.hpp"

namespace cortado::pipeline {

/// The publication with our value of each of its figures, and no tables yet.
report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value);

/// Runs job(0) to job(count - 1), several at a time. Fails with the first failure of a job, or with
/// reproduce.interrupted if options.progress said no.
Outcome<void> run_all(std::size_t count, const ReproduceOptions& options,
                      const std::function<Outcome<void>(std::size_t)>& job);

/// Fills the tables and figures of the publication with ours.
using Reproduce = Outcome<report::Reproduction>(const published::Publication& publication, const Machine& machine,
                                                const ReproduceOptions& options);
Reproduce reproduce_comppow;
Reproduce reproduce_conccl;
Reproduce reproduce_dma_latte;
Reproduce reproduce_ficco;
Reproduce reproduce_gemm;
Reproduce reproduce_kraken;
Reproduce reproduce_models;
Reproduce reproduce_nccl;
Reproduce reproduce_rccl;
Reproduce reproduce_t3;

}  // namespace cortado::pipeline
