// How a buffer is divided among ranks.
#pragma once

#include <cstdint>

#include "cortado/program.hpp"

namespace cortado::plan {

/// `total` bytes in `parts` consecutive blocks of whole elements, as even as possible: with E elements, the first E mod
/// parts blocks have one element more than the others. Blocks may be empty. `total` must be a whole number of elements.
class Blocks {
 public:
  Blocks(Bytes total, std::uint32_t parts, Bytes element);

  std::uint32_t parts() const { return parts_; }
  Bytes size(std::uint32_t index) const;
  Bytes offset(std::uint32_t index) const;
  Region of(const Region& whole, std::uint32_t index) const { return slice(whole, offset(index), size(index)); }

 private:
  std::uint32_t parts_;
  std::uint64_t element_;
  std::uint64_t small_;   // elements of the smaller blocks
  std::uint64_t larger_;  // number of blocks with one more
};

}  // namespace cortado::plan
