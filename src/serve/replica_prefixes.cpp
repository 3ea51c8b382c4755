// Prefixes of prompts: found in the GPU's memory, fetched from host memory, kept and stored.
#include <algorithm>
#include <utility>

#include "serve/replica.hpp"

namespace cortado::serve {
std::uint32_t Replica::shareable(const Sequence& sequence) const {
  const std::uint32_t whole = (sequence.request.input - 1) / config_.page;
  return std::min(whole, sequence.request.blocks.size());
}

bool Replica::look_up(std::uint32_t slot) {
  Sequence& sequence = sequences_[slot];
  const BlockNames& names = sequence.request.blocks;
  const std::uint32_t most = config_.reuse == Reuse::none ? 0 : shareable(sequence);
  std::uint32_t found = 0;
  while (found < most && pool_.cache().contains(names.at(found))) pool_.use(names.at(found++));
  std::uint32_t there = found;
  if (config_.reuse == Reuse::host) {
    while (there < most && (there < sequence.request.stored || tier_.contains(names.at(there)))) ++there;
  }
  const std::uint64_t pages = there - found;
  if (pages + reserved_ > pool_.available()) {
    for (std::uint32_t i = found; i-- > 0;) pool_.release(names.at(i));
    return false;
  }
  sequence.looked_up = true;
  sequence.kept = found;
  sequence.computed = found * config_.page;
  sequence.in_hbm = found;
  sequence.in_host = there - found;
  if (there == found) return true;
  pool_.take(pages);
  sequence.pages = pages;
  sequence.fetching = there - found;
  for (std::uint32_t i = found; i < there; ++i) {
    tier_.insert(names.at(i));  // also those that were there before: they become the last to be evicted
  }
  move_blocks(HostLink::load, slot, sequence.fetching);
  ++tally_.fetches;
  return true;
}

void Replica::move_blocks(HostLink::Direction direction, std::uint64_t tag, std::uint32_t blocks) {
  const TransferCost& cost = direction == HostLink::load ? config_.fetch->load : config_.fetch->store;
  const double ahead_s = cost.ahead_seconds(blocks);
  link_.add(direction, tag, blocks, now_ns_, ahead_s > 0 ? host_s_ + ahead_s : 0);
  host_s_ += cost.host_seconds(blocks);
}

void Replica::settle_link() {
  if (!config_.fetch) return;
  advance_link();
  for (const auto& [direction, job] : link_.take_done()) {
    record({direction == HostLink::load ? ReplicaSpan::Kind::load : ReplicaSpan::Kind::store, job.start_ns, job.end_ns,
            0, 0, job.blocks});
    if (direction == HostLink::load) {
      arrived(static_cast<std::uint32_t>(job.tag));
      continue;
    }
    for (const std::uint64_t block : storing_.front()) tier_.insert(block);
    storing_.pop_front();
  }
  start_early();
}

void Replica::arrived(std::uint32_t slot) {
  Sequence& sequence = sequences_[slot];
  for (std::uint32_t i = 0; i < sequence.fetching; ++i) {
    --sequence.pages;
    pool_.keep(sequence.request.blocks.at(sequence.kept++));
  }
  sequence.fetching = 0;
  if (sequence.early) return;  // it has already started
  sequence.computed = sequence.kept * config_.page;
  restored_.push_back(slot);
}

void Replica::start_early() {
  const auto slot = link_.take_first_layer();
  if (!slot) return;
  Sequence& sequence = sequences_[*slot];
  sequence.early = true;
  sequence.computed = (sequence.kept + sequence.fetching) * config_.page;
  restored_.push_back(static_cast<std::uint32_t>(*slot));
}

void Replica::keep_prompt(Sequence& sequence) {
  if (config_.reuse == Reuse::none) return;
  const BlockNames& names = sequence.request.blocks;
  const std::uint32_t whole = std::min(sequence.request.input / config_.page, names.size());
  std::vector<std::uint64_t> fresh;
  for (std::uint32_t i = sequence.kept; i < whole; ++i) {
    --sequence.pages;
    pool_.keep(names.at(i));
    if (config_.reuse == Reuse::host && tier_.capacity() > 0 && !tier_.contains(names.at(i))) {
      fresh.push_back(names.at(i));
    }
  }
  sequence.kept = std::max(sequence.kept, whole);
  if (fresh.empty()) return;
  ++tally_.stores;
  move_blocks(HostLink::store, 0, static_cast<std::uint32_t>(fresh.size()));
  storing_.push_back(std::move(fresh));
}

}  // namespace cortado::serve
