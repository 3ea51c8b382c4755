#include "plan/collective/blocks.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace cortado::plan {

Blocks::Blocks(Bytes total, std::uint32_t parts, Bytes element) : parts_(parts), element_(element.value) {
  CORTADO_CHECK(parts > 0 && element.value > 0 && total.value % element.value == 0, "blocks are of whole elements");
  const std::uint64_t elements = total.value / element.value;
  small_ = elements / parts;
  larger_ = elements % parts;
}

Bytes Blocks::size(std::uint32_t index) const {
  return Bytes{(small_ + (index < larger_ ? 1 : 0)) * element_};
}

Bytes Blocks::offset(std::uint32_t index) const {
  return Bytes{(small_ * index + std::min<std::uint64_t>(index, larger_)) * element_};
}

}  // namespace cortado::plan
