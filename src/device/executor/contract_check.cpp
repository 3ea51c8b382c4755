#include "device/executor/contract_check.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "device/executor/expectation.hpp"
#include "device/executor/product_check.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

constexpr int kPoison = 0xee;

// NaN, or -240 in f8: no sum of products of non-negative numbers.
constexpr int kNoProduct = 0xff;

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
    : program_(&program),
      memory_(std::move(memory)),
      formats_(std::move(formats)),
      ranks_(program.ranks),
      roundings_(roundings_of(program)) {
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
  for (std::uint32_t p = 0; p < program.contract.products.size(); ++p) {
    const RankId rank = program.buffer(program.contract.products[p].output.buffer).rank;
    ranks_[rank.value].products.push_back(p);
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
  for (const ProductClause& clause : program_->contract.products) {
    for (std::uint64_t row = 0; row < clause.output.rows; ++row) {
      std::memset(memory_[clause.output.buffer.value] + clause.output.row_offset(row).value, kNoProduct,
                  clause.output.width.value);
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
  for (const std::uint32_t p : ranks_[rank.value].products) {
    check_product(rank, program_->contract.products[p], seed, iteration, run_iteration, totals);
  }
}

void ContractCheck::check_product(RankId rank, const ProductClause& clause, std::uint64_t seed, std::uint64_t iteration,
                                  std::uint64_t run_iteration, CheckTotals& totals) const {
  const std::byte* memory = memory_[clause.output.buffer.value];
  const WrongElements wrong = ProductCheck(clause, formats_, seed, iteration, roundings_).compare(memory);
  totals.checked_bytes += clause.output.bytes().value;
  totals.wrong_bytes += wrong.count * size_of(clause.dtype).value;
  if (wrong.count == 0 || totals.first_wrong) return;
  const std::byte* element =
      memory + clause.output.row_offset(wrong.row).value + (size_of(clause.dtype) * wrong.column).value;
  const bool untouched = run_iteration == 0 && std::all_of(element, element + size_of(clause.dtype).value,
                                                           [](std::byte b) { return b == std::byte{kNoProduct}; });
  totals.first_wrong =
      Diagnostic{"device.wrong_data",
                 fmt::format("buffer {}, row {}, column {} of a product, iteration {}: expected {}, found {}{}",
                             program_->buffer(clause.output.buffer).name, wrong.row, wrong.column, run_iteration,
                             wrong.expected, element_value(clause.dtype, element), untouched ? " (never written)" : ""),
                 "the output was read before it was complete, or the program breaks its contract"};
  totals.first_wrong->place.rank = rank;
}

}  // namespace cortado::device
