// Which queues carry the pieces of a step, depending on the variant of its exchange.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/ficco/bench.hpp"

namespace cortado::plan {

/// What one queue carries in a step. Its pieces are announced together, by one signal after the last of them.
struct Batch {
  Lane lane;
  std::vector<RankId> to;  ///< in the order of their copies
  bool broadcast = false;  ///< two receivers of the same rows

  /// Where the signal is: with the receiver or, if several wait for it, with the sender.
  RankId home(std::uint32_t from) const { return to.size() == 1 ? to.front() : RankId{from}; }
};

/// Compute units of the kernels that carry pieces, for all peers together. If the schedule gives no number: as many as
/// a library uses, but at most half, because they are held while waiting for GEMMs that need the others.
std::uint32_t carrier_units(const FiccoSchedule& way, const Machine& machine);

class Carrier {
 public:
  /// `variants` of the steps; none is `automatic`. Everything else must outlive the carrier.
  Carrier(std::vector<ExchangeVariant> variants, const FiccoSchedule& way, const Machine& machine, Bench& bench);

  /// All peers of the sender, once each. With a rank that stands for all, a piece that another rank sends to it goes
  /// through its own queue to the peer at the same distance.
  std::vector<Batch>& batches(std::uint32_t step, std::uint32_t from) { return batches_[variants_[step]][from]; }

  /// Whether one packet can write to both.
  bool broadcasts_to(const Region& first, const Region& second) const;

 private:
  void open_all(ExchangeVariant variant, std::vector<std::vector<Batch>>& senders);
  void open_for_all(std::uint32_t only, std::vector<std::vector<Batch>>& senders);
  std::vector<Batch> open(ExchangeVariant variant, std::uint32_t from);
  bool takes_turns() const;
  std::vector<Batch> one_at_a_time(std::uint32_t from);
  Lane lane_towards(std::uint32_t from, RankId to);

  const std::vector<ExchangeVariant> variants_;  // by step
  const FiccoSchedule& way_;
  const Machine& machine_;
  Bench& bench_;
  std::map<ExchangeVariant, std::vector<std::vector<Batch>>> batches_;  // those in use, by sender
};

}  // namespace cortado::plan
