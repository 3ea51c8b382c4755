// RCCL on eight MI300X and eight MI355X: times by size, and the bus bandwidth of a large all-reduce.
#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "reproduce/libraries.hpp"

namespace cortado::pipeline {
namespace {

constexpr Bytes kLarge = 16_GiB;

Outcome<double> bus_bandwidth(const Machine& machine) {
  CollectiveRequest request;
  request.collective = "all-reduce";
  request.variant = kLibraryVariant;
  request.bytes = kLarge;
  const auto run = predict(plan_collective(request, machine), machine);
  if (!run) return fail(run.error());
  return run->bandwidths->bus;
}

}  // namespace

Outcome<report::Reproduction> reproduce_rccl(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions&) {
  const auto newer = machine_of_row("mi355x-8", machine);
  if (!newer) return fail_at(Stage::plan, newer.error());
  report::Reproduction result{publication.name, publication.title, publication.source, machine.name, {}, {}, {}};
  for (const published::Table& table : publication.tables) {
    auto ours = reproduce_library_table(table, machine_of_table(publication, table) == newer->name ? *newer : machine);
    if (!ours) return fail(ours.error());
    result.tables.push_back(*std::move(ours));
  }
  for (const published::Figure& figure : publication.figures) {
    CORTADO_CHECK(figure.name == "bus-bandwidth", "every figure of rccl.toml is computed here");
    const auto bandwidth = bus_bandwidth(machine);
    if (!bandwidth) return fail(bandwidth.error());
    result.figures.push_back({figure, *bandwidth});
  }
  return result;
}

}  // namespace cortado::pipeline
