// RCCL on eight MI300X (ROCm blog on xGMI, 2025): small all-reduces launched from graphs, and the bus bandwidth of a
// large one; always by the faster of the two protocols.
#include <optional>

#include "cortado/base/check.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/target/target.hpp"

#include "pipeline/reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

constexpr Bytes kLarge = 16_GiB;

/// Simulated on the machine.
Outcome<Run> all_reduce(Bytes bytes, const Machine& machine) {
  std::optional<Run> best;
  for (const char* protocol : {"cores-ll", "cores-simple"}) {
    CollectiveRequest request;
    request.collective = "all-reduce";
    request.variant = protocol;
    request.bytes = bytes;
    const auto report = predict(plan_collective(request, machine), machine);
    if (!report) return tl::unexpected(report.error());
    if (!best || report->time < best->time) best = *report;
  }
  return *best;
}

}  // namespace

Outcome<report::Reproduction> reproduce_rccl_mi300x(const published::Publication& publication, const Machine& machine,
                                                    const ReproduceOptions&) {
  const published::Table* table = publication.table("all-reduce");
  CORTADO_CHECK(table != nullptr, "rccl-mi300x.toml has this table");
  report::ReproducedTable ours{*table, {}};
  for (const Bytes size : table->sizes) {
    const auto small = all_reduce(size, machine);
    if (!small) return tl::unexpected(small.error());
    ours.ours.push_back({microseconds(small->time)});
  }
  report::Reproduction result{publication.name, publication.title, publication.source, machine.name, {ours}, {}};
  for (const published::Figure& figure : publication.figures) {
    CORTADO_CHECK(figure.name == "bus-bandwidth", "every figure of rccl-mi300x.toml is computed here");
    const auto large = all_reduce(kLarge, machine);
    if (!large) return tl::unexpected(large.error());
    result.figures.push_back({figure, large->bandwidths->bus});
  }
  return result;
}

}  // namespace cortado::pipeline
