#include "verify/results.hpp"

#include <algorithm>
#include <utility>

#include "base/small_vector.hpp"

namespace cortado::verifier {
namespace {

constexpr std::uint64_t kLow = (1ULL << Results::kHalf) - 1;

/// The GEMM over both ranges of k, if the second begins where the first ends.
std::optional<ProductTerm> joined_terms(const ProductTerm& first, const ProductTerm& second) {
  const auto behind = [](const Origin& x, std::uint64_t distance, const Origin& y) {
    return Origin{x.source, x.iteration, x.offset + distance} == y;
  };
  if (first.dtype != second.dtype || first.a_step != second.a_step) return {};
  if (!behind(first.a, first.k * size_of(first.dtype).value, second.a)) return {};
  // A single row has no pitch: it takes that of the other range, or the distance between the two.
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

/// Appends a full description of the value of one run.
void describe(const Value& value, std::vector<std::uint64_t>& key) {
  key.push_back(value.terms.size());
  if (value.is_sum()) key.insert(key.end(), {static_cast<std::uint64_t>(value.dtype), value.phase});
  for (const Term& term : value.terms) key.insert(key.end(), {term.source, term.iteration, term.offset});
}

}  // namespace

std::uint32_t Results::unnamed() {
  results_.emplace_back();
  return next() - 1;
}

std::uint32_t Results::long_sum() {
  return *long_sums_.insert(unnamed()).first;
}

std::uint64_t Results::element(const Term& result) const {
  if (is_product(result)) return size_of(results_[result.source - buffers_]->dtype).value;
  return size_of(DType::f32).value;  // functions: f32, or i32 as wide
}

std::uint32_t Results::function(Application application) {
  const auto [known, fresh] = functions_.try_emplace(std::move(application), next());
  if (fresh) {
    results_.emplace_back();
    applications_.emplace(known->second, &known->first);
  }
  return known->second;
}

const Results::Application* Results::application(const Term& term) const {
  const auto found = applications_.find(term.source);
  return found == applications_.end() ? nullptr : found->second;
}

std::uint32_t Results::content(const Content& pieces, std::uint64_t rows) {
  Content joined;
  for (const auto& [width, value] : pieces) {
    if (!joined.empty() && joined.back().second.moved_by(joined.back().first) == value) {
      joined.back().first += width;
    } else {
      joined.emplace_back(width, value);
    }
  }
  std::vector<std::uint64_t> key{rows};
  for (const auto& [width, value] : joined) {
    key.push_back(width);
    describe(value, key);
  }
  const auto [known, fresh] = numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(contents_.size()));
  if (fresh) {
    contents_.push_back(std::move(joined));
    rows_.push_back(rows);
  }
  return known->second;
}

std::optional<Term> Results::as_term(const Value& value) {
  if (value.terms.size() == 1) return value.terms.front();
  const Term first = value.terms.front();
  const bool alike = std::ranges::all_of(value.terms, [&](const Term& term) { return term.step == first.step; });
  const std::uint64_t element = size_of(value.dtype).value;
  if (!alike || first.step % element != 0 || first.offset % element != value.phase) return {};
  // The name must not depend on where the terms begin: later bytes are the same sum, only further on.
  Value name{.terms = value.terms, .dtype = value.dtype};
  for (Term& term : name.terms) {
    term.offset -= first.offset;
    term.step = 0;
  }
  std::vector<std::uint64_t> key;
  describe(name, key);
  const auto [known, fresh] = sums_.try_emplace(std::move(key), next());
  if (fresh) results_.emplace_back();
  return Term{known->second, 0, first.offset, first.step};
}

Term Results::term(const ProductTerm& p) {
  Factors factors{p.a, p.b, p.k > 1 ? p.b_pitch : 0, p.k, p.dtype};
  factors.a.offset >>= kHalf;
  factors.b.offset >>= kHalf;
  const auto [known, fresh] = known_.try_emplace(factors, next());
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
  if (terms.size() < 2) return false;
  SmallVector<std::pair<std::uint32_t, std::uint32_t>, 8> sources;  // buffers and iterations of A
  for (const Term& term : terms) {
    if (!is_product(term)) continue;
    const Origin& a = results_[term.source - buffers_]->a;
    sources.push_back({a.source, a.iteration});
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
