// What computes one publication again: one file each, listed in reproduce.cpp.
#pragma once

#include <functional>
#include <string>

#include "reproduce/reproduce.hpp"

namespace cortado::pipeline {

/// The publication with our value of each of its figures, and no tables yet.
report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value);

/// Fills the tables and figures of the publication with ours.
Outcome<report::Reproduction> reproduce_comppow(const published::Publication& publication, const Machine& machine,
                                                const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_conccl(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_dma_latte(const published::Publication& publication, const Machine& machine,
                                                  const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_ficco(const published::Publication& publication, const Machine& machine,
                                              const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_gemm(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_kraken(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_models(const published::Publication& publication, const Machine& machine,
                                               const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_nccl(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_rccl(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions& options);
Outcome<report::Reproduction> reproduce_t3(const published::Publication& publication, const Machine& machine,
                                           const ReproduceOptions& options);

}  // namespace cortado::pipeline
