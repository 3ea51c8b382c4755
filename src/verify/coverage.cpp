#include "verify/coverage.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "ir/visit.hpp"
#include "verify/interval_map.hpp"
#include "verify/strips.hpp"

namespace cortado {
namespace verifier {
namespace {

struct Covered {
  const Covered& advanced_by(std::uint64_t) const { return *this; }
  bool continues(const Covered&, std::uint64_t) const { return true; }
};

/// Number of bytes of one buffer that are in at least one of the regions.
Bytes union_of(const std::vector<Region>& regions) {
  const Strips strips(regions);
  std::vector<IntervalMap<Covered>> rows(strips.count());
  for (const Region& region : regions) {
    for (const Strips::Cell& cell : strips.cells(region)) rows[cell.strip].assign(cell.begin, cell.end, {});
  }
  Bytes all;
  for (std::size_t strip = 0; strip < rows.size(); ++strip) {
    rows[strip].visit(0, ~0ULL, [&](std::uint64_t begin, std::uint64_t end, const Covered* covered) {
      if (covered != nullptr) all += strips.width(strip) * (end - begin);
    });
  }
  return all;
}

}  // namespace

std::vector<BufferCoverage> buffer_coverage(const Program& program) {
  std::vector<std::vector<Region>> outputs(program.buffers.size());
  for_each_output(program.contract, [&](const Region& region) { outputs[region.buffer.value].push_back(region); });
  std::vector<BufferCoverage> all;
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b) {
    const BufferRole role = program.buffers[b].role;
    if (role == BufferRole::output || role == BufferRole::inout) all.push_back({BufferId{b}, union_of(outputs[b])});
  }
  return all;
}

void check_coverage(const Program& program, Findings& findings) {
  Place place;
  place.key = "contract";
  const std::vector<BufferCoverage> coverage = buffer_coverage(program);
  for (const auto& [id, covered] : coverage) {
    const Buffer& buffer = program.buffer(id);
    const bool all = buffer.role == BufferRole::output;
    if (covered == buffer.size || (!all && covered.value > 0)) continue;
    place.rank = buffer.rank;
    findings.add(
        place,
        fmt::format("{} of {} bytes of {} buffer {} of rank {} are covered by the contract", covered.value,
                    buffer.size.value, to_string(buffer.role), buffer.name, buffer.rank.value),
        all ? "add clauses for the other bytes; if the caller also keeps its own bytes there, make the buffer inout"
            : "add clauses for what the caller reads there; if it reads nothing, make the buffer an input");
  }
  const auto check_role = [&](const Region& region, bool good, std::string_view what, std::string_view hint) {
    if (good || findings.full()) return;
    const Buffer& buffer = program.buffer(region.buffer);
    place.rank = buffer.rank;
    findings.add(place,
                 fmt::format("{} of the contract is in {} buffer {} of rank {}", what, to_string(buffer.role),
                             buffer.name, buffer.rank.value),
                 std::string(hint));
  };
  Bytes said;
  for_each_output(program.contract, [&](const Region& region) {
    said += region.bytes();
    const BufferRole role = program.buffer(region.buffer).role;
    check_role(region, role == BufferRole::output || role == BufferRole::inout, "an output",
               "the caller does not read there: give the buffer the role output or inout");
  });
  for_each_input(program, [&](const Region& region) {
    const BufferRole role = program.buffer(region.buffer).role;
    check_role(region, role == BufferRole::input || role == BufferRole::inout, "an input",
               "the caller does not write there: give the buffer the role input or inout");
  });
  place.rank.reset();
  const auto is_empty = [&](const BufferCoverage& one) { return program.buffer(one.buffer).size.value == 0; };
  if (said.value == 0 && std::ranges::all_of(coverage, is_empty)) {
    findings.add(place, "the program has no output: its contract says nothing of any byte",
                 "give the buffers that the caller reads the role output, and add a clause for each to the contract");
  }
}

}  // namespace verifier

std::optional<OutputCoverage> output_coverage(const CheckedProgram& checked) {
  if (std::ranges::count(checked.skipped_rules(), "verify.contract") > 0) return {};
  OutputCoverage all;
  for (const verifier::BufferCoverage& one : verifier::buffer_coverage(checked.program())) {
    all.covered += one.covered;
    all.whole += checked.program().buffer(one.buffer).size;
  }
  return all;
}

}  // namespace cortado
