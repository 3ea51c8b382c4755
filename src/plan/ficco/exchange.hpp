// Who sends which rows to whom: a collective before or after a GEMM, whatever its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/ficco.hpp"
#include "plan/ficco/matrix.hpp"

namespace cortado::plan {

class Exchange {
 public:
  /// The request must have been checked and have its final number of ranks.
  explicit Exchange(const DependentRequest& request);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(held_.size()); }
  /// Every rank receives the rows of all, so that A can be gathered where its own rows already are.
  bool gathers() const { return gathers_; }
  /// What all send to a rank is added up there.
  bool reduces() const { return reduces_; }

  std::uint64_t rows_of(std::uint32_t rank) const { return held_[rank]; }       ///< rows that it sends from
  std::uint64_t rows_for(std::uint32_t rank) const { return received_[rank]; }  ///< rows that it receives
  /// What `from` sends to `to`, in terms of the rows that `from` has.
  const Span& given(std::uint32_t from, std::uint32_t to) const { return given_[place(from, to)]; }
  /// The same rows among those that `to` receives.
  Span placed(std::uint32_t from, std::uint32_t to) const {
    return {placed_[place(from, to)], given_[place(from, to)].count};
  }

 private:
  std::size_t place(std::uint32_t from, std::uint32_t to) const { return std::size_t{from} * held_.size() + to; }

  bool gathers_;
  bool reduces_;
  std::vector<std::uint64_t> held_;
  std::vector<std::uint64_t> received_;
  std::vector<Span> given_;  // at place(from, to)
  std::vector<std::uint64_t> placed_;
};

}  // namespace cortado::plan
