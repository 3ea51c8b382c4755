#include "reproduce/libraries.hpp"

#include <optional>
#include <string>
#include <vector>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {
namespace {

/// nccl-tests measure out of place.
Outcome<Nanoseconds> time_of(const CollectiveRequest& request, const Machine& machine) {
  const auto run = predict(plan_collective(request, machine), machine);
  if (!run) return fail(run.error());
  return run->time;
}

Outcome<Nanoseconds> fastest_of(const CollectiveRequest& request, const std::vector<std::string>& variants,
                                const Machine& machine) {
  std::optional<Nanoseconds> best;
  for (const std::string& variant : variants) {
    CollectiveRequest one = request;
    one.variant = variant;
    const auto time = time_of(one, machine);
    if (!time) return fail(time.error());
    if (!best || *time < *best) best = *time;
  }
  return *best;
}

Outcome<Nanoseconds> time_of_column(const std::string& column, CollectiveRequest request, const Machine& machine) {
  if (column == "direct") return fastest_of(request, {"cores-ll", "cores-simple"}, machine);
  if (column == "engines" || column == "device") {
    request.variant = kLibraryVariant;
    request.in_place = true;
    request.runtime = column == "device" ? RuntimeMode::device : RuntimeMode::library;
    return time_of(request, machine);
  }
  request.variant = kLibraryVariant;
  if (column == "ring") {
    Machine rings = machine;
    rings.timing->library->direct_bytes = {};
    const auto variant = library_variant(request, rings);
    if (!variant) return fail_at(Stage::plan, variant.error());
    request.variant = *variant;
  }
  if (column.ends_with(" ranks")) request.ranks = static_cast<std::uint32_t>(std::stoul(column));
  return time_of(request, machine);
}

}  // namespace

Outcome<report::ReproducedTable> reproduce_library_table(const published::Table& table, const Machine& machine) {
  const auto collective = find_collective(table.name.substr(0, table.name.find(' ')));
  if (!collective) return fail_at(Stage::plan, collective.error());
  report::ReproducedTable ours{table, {}};
  for (const Bytes size : table.sizes) {
    auto& row = ours.ours.emplace_back();
    for (const std::string& column : table.columns) {
      CollectiveRequest request;
      request.collective = *collective;
      request.bytes = size;
      request.dtype = DType::f16;
      const auto time = time_of_column(column, request, machine);
      if (!time) return fail(time.error());
      row.push_back(microseconds(*time));
    }
  }
  return ours;
}

}  // namespace cortado::pipeline
