#include "verify/results.hpp"

#include <algorithm>
#include <utility>

namespace cortado::verifier {
namespace {

constexpr std::uint64_t kLow = (1ULL << Results::kHalf) - 1;

/// The product over both ranges of k, if the second begins where the first ends.
std::optional<ProductTerm> joined_terms(const ProductTerm& first, const ProductTerm& second) {
  const auto behind = [](const Origin& x, std::uint64_t distance, const Origin& y) {
    return Origin{x.buffer, x.iteration, x.offset + distance} == y;
  };
  if (first.dtype != second.dtype || first.a_step != second.a_step) return {};
  if (!behind(first.a, first.k * size_of(first.dtype).value, second.a)) return {};
  // One row alone has no pitch: it takes that of the other range, or their distance.
  std::uint64_t pitch = second.b.offset - first.b.offset;
  if (first.k > 1) {
    pitch = first.b_pitch;
  } else if (second.k > 1) {
    pitch = second.b_pitch;
  }
  if (second.k > 1 && second.b_pitch != pitch) return {};
  if (!behind(first.b, first.k * pitch, second.b)) return {};
  ProductTerm whole = first;
  whole.b_pitch = pitch;
  whole.k += second.k;
  return whole;
}

}  // namespace

std::uint32_t Results::unnamed() {
  results_.emplace_back();
  return buffers_ + static_cast<std::uint32_t>(results_.size()) - 1;
}

Term Results::term(const ProductTerm& p) {
  Factors factors{p.a, p.b, p.k > 1 ? p.b_pitch : 0, p.k, p.dtype};
  factors.a.offset >>= kHalf;
  factors.b.offset >>= kHalf;
  const auto [known, fresh] = known_.try_emplace(factors, buffers_ + static_cast<std::uint32_t>(results_.size()));
  if (fresh) results_.emplace_back(factors);
  return {known->second, 0, (p.a.offset << kHalf) + (p.b.offset & kLow), p.a_step << kHalf};
}

std::optional<ProductTerm> Results::product(const Term& term) const {
  if (!is_product(term)) return {};
  const Factors& factors = *results_[term.source - buffers_];
  ProductTerm p{factors.a, term.step >> kHalf, factors.b, factors.b_pitch, factors.k, factors.dtype};
  p.a.offset = (factors.a.offset << kHalf) + (term.offset >> kHalf);
  p.b.offset = (factors.b.offset << kHalf) + (term.offset & kLow);
  return p;
}

bool Results::may_join(const Terms& terms) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sources;  // buffers and iterations of A
  for (const Term& term : terms) {
    if (!is_product(term)) continue;
    const Origin& a = results_[term.source - buffers_]->a;
    sources.emplace_back(a.buffer, a.iteration);
  }
  std::ranges::sort(sources);
  return std::ranges::adjacent_find(sources) != sources.end();
}

void Results::join_panels(Terms& terms, DType dtype, std::uint64_t phase) {
  if (!may_join(terms)) return;
  const auto fits = [&](const std::optional<ProductTerm>& p) {
    return p && p->dtype == dtype && p->b.offset % size_of(dtype).value == phase;
  };
  std::vector<ProductTerm> panels;
  erase_if(terms, [&](const Term& term) {
    const auto p = product(term);
    if (fits(p)) panels.push_back(*p);
    return fits(p);
  });
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto next = [&] {
      return std::ranges::find_if(panels, [&](const ProductTerm& p) { return joined_terms(panels[i], p).has_value(); });
    };
    for (auto found = next(); found != panels.end(); found = next()) {
      panels[i] = *joined_terms(panels[i], *found);
      if (found < panels.begin() + static_cast<std::ptrdiff_t>(i)) --i;
      panels.erase(found);
    }
  }
  for (const ProductTerm& panel : panels) terms.push_back(term(panel));
  std::ranges::sort(terms);
}

}  // namespace cortado::verifier
