#include "device/executor/contract_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "device/executor/expectation.hpp"
#include "device/executor/product_check.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

constexpr int kPoison = 0xee;

// NaN, or -240 in f8: never a sum of products of non-negative numbers.
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
                     "the output was read before it was complete, or the program violates its contract"};
    wrong.place.rank = rank;
    totals.first_wrong = std::move(wrong);
  }
}

constexpr std::uint64_t kFormulaElement = 4;  // bytes, f32 and i32 alike

/// How many elements of an output are not what the formula says, and the first of them.
struct FormulaComparison {
  std::uint64_t elements = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  double expected = 0;
  double found = 0;
};

/// The step whose result the value is, if that is an argmax and the value is all of it.
const Call* argmax_of(const Formula& formula, const Region& value) {
  for (const Command& step : formula.steps) {
    const auto* call = std::get_if<Call>(&step);
    if (call != nullptr && call->function == Function::argmax && call->result == value) return call;
  }
  return nullptr;
}

double float_at(const std::byte* row, std::uint64_t column) {
  float value = 0;
  std::memcpy(&value, row + column * sizeof value, sizeof value);
  return value;
}

double largest_of(const FormulaValues& values, const Region& region, std::uint64_t first, std::uint64_t rows) {
  double largest = 0;
  for (std::uint64_t i = first; i < first + rows; ++i) {
    for (std::uint64_t c = 0; c < region.width.value / kFormulaElement; ++c) {
      largest = std::max(largest, std::abs(float_at(values.row(region, i), c)));
    }
  }
  return largest;
}

/// Token numbers: all whose logits are as good as the best are accepted.
FormulaComparison compare_tokens(const Call& argmax, const FormulaClause& clause, const FormulaValues& values,
                                 const std::byte* memory) {
  FormulaComparison wrong;
  const Region& logits = argmax.operands.front();
  for (std::uint64_t i = 0; i < clause.output.rows; ++i) {
    std::uint32_t best = 0;
    std::uint32_t found = 0;
    std::memcpy(&best, values.row(clause.value, i), sizeof best);
    std::memcpy(&found, memory + clause.output.row_offset(i).value, sizeof found);
    const bool inside = found < logits.width.value / kFormulaElement;
    const double bound = kFormulaTolerance * largest_of(values, logits, i, 1);
    const double lost =
        inside ? float_at(values.row(logits, i), best) - float_at(values.row(logits, i), found) : INFINITY;
    if (lost <= bound) continue;
    if (wrong.elements++ == 0) {
      wrong.row = i;
      wrong.expected = best;
      wrong.found = found;
    }
  }
  return wrong;
}

FormulaComparison compare_formula(const Formula& formula, const FormulaClause& clause, const FormulaValues& values,
                                  const std::byte* memory) {
  if (const Call* argmax = argmax_of(formula, clause.value)) return compare_tokens(*argmax, clause, values, memory);
  FormulaComparison wrong;
  const std::uint64_t columns = clause.value.width.value / kFormulaElement;
  const std::uint64_t columns_out = clause.output.width.value / kFormulaElement;
  const double bound = kFormulaTolerance * largest_of(values, clause.value, 0, clause.value.rows);
  for (std::uint64_t element = 0; element < clause.value.rows * columns; ++element) {
    const double expected = float_at(values.row(clause.value, element / columns), element % columns);
    const std::uint64_t row = element / columns_out;
    const double found = float_at(memory + clause.output.row_offset(row).value, element % columns_out);
    if (std::abs(found - expected) <= bound) continue;  // false if either is NaN
    if (wrong.elements++ == 0) {
      wrong.row = row;
      wrong.column = element % columns_out;
      wrong.expected = expected;
      wrong.found = found;
    }
  }
  return wrong;
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
  for (std::uint32_t f = 0; f < program.contract.formula.outputs.size(); ++f) {
    const RankId rank = program.buffer(program.contract.formula.outputs[f].output.buffer).rank;
    ranks_[rank.value].outputs.push_back(f);
  }
}

Status ContractCheck::use(const CallerData& data) {
  values_.reset();
  data_ = data.write ? &data : nullptr;
  if (data_ == nullptr || (program_->contract.clauses.empty() && program_->contract.products.empty())) return {};
  return fail("device.data", "input data passed to a program whose contract has clauses or products",
              "pass data only to programs with formulas; all others are checked with a pattern");
}

void ContractCheck::show_outputs(RankId rank) const {
  if (data_ == nullptr || !data_->read) return;
  for (std::uint32_t b = 0; b < program_->buffers.size(); ++b) {
    const Buffer& buffer = program_->buffers[b];
    const bool read = buffer.role == BufferRole::output || buffer.role == BufferRole::inout;
    if (read && buffer.rank == rank)
      data_->read(BufferId{b}, {memory_[b], static_cast<std::size_t>(buffer.size.value)});
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
  for (const FormulaClause& clause : program_->contract.formula.outputs) {
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
      pattern.bytes(cursor.offset(),
                    {memory_[region.buffer.value] + cursor.offset(), static_cast<std::size_t>(cursor.run())});
    }
  }
}

void ContractCheck::fill_inputs(RankId rank, std::uint64_t seed, std::uint64_t iteration) const {
  if (data_ == nullptr) return fill(ranks_[rank.value].inputs, seed, iteration);
  for (std::uint32_t b = 0; b < program_->buffers.size(); ++b) {
    const Buffer& buffer = program_->buffers[b];
    const bool written = buffer.role == BufferRole::input || buffer.role == BufferRole::inout;
    if (written && buffer.rank == rank)
      data_->write(BufferId{b}, {memory_[b], static_cast<std::size_t>(buffer.size.value)});
  }
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
  for (const std::uint32_t f : ranks_[rank.value].outputs) {
    check_formula(rank, program_->contract.formula.outputs[f], seed, iteration, run_iteration, totals);
  }
}

const FormulaValues& ContractCheck::values(std::uint64_t seed, std::uint64_t iteration) const {
  if (!values_ || values_of_ != std::pair(seed, iteration)) {
    values_of_ = {seed, iteration};
    values_.emplace(*program_, [&](BufferId id, std::span<std::byte> bytes) {
      if (data_ != nullptr) return data_->write(id, bytes);
      BufferPattern(seed, iteration, id, formats_[id.value]).bytes(0, bytes);
    });
  }
  return *values_;
}

void ContractCheck::check_formula(RankId rank, const FormulaClause& clause, std::uint64_t seed, std::uint64_t iteration,
                                  std::uint64_t run_iteration, CheckTotals& totals) const {
  const FormulaValues& expected = values(seed, iteration);
  const FormulaComparison wrong =
      compare_formula(program_->contract.formula, clause, expected, memory_[clause.output.buffer.value]);
  totals.checked_bytes += clause.output.bytes().value;
  totals.wrong_bytes += wrong.elements * kFormulaElement;
  if (wrong.elements == 0 || totals.first_wrong) return;
  totals.first_wrong =
      Diagnostic{"device.wrong_data",
                 fmt::format("buffer {}, row {}, column {} of a formula, iteration {}: expected {}, found {}",
                             program_->buffer(clause.output.buffer).name, wrong.row, wrong.column, run_iteration,
                             wrong.expected, wrong.found),
                 "the output was read before it was complete, or the program violates its contract"};
  totals.first_wrong->place.rank = rank;
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
                 "the output was read before it was complete, or the program violates its contract"};
  totals.first_wrong->place.rank = rank;
}

}  // namespace cortado::device
