// Shared by characterisations and maps.
#pragma once

#include "pipeline/characterize.hpp"
#include "pipeline/parallel.hpp"

namespace cortado::pipeline {

/// In sequence, with plain copies: the baseline of the schedules.
inline constexpr FiccoSchedule kSerial{.grain = Grain::whole, .exchange = ExchangeVariant::pcpy};

/// serial-dma, shard-p2p and the published schedules, with default chunks and the best exchanges.
std::vector<FiccoSchedule> usual_schedules();

/// Calls work(i) for i = 0 ... count-1; fails if it was stopped.
template <class Work>
Outcome<void> do_all(std::size_t count, const CharacterizeOptions& options, const Work& work) {
  const bool all = for_each_in_parallel(count, options.threads, work, [&](std::size_t done) {
    return !options.progress || options.progress(done, count);
  });
  if (!all) return fail_at(Stage::run, {"overlap.interrupted", "interrupted before it was finished", ""});
  return {};
}

}  // namespace cortado::pipeline
