// NCCL on 2, 4 and 8 H100, as nccl-tests measured it, and as vLLM's benchmark measured it on H100 and B200.
#include <string>

#include "reproduce/libraries.hpp"

namespace cortado::pipeline {

Outcome<report::Reproduction> reproduce_nccl(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions&) {
  report::Reproduction result{publication.name, publication.title, publication.source, machine.name, {}, {}, {}};
  for (const published::Table& table : publication.tables) {
    const std::string where = machine_of_table(publication, table);
    const auto measured_on = where == publication.machine ? Result<Machine>(machine) : machine_of_row(where, machine);
    if (!measured_on) return fail_at(Stage::plan, measured_on.error());
    auto ours = reproduce_library_table(table, *measured_on);
    if (!ours) return fail(ours.error());
    result.tables.push_back(*std::move(ours));
  }
  return result;
}

}  // namespace cortado::pipeline
