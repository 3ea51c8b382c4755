// Steps: one with parts of prompts, or many decode steps at once.
#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "serve/replica.hpp"

namespace cortado::serve {
namespace {

constexpr std::uint64_t kLongestRun = 256;  // decode steps simulated at once: attention is linear over so few tokens

}  // namespace

double Replica::slowed(double seconds, bool decodes_only) const {
  if (!config_.fetch) return seconds;
  double share = 0;
  for (const HostLink::Direction direction : {HostLink::load, HostLink::store}) {
    if (!link_.busy(direction)) continue;
    share = std::max(share, config_.fetch->compute_share);
    if (decodes_only) share += config_.fetch->of(direction).memory_share;
  }
  return seconds / (1 - share);
}

double Replica::held_up(double seconds) const {
  const bool arriving = std::ranges::any_of(parts_, [&](std::uint32_t slot) { return sequences_[slot].fetching > 0; });
  if (!arriving) return seconds;
  const double until = static_cast<double>(link_.next_end(HostLink::load) - now_ns_) * 1e-9;
  return std::max(seconds, until + seconds / config_.fetch->layers);
}

void Replica::mixed_step() {
  std::uint64_t samples = decodes_.count();
  std::uint64_t prompt_tokens = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Sequence& sequence = sequences_[parts_[i]];
    prompt_tokens += chunks_[i].tokens;
    if (sequence.computed + chunks_[i].tokens == sequence.target) ++samples;
  }
  const double seconds = held_up(slowed(costs_.step(decodes_.count(), decodes_.context(), chunks_, samples), false));
  const std::int64_t end_ns = now_ns_ + std::max<std::int64_t>(1, std::llround(seconds * 1e9));
  record({ReplicaSpan::Kind::step, now_ns_, end_ns, decodes_.count(), prompt_tokens, 1});
  ++tally_.steps;
  grow_decodes(1);
  pass(end_ns,
       {.tokens = static_cast<double>(samples), .prompt_tokens = static_cast<double>(prompt_tokens), .steps = 1});
  settle_link();  // prefixes that this step waited for have arrived completely
  end_decodes();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Sequence& sequence = sequences_[parts_[i]];
    sequence.computed += chunks_[i].tokens;
    if (sequence.computed == sequence.target) begin_decoding(parts_[i]);
  }
  std::erase_if(prefilling_, [&](std::uint32_t slot) { return sequences_[slot].computed == sequences_[slot].target; });
}

void Replica::begin_decoding(std::uint32_t slot) {
  Sequence& sequence = sequences_[slot];
  if (sequence.first_ns < 0) sequence.first_ns = now_ns_;
  keep_prompt(sequence);
  ++sequence.generated;
  if (sequence.generated == sequence.request.output) {
    end(slot, now_ns_);
    sequence.computed = sequence.target;  // it is no longer among those being prefilled
    return;
  }
  sequence.joined = decodes_.step();
  decodes_.join(sequence.target);
  endings_.push({decodes_.step() + sequence.request.output - sequence.generated, {slot, sequence.life}});
}

void Replica::grow_decodes(std::uint64_t steps) {
  const bool taken = pool_.take(decodes_.pages_for(steps));
  CORTADO_CHECK(taken, "pages for decoding were looked for before");
  decodes_.advance(steps);
}

void Replica::end_decodes() {
  while (!endings_.empty() && endings_.top().step <= decodes_.step()) {
    const Ticket ticket = endings_.top().ticket;
    endings_.pop();
    Sequence& sequence = sequences_[ticket.slot];
    if (sequence.life != ticket.life) continue;
    leave_decoding(sequence);
    end(ticket.slot, now_ns_);
  }
  if (admitted_.size() > 2 * running_ + 64) {
    std::erase_if(admitted_, [&](const Ticket& ticket) { return sequences_[ticket.slot].life != ticket.life; });
  }
}

void Replica::decode_run() {
  while (sequences_[endings_.top().ticket.slot].life != endings_.top().ticket.life) endings_.pop();
  std::uint64_t steps = std::min(kLongestRun, endings_.top().step - decodes_.step());
  while (steps > 1 && decodes_.pages_for(steps) > pool_.available()) {
    steps = steps > config_.page ? steps - config_.page : steps - 1;
  }
  const auto cost_of = [&](std::uint64_t step) {
    return 1e9 * slowed(costs_.decode(decodes_.count(), decodes_.context() + static_cast<double>(step)), true);
  };
  const double first = cost_of(0);
  const double growth = steps > 1 ? (cost_of(steps - 1) - first) / static_cast<double>(steps - 1) : 0;
  const auto time_of = [&](std::uint64_t n) {
    const auto count = static_cast<double>(n);
    return count * first + growth * count * (count - 1) / 2;
  };
  const std::int64_t event = next_event();
  if (event != kNever && static_cast<double>(event - now_ns_) < time_of(steps)) {
    // As many as begin before the event.
    const auto until = static_cast<double>(event - now_ns_);
    std::uint64_t low = 1;
    std::uint64_t high = steps;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      (time_of(middle) >= until ? high : low) = time_of(middle) >= until ? middle : middle + 1;
    }
    steps = low;
  }
  const double seconds = 1e-9 * time_of(steps);
  const std::int64_t end_ns = now_ns_ + std::max<std::int64_t>(1, std::llround(seconds * 1e9));
  record({ReplicaSpan::Kind::decodes, now_ns_, end_ns, decodes_.count(), 0, steps});
  tally_.steps += steps;
  grow_decodes(steps);
  pass(end_ns, {.tokens = static_cast<double>(steps * decodes_.count()), .steps = 1});
  end_decodes();
}

}  // namespace cortado::serve
