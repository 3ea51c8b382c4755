#include "verify/values.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cortado::verifier {

void Value::advance(std::uint64_t runs) {
  for (Term& term : terms) term.offset += runs * term.step;
  if (!is_sum()) return;
  std::ranges::sort(terms);
  phase = (phase + runs * phase_step) % size_of(dtype).value;
}

bool Value::is_continuous(std::uint64_t width) const {
  const bool terms_are = std::ranges::all_of(terms, [&](const Term& term) { return term.step == width; });
  return terms_are && (!is_sum() || phase_step == width % size_of(dtype).value);
}

bool Value::continues(const Value& next, std::uint64_t runs) const {
  if (terms.size() != next.terms.size() || mark != next.mark) return false;
  if (terms.size() == 1) {  // the common case, without a copy
    Term moved = terms.front();
    moved.offset += runs * moved.step;
    return moved == next.terms.front();
  }
  if (is_sum() && terms.front().source != next.terms.front().source) return false;
  return advanced_by(runs) == next;
}

bool operator==(const Value& a, const Value& b) {
  if (a.terms != b.terms) return false;
  return !a.is_sum() || (a.dtype == b.dtype && a.phase == b.phase && a.phase_step == b.phase_step);
}

bool add(const Value& a, const Value& b, DType dtype, std::uint64_t phase, std::uint64_t phase_step, Value& sum) {
  if (!a.fits(dtype, phase, phase_step) || !b.fits(dtype, phase, phase_step)) return false;
  sum = {.dtype = dtype, .phase = phase, .phase_step = phase_step};
  sum.terms.reserve(a.terms.size() + b.terms.size());
  std::ranges::merge(a.terms, b.terms, std::back_inserter(sum.terms));
  return true;
}

}  // namespace cortado::verifier
