// The code that recomputes one publication: one file each, listed in reproduce.cpp.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "reproduce/published/products.hpp"
#include "reproduce/reproduce.hpp"

namespace cortado::pipeline {

/// The publication with our value of each of its figures, and no tables yet.
report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value);

/// Where a table was measured: on the machine of its publication, or on the one that its name ends with.
std::string machine_of_table(const published::Publication& publication, const published::Table& table);

/// For publications whose rows have their own machines: `given` replaces the one of its name, the others come with
/// Cortado.
Result<Machine> machine_of_row(const std::string& name, const Machine& given);
/// The machine under the conditions in which a list was measured.
Machine as_measured(const published::ProductList& list, Machine machine);
/// Their names, for display; refuses a machine on which no row was measured (reproduce.machine).
Result<std::string> machines_of_rows(const std::set<std::string>& names, const std::string& publication,
                                     const Machine& given);

/// Runs job(0) to job(count - 1), several concurrently. Fails with the first failure of a job, or with
/// reproduce.interrupted if options.progress returned false.
Outcome<void> run_all(std::size_t count, const ReproduceOptions& options,
                      const std::function<Outcome<void>(std::size_t)>& job);

/// Collects the cases of a publication, simulates all of them, and makes our figures and tables.
template <class Cases>
Outcome<report::Reproduction> reproduce_cases(const published::Publication& publication, const Machine& machine,
                                              const ReproduceOptions& options) {
  Cases cases(publication, machine);
  if (const Status collected = cases.collect(); !collected) return fail_at(Stage::plan, collected.error());
  if (const auto done = cases.simulate_all(options); !done) return fail(done.error());
  report::Reproduction ours =
      with_figures(publication, machine, [&](const std::string& name) { return cases.figure_value(name); });
  ours.own = cases.own_tables();
  return ours;
}

/// Fills the tables and figures of the publication with ours.
using Reproduce = Outcome<report::Reproduction>(const published::Publication& publication, const Machine& machine,
                                                const ReproduceOptions& options);
Reproduce reproduce_comppow;
Reproduce reproduce_conccl;
Reproduce reproduce_dma_latte;
Reproduce reproduce_ficco;
Reproduce reproduce_gemm;
Reproduce reproduce_kraken;
Reproduce reproduce_kv_fetch;
Reproduce reproduce_models;
Reproduce reproduce_nccl;
Reproduce reproduce_rccl;
Reproduce reproduce_t3;

}  // namespace cortado::pipeline
