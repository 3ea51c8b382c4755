#include "verify/values.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cortado::verifier {

Value Value::advanced_by(std::uint64_t runs) const {
  Value result = *this;
  for (Term& term : result.terms) term.offset += runs * term.step;
  if (is_sum()) {
    std::ranges::sort(result.terms);
    result.phase = (phase + runs * phase_step) % size_of(dtype).value;
  }
  return result;
}

Value Value::moved_by(std::uint64_t bytes) && {
  for (Term& term : terms) term.offset += bytes;
  if (is_sum()) phase = (phase + bytes) % size_of(dtype).value;
  return std::move(*this);
}

Value Value::cut(std::uint64_t stride) && {
  for (Term& term : terms) term.step = stride;
  if (is_sum()) phase_step = stride % size_of(dtype).value;
  return std::move(*this);
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
  return advanced_by(runs) == next;
}

bool operator==(const Value& a, const Value& b) {
  if (a.terms != b.terms) return false;
  return !a.is_sum() || (a.dtype == b.dtype && a.phase == b.phase && a.phase_step == b.phase_step);
}

bool add(const Value& a, const Value& b, DType dtype, std::uint64_t phase, std::uint64_t phase_step, Value& sum) {
  const auto fits = [&](const Value& value) {
    return !value.is_sum() || (value.dtype == dtype && value.phase == phase && value.phase_step == phase_step);
  };
  if (!fits(a) || !fits(b)) return false;
  sum = {{}, dtype, phase, phase_step};
  std::ranges::merge(a.terms, b.terms, std::back_inserter(sum.terms));
  return true;
}

}  // namespace cortado::verifier
