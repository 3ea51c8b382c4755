#include "verify/coverage.hpp"

#include <algorithm>

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
