// NCCL on 2, 4 and 8 H100, as nccl-tests measured it.
#include "reproduce/libraries.hpp"

namespace cortado::pipeline {

Outcome<report::Reproduction> reproduce_nccl(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions&) {
  report::Reproduction result{publication.name, publication.title, publication.source, machine.name, {}, {}, {}};
  for (const published::Table& table : publication.tables) {
    auto ours = reproduce_library_table(table, machine);
    if (!ours) return tl::unexpected(ours.error());
    result.tables.push_back(*std::move(ours));
  }
  return result;
}

}  // namespace cortado::pipeline
