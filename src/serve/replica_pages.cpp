// The contents of a step: decodes first, then parts of prompts; and which sequence yields when there are no pages.
#include <algorithm>

#include "base/check.hpp"
#include "serve/replica.hpp"

namespace cortado::serve {
void Replica::plan_step() {
  chunks_.clear();
  parts_.clear();
  budget_ = config_.limits.max_tokens;
  preempted_ = false;
  while (decodes_.pages_for(1) > pool_.available()) preempt_youngest();
  budget_ -= std::min<std::uint64_t>(budget_, decodes_.count());
  reserved_ = decodes_.pages_for(1);
  for (std::size_t i = 0; i < prefilling_.size() && budget_ > 0; ++i) {
    if (!add_chunk(prefilling_[i])) {
      // The most recently admitted one makes room, even if that is this one.
      const std::uint32_t slot = prefilling_[i];
      while (!is_youngest(slot) && !fits(slot)) preempt_youngest();
      if (!fits(slot) || !add_chunk(slot)) {
        if (parts_.empty() && decodes_.count() == 0) preempt_youngest();
        break;
      }
    }
  }
  if (preempted_) return;
  admit(restored_);
  if (restored_.empty()) admit(waiting_);
}

std::uint64_t Replica::chunk_of(const Sequence& sequence) const {
  return std::min<std::uint64_t>(budget_, sequence.target - sequence.computed);
}

bool Replica::fits(std::uint32_t slot) const {
  const Sequence& sequence = sequences_[slot];
  return lacking(sequence, sequence.computed + chunk_of(sequence)) + reserved_ <= pool_.available();
}

bool Replica::add_chunk(std::uint32_t slot) {
  Sequence& sequence = sequences_[slot];
  const std::uint64_t tokens = chunk_of(sequence);
  const std::uint64_t pages = lacking(sequence, sequence.computed + tokens);
  if (pages + reserved_ > pool_.available()) return false;
  pool_.take(pages);
  sequence.pages += pages;
  parts_.push_back(slot);
  chunks_.push_back({static_cast<std::uint32_t>(tokens), sequence.computed});
  budget_ -= tokens;
  return true;
}

void Replica::admit(std::deque<std::uint32_t>& queue) {
  while (!queue.empty() && budget_ > 0 && running_ < config_.limits.max_sequences) {
    const std::uint32_t slot = queue.front();
    Sequence& sequence = sequences_[slot];
    if (!sequence.looked_up) {
      if (!look_up(slot)) return;
      if (sequence.fetching > 0) {
        queue.pop_front();
        continue;
      }
    }
    if (!add_chunk(slot)) {
      // What came from host memory stays; what was only found does not hold pages while the sequence waits.
      if (&queue == &waiting_) free_pages(sequence);
      return;
    }
    queue.pop_front();
    count_prompt(sequence);
    prefilling_.push_back(slot);
    admitted_.push_back({slot, sequence.life});
    ++running_;
  }
}

void Replica::count_prompt(Sequence& sequence) {
  if (sequence.counted) return;
  sequence.counted = true;
  tally_.prompt_tokens += sequence.request.input;
  tally_.hbm_tokens += std::uint64_t{sequence.in_hbm} * config_.page;
  tally_.host_tokens += std::uint64_t{sequence.in_host} * config_.page;
}

const Ticket* Replica::youngest() {
  while (!admitted_.empty() && sequences_[admitted_.back().slot].life != admitted_.back().life) admitted_.pop_back();
  return admitted_.empty() ? nullptr : &admitted_.back();
}

bool Replica::is_youngest(std::uint32_t slot) {
  const Ticket* last = youngest();
  return last == nullptr || last->slot == slot;
}

void Replica::preempt_youngest() {
  const Ticket* last = youngest();
  CORTADO_CHECK(last != nullptr, "a sequence that needs pages is running");
  const std::uint32_t slot = last->slot;
  admitted_.pop_back();
  Sequence& sequence = sequences_[slot];
  const auto prefilling = std::ranges::find(prefilling_, slot);
  if (prefilling != prefilling_.end()) {
    const auto part = std::ranges::find(parts_, slot);
    if (part != parts_.end()) {
      chunks_.erase(chunks_.begin() + (part - parts_.begin()));
      parts_.erase(part);
    }
    tally_.recomputed += sequence.computed - std::min(sequence.computed, sequence.kept * config_.page);
    prefilling_.erase(prefilling);
  } else {
    leave_decoding(sequence);
    tally_.recomputed += sequence.target - std::min(sequence.target, sequence.kept * config_.page);
  }
  free_pages(sequence);
  ++sequence.life;
  --running_;
  ++tally_.preempted;
  preempted_ = true;
  waiting_.push_front(slot);
}

void Replica::leave_decoding(Sequence& sequence) {
  const std::uint64_t steps = decodes_.step() - sequence.joined;
  decodes_.leave(sequence.target, sequence.joined);
  sequence.pages += pages_grown(sequence, steps);
  sequence.generated += static_cast<std::uint32_t>(steps);
  sequence.target = sequence.request.input + sequence.generated;
}

std::uint64_t Replica::pages_grown(const Sequence& sequence, std::uint64_t steps) const {
  return pages_of(sequence.target + steps) - pages_of(sequence.target);
}

}  // namespace cortado::serve
