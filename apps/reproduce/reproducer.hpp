// What computes one publication again: one file each, listed in reproduce.cpp.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "reproduce/reproduce.hpp"

namespace cortado::pipeline {

/// The publication with our value of each of its figures, and no tables yet.
report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value);

/// Where a table was measured: on the machine of its publication, or on the one that its name ends with.
std::string machine_of_table(const published::Publication& publication, const published::Table& table);

/// Publications whose rows have machines of their own: `given` stands for the one of its name, others come with
/// Cortado.
Result<Machine> machine_of_row(const std::string& name, const Machine& given);
/// Their names, for people; refuses a machine that no row was measured on (reproduce.machine).
Result<std::string> machines_of_rows(const std::set<std::string>& names, const std::string& publication,
                                     const Machine& given);

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
