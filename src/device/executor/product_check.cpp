#include "device/executor/product_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

/// Multiplications spent on wrong rows before whole rows are counted as wrong.
constexpr std::uint64_t kMuchWork = 1ULL << 28;

/// The element after one rounding.
float rounded(DType dtype, std::uint64_t exact) {
  const std::uint32_t bits = element_bits(dtype, static_cast<float>(exact));
  std::byte bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  return element_value(dtype, bytes);
}

}  // namespace

std::uint64_t roundings_of(const Program& program) {
  std::uint64_t partials = 0;
  std::uint64_t sums = 0;
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      match(
          command,
          [&](const Gemm& gemm) {
            const auto adds = std::ranges::count(gemm.outputs, CopyOp::add, &OutputBlock::op);
            partials += adds > 0 ? gemm.split_k : 1;
            sums += static_cast<std::uint64_t>(adds) * gemm.split_k;
          },
          [&](const Copy& copy) { sums += copy.op == CopyOp::add ? 1U : 0U; },
          [&](const Kernel& kernel) { sums += kernel.op == KernelOp::reduce ? 1U : 0U; }, [](const auto&) {});
    }
  }
  return partials + std::min(sums, std::max(partials, std::uint64_t{1}) - 1);
}

ProductCheck::ProductCheck(const ProductClause& clause, const std::vector<ElementFormat>& formats, std::uint64_t seed,
                           std::uint64_t iteration, std::uint64_t roundings)
    : clause_(clause),
      columns_(clause.output.width.value / size_of(clause.dtype).value),
      roundings_(roundings),
      x_(columns_),
      line_(columns_),
      exact_(columns_) {
  Random random(seed);
  for (std::uint64_t& x : x_) x = random.next();
  const auto pattern = [&](const Region& region) {
    return BufferPattern(seed, iteration, region.buffer, formats[region.buffer.value]);
  };
  for (const Product& product : clause.products) {
    Factors factors{&product, {}, pattern(product.b), std::vector<std::uint64_t>(product.b.rows)};
    for (const Region& block : product.a) factors.a.push_back(pattern(block));
    for (std::uint64_t t = 0; t < product.b.rows; ++t) {
      read_integers(factors.b, product.b, t, columns_);
      factors.y[t] = std::inner_product(integers_.begin(), integers_.end(), x_.begin(), std::uint64_t{0});
    }
    factors_.push_back(std::move(factors));
  }
}

void ProductCheck::read_integers(const BufferPattern& pattern, const Region& matrix, std::uint64_t row,
                                 std::uint64_t count) {
  integers_.assign(count, 0);
  pattern.add_integers(matrix.row_offset(row).value, integers_);
}

template <class Visitor>
void ProductCheck::for_each_row_of_a(std::uint64_t row, Visitor&& visit) {
  for (const Factors& factors : factors_) {
    std::size_t block = 0;
    std::uint64_t within = row;
    while (within >= factors.product->a[block].rows) within -= factors.product->a[block++].rows;
    read_integers(factors.a[block], factors.product->a[block], within, factors.y.size());
    visit(factors);
  }
}

bool ProductCheck::row_fits(const std::byte* elements, std::uint64_t row) {
  std::uint64_t found = 0;
  const std::size_t size = size_of(clause_.dtype).value;
  for (std::uint64_t j = 0; j < columns_; ++j) {
    const float value = element_value(clause_.dtype, elements + j * size);
    if (!(value >= 0 && value <= 0x1p24f)) return false;  // also catches NaN
    const auto integer = static_cast<std::uint64_t>(value);
    if (static_cast<float>(integer) != value) return false;
    found += integer * x_[j];
  }
  std::uint64_t expected = 0;
  for_each_row_of_a(row, [&](const Factors& factors) {
    expected = std::inner_product(integers_.begin(), integers_.end(), factors.y.begin(), expected);
  });
  return found == expected;
}

bool ProductCheck::close(float found, std::uint64_t exact) const {
  if (found == rounded(clause_.dtype, exact)) return true;
  const std::uint32_t all_exact = exact_integers(clause_.dtype);
  if (exact <= all_exact) return false;
  // Between E and 2E the distance between neighbours is 2, and it doubles with every power of two.
  const double unit = 2 * std::exp2(std::floor(std::log2(static_cast<double>(exact) / all_exact)));
  return std::abs(static_cast<double>(found) - static_cast<double>(exact)) <= static_cast<double>(roundings_) * unit;
}

void ProductCheck::compare_row(const std::byte* elements, std::uint64_t row, WrongElements& wrong) {
  std::fill(exact_.begin(), exact_.end(), 0);
  for_each_row_of_a(row, [&](const Factors& factors) {
    for (std::uint64_t t = 0; t < integers_.size(); ++t) {
      if (integers_[t] == 0) continue;
      std::fill(line_.begin(), line_.end(), std::uint16_t{0});
      factors.b.add_integers(factors.product->b.row_offset(t).value, line_);
      for (std::uint64_t j = 0; j < columns_; ++j) exact_[j] += std::uint64_t{integers_[t]} * line_[j];
    }
  });
  for (std::uint64_t j = 0; j < columns_; ++j) {
    if (close(element_value(clause_.dtype, elements + j * size_of(clause_.dtype).value), exact_[j])) continue;
    if (wrong.count++ == 0) {
      wrong.row = row;
      wrong.column = j;
      wrong.expected = rounded(clause_.dtype, exact_[j]);
    }
  }
}

WrongElements ProductCheck::compare(const std::byte* memory) {
  WrongElements wrong;
  std::uint64_t work = 0;
  for (std::uint64_t row = 0; row < clause_.output.rows; ++row) {
    const std::byte* elements = memory + clause_.output.row_offset(row).value;
    if (row_fits(elements, row)) continue;
    if (wrong.count > 0 && work > kMuchWork) {
      wrong.count += columns_;
      continue;
    }
    compare_row(elements, row, wrong);
    for (const Factors& factors : factors_) work += factors.y.size() * columns_;
  }
  return wrong;
}

}  // namespace cortado::device
