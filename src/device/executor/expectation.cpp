#include "device/executor/expectation.hpp"

#include <algorithm>
#include <cstring>

namespace cortado::device {
namespace {

/// Adds element by element, wrapping.
template <class Element>
void add_wrapping(std::span<std::byte> sum, std::span<const std::byte> addend) {
  for (std::size_t at = 0; at + sizeof(Element) <= sum.size(); at += sizeof(Element)) {
    Element a{};
    Element b{};
    std::memcpy(&a, sum.data() + at, sizeof a);
    std::memcpy(&b, addend.data() + at, sizeof b);
    a = static_cast<Element>(a + b);
    std::memcpy(sum.data() + at, &a, sizeof a);
  }
}

}  // namespace

Expectation::Expectation(const Clause& clause, const std::vector<ElementFormat>& formats, std::uint64_t seed,
                         std::uint64_t iteration)
    : clause_(clause),
      output_(clause.output),
      small_integers_(clause.terms.size() > 1 && ElementFormat{clause.dtype, 0}.small_integers()) {
  for (const Region& term : clause.terms) {
    terms_.emplace_back(term);
    patterns_.emplace_back(seed, iteration, term.buffer, formats[term.buffer.value]);
  }
  if (small_integers_) {
    for (std::uint32_t sum = 0; sum <= kMaxSum; ++sum) bits_[sum] = element_bits(clause.dtype, static_cast<float>(sum));
  }
}

Expectation::Piece Expectation::next() {
  std::uint64_t run = std::min<std::uint64_t>(output_.run(), kPieceBytes);
  for (const RegionCursor& term : terms_) run = std::min(run, term.run());
  const auto bytes = static_cast<std::size_t>(run);
  const Piece piece{output_.offset(), {piece_.data(), bytes}};
  if (bytes == 0) return piece;
  if (terms_.size() == 1) {
    copy_term(bytes);
  } else if (small_integers_) {
    sum_integers(bytes);
  } else {
    sum_wrapping(bytes);
  }
  output_.advance(bytes);
  for (RegionCursor& term : terms_) term.advance(bytes);
  return piece;
}

void Expectation::copy_term(std::size_t bytes) {
  patterns_[0].bytes(terms_[0].offset(), {piece_.data(), bytes});
}

void Expectation::sum_integers(std::size_t bytes) {
  const std::size_t size = size_of(clause_.dtype).value;
  const std::span<std::uint16_t> sums{sums_.data(), bytes / size};
  std::fill(sums.begin(), sums.end(), std::uint16_t{0});
  for (std::size_t t = 0; t < terms_.size(); ++t) patterns_[t].add_integers(terms_[t].offset(), sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::uint32_t bits = bits_[std::min<std::uint32_t>(sums[i], kMaxSum)];
    std::memcpy(piece_.data() + i * size, &bits, size);
  }
}

void Expectation::sum_wrapping(std::size_t bytes) {
  copy_term(bytes);
  for (std::size_t t = 1; t < terms_.size(); ++t) {
    patterns_[t].bytes(terms_[t].offset(), {addend_.data(), bytes});
    if (clause_.dtype == DType::i32) {
      add_wrapping<std::uint32_t>({piece_.data(), bytes}, {addend_.data(), bytes});
    } else {
      add_wrapping<std::uint8_t>({piece_.data(), bytes}, {addend_.data(), bytes});
    }
  }
}

}  // namespace cortado::device
