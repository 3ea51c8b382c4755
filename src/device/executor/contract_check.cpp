#include "device/executor/contract_check.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cortado/ir/visit.hpp"

#include "device/executor/expectation.hpp"

namespace cortado::device {
namespace {

constexpr int kPoison = 0xee;

void count_wrong(const Program& program, RankId rank, BufferId buffer, const Expectation::Piece& piece,
                 const std::byte* actual, std::uint64_t run_iteration, CheckTotals& totals) {
  for (std::size_t i = 0; i < piece.expected.size(); ++i) {
    if (actual[i] == piece.expected[i]) continue;
    ++totals.wrong_bytes;
    if (totals.first_wrong) continue;
    const bool untouched = actual[i] == ~piece.expected[i] && run_iteration == 0;
    Diagnostic wrong{"device.wrong_data",
                     fmt::format("buffer {}, byte {}, iteration {}: expected 0x{:02x}, found 0x{:02x}{}",
                                 program.buffer(buffer).name, piece.offset + i, run_iteration,
                                 static_cast<unsigned>(piece.expected[i]), static_cast<unsigned>(actual[i]),
                                 untouched ? " (never written)" : ""),
                     "the output was read before it was complete, or the program breaks its contract"};
    wrong.place.rank = rank;
    totals.first_wrong = std::move(wrong);
  }
}

}  // namespace

Result<ContractCheck> ContractCheck::make(const Program& program, std::vector<std::byte*> memory) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<ElementFormat> formats, element_formats(program));
  return ContractCheck(program, std::move(memory), std::move(formats));
}

ContractCheck::ContractCheck(const Program& program, std::vector<std::byte*> memory, std::vector<ElementFormat> formats)
    : program_(&program), memory_(std::move(memory)), formats_(std::move(formats)), ranks_(program.ranks) {
  const auto by_place = [](const Region& a, const Region& b) {
    return std::tuple(a.buffer, a.offset, a.width, a.rows, a.pitch) <
           std::tuple(b.buffer, b.offset, b.width, b.rows, b.pitch);
  };
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    RankRegions& regions = ranks_[rank];
    regions.inputs = caller_inputs(program, RankId{rank});
    std::sort(regions.inputs.begin(), regions.inputs.end(), by_place);
    regions.inputs.erase(std::unique(regions.inputs.begin(), regions.inputs.end()), regions.inputs.end());
  }
  for (std::uint32_t c = 0; c < program.contract.clauses.size(); ++c) {
    const RankId rank = program.buffer(program.contract.clauses[c].output.buffer).rank;
    ranks_[rank.value].clauses.push_back(c);
  }
}

void ContractCheck::poison(std::uint64_t seed, std::uint64_t iteration) const {
  for (std::uint32_t b = 0; b < program_->buffers.size(); ++b) {
    const Buffer& buffer = program_->buffers[b];
    if (buffer.role == BufferRole::input || buffer.role == BufferRole::inout) {
      const std::uint64_t whole = buffer.size.value - buffer.size.value % size_of(formats_[b].dtype).value;
      fill({make_region(BufferId{b}, {0}, {whole})}, seed, iteration);
    } else {
      std::memset(memory_[b], kPoison, buffer.size.value);
    }
  }
  for (const Clause& clause : program_->contract.clauses) {
    Expectation expectation(clause, formats_, seed, iteration);
    for (auto piece = expectation.next(); !piece.expected.empty(); piece = expectation.next()) {
      std::byte* out = memory_[clause.output.buffer.value] + piece.offset;
      std::transform(piece.expected.begin(), piece.expected.end(), out, [](std::byte b) { return ~b; });
    }
  }
}

void ContractCheck::fill(const std::vector<Region>& regions, std::uint64_t seed, std::uint64_t iteration) const {
  for (const Region& region : regions) {
    const BufferPattern pattern(seed, iteration, region.buffer, formats_[region.buffer.value]);
    for (RegionCursor cursor(region); cursor.run() > 0; cursor.advance(cursor.run())) {
      pattern.bytes(cursor.offset(), {memory_[region.buffer.value] + cursor.offset(), cursor.run()});
    }
  }
}

void ContractCheck::fill_inputs(RankId rank, std::uint64_t seed, std::uint64_t iteration) const {
  fill(ranks_[rank.value].inputs, seed, iteration);
}

void ContractCheck::check_outputs(RankId rank, std::uint64_t seed, std::uint64_t iteration, std::uint64_t run_iteration,
                                  CheckTotals& totals) const {
  for (const std::uint32_t c : ranks_[rank.value].clauses) {
    const Clause& clause = program_->contract.clauses[c];
    Expectation expectation(clause, formats_, seed, iteration);
    for (auto piece = expectation.next(); !piece.expected.empty(); piece = expectation.next()) {
      const std::byte* actual = memory_[clause.output.buffer.value] + piece.offset;
      totals.checked_bytes += piece.expected.size();
      if (std::memcmp(actual, piece.expected.data(), piece.expected.size()) == 0) continue;
      count_wrong(*program_, rank, clause.output.buffer, piece, actual, run_iteration, totals);
    }
  }
}

}  // namespace cortado::device
