#include "serve/replica.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "serve/decodes.hpp"
#include "serve/host_link.hpp"
#include "serve/pool.hpp"
#include "serve/sequence.hpp"

namespace cortado::serve {
namespace {

constexpr std::int64_t kNever = HostLink::kNever;
constexpr std::uint64_t kLongestRun = 256;      // decode steps done at once: attention is a line over so few tokens
constexpr std::size_t kReadAhead = 256;         // requests that wait in the replica; all others stay in their source
constexpr std::uint64_t kProgressEvery = 4096;  // loops

class Replica {
 public:
  Replica(Source& source, const StepCosts& costs, const ReplicaConfig& config, const ReplicaObserver& observer)
      : source_(source),
        costs_(costs),
        config_(config),
        observer_(observer),
        pool_(config.pages, config.block / config.page),
        tier_(config.reuse == Reuse::host ? config.host_blocks : 0),
        link_(config.fetch.value_or(FetchCost{})),
        decodes_(config.page) {}

  Result<Tally> run() {
    for (std::uint64_t loop = 1;; ++loop) {
      if (loop % kProgressEvery == 0 && observer_.progress && !observer_.progress(tally_.finished + tally_.refused())) {
        return fail("serve.interrupted", "interrupted before all requests were served");
      }
      CORTADO_RETURN_IF_ERROR(admit_arrivals());
      settle_link();
      plan_step();
      if (decodes_.count() == 0 && chunks_.empty()) {
        if (!wait_for_something()) break;
        continue;
      }
      launch_after_host();
      if (chunks_.empty()) {
        decode_run();
      } else {
        mixed_step();
      }
    }
    finish_tally();
    return std::move(tally_);
  }

 private:
  // --- Requests ---

  Status admit_arrivals() {
    while (waiting_.size() < kReadAhead) {
      CORTADO_ASSIGN_OR_RETURN(const auto next, source_.next_ns());
      next_arrival_ns_ = next.value_or(kNever);
      if (next_arrival_ns_ > now_ns_) return {};
      arrive(source_.take());
    }
    next_arrival_ns_ = kNever;  // nobody is waited for who could not be admitted
    return {};
  }

  void arrive(Request request) {
    ++tally_.arrived;
    const std::uint64_t tokens = std::uint64_t{request.input} + request.output;
    std::uint64_t* refused = nullptr;
    if (request.output == 0) {
      refused = &tally_.refused_empty;
    } else if (tokens > config_.context) {
      refused = &tally_.refused_length;
    } else if (pages_of(tokens) > pool_.pages()) {
      refused = &tally_.refused_pool;
    }
    if (refused != nullptr) {
      ++*refused;
      source_.ended(request, std::max(now_ns_, request.arrival_ns));
      return;
    }
    std::uint32_t slot = static_cast<std::uint32_t>(sequences_.size());
    if (unused_.empty()) {
      sequences_.emplace_back();
    } else {
      slot = unused_.back();
      unused_.pop_back();
    }
    const std::uint32_t life = sequences_[slot].life;
    sequences_[slot] = {.target = request.input, .life = life};
    sequences_[slot].request = std::move(request);
    waiting_.push_back(slot);
  }

  std::uint64_t pages_of(std::uint64_t tokens) const { return (tokens + config_.page - 1) / config_.page; }

  /// Pages that a sequence lacks to have so many tokens.
  std::uint64_t lacking(const Sequence& sequence, std::uint64_t tokens) const {
    const std::uint64_t kept = std::uint64_t{sequence.kept} * pool_.block_pages();
    const std::uint64_t needed = pages_of(tokens);
    return needed - std::min(needed, kept + sequence.pages);
  }

  void end(std::uint32_t slot, std::int64_t at_ns) {
    Sequence& sequence = sequences_[slot];
    const Request& request = sequence.request;
    free_pages(sequence);
    const double ttft = static_cast<double>(sequence.first_ns - request.arrival_ns) * 1e-9;
    const double answer = static_cast<double>(at_ns - sequence.first_ns) * 1e-9;
    tally_.ttft.push_back(ttft);
    tally_.latency.push_back(static_cast<double>(at_ns - request.arrival_ns) * 1e-9);
    double tpot = 0;
    if (request.output > 1) {
      tpot = answer / (request.output - 1);
      tally_.tpot.push_back(tpot);
    }
    if (ttft <= config_.slo_ttft.value_or(ttft) && tpot <= config_.slo_tpot.value_or(tpot)) {
      ++tally_.good;
      tally_.good_tokens += request.output;
    }
    ++tally_.finished;
    tally_.output_tokens += request.output;
    tally_.end_ns = std::max(tally_.end_ns, at_ns);
    source_.ended(request, at_ns);
    --running_;
    ++sequence.life;
    unused_.push_back(slot);
  }

  void free_pages(Sequence& sequence) {
    // The last blocks of a prompt are the first to go: few others begin with all of it.
    for (std::uint32_t i = sequence.kept; i-- > 0;) pool_.release(sequence.request.blocks.at(i));
    pool_.give_back(sequence.pages);
    sequence.kept = 0;
    sequence.pages = 0;
    sequence.computed = 0;
    sequence.looked_up = false;
  }

  // --- Prefixes ---

  /// Blocks of which some are behind the prompt's last token would leave nothing to compute.
  std::uint32_t shareable(const Sequence& sequence) const {
    const std::uint32_t whole = (sequence.request.input - 1) / config_.block;
    return std::min(whole, sequence.request.blocks.size());
  }

  /// Uses what the GPU has of the prompt, and asks host memory for what follows. False if there are no pages for that.
  bool look_up(std::uint32_t slot) {
    Sequence& sequence = sequences_[slot];
    const BlockNames& names = sequence.request.blocks;
    const std::uint32_t most = config_.reuse == Reuse::none ? 0 : shareable(sequence);
    std::uint32_t found = 0;
    while (found < most && pool_.cache().contains(names.at(found))) pool_.use(names.at(found++));
    std::uint32_t there = found;
    if (config_.reuse == Reuse::host) {
      while (there < most && (there < sequence.request.stored || tier_.contains(names.at(there)))) ++there;
    }
    const std::uint64_t pages = std::uint64_t{there - found} * pool_.block_pages();
    if (pages + reserved_ > pool_.available()) {
      for (std::uint32_t i = found; i-- > 0;) pool_.release(names.at(i));
      return false;
    }
    sequence.looked_up = true;
    sequence.kept = found;
    sequence.computed = found * config_.block;
    sequence.in_hbm = found;
    sequence.in_host = there - found;
    if (there == found) return true;
    pool_.take(pages);
    sequence.pages = pages;
    sequence.fetching = there - found;
    for (std::uint32_t i = found; i < there; ++i) {
      tier_.insert(names.at(i));  // of those that were there before, too: the last to go
    }
    move_blocks(HostLink::load, slot, sequence.fetching);
    ++tally_.fetches;
    return true;
  }

  void move_blocks(HostLink::Direction direction, std::uint64_t tag, std::uint32_t blocks) {
    const std::uint32_t pages = blocks * pool_.block_pages();
    const TransferCost& cost = direction == HostLink::load ? config_.fetch->load : config_.fetch->store;
    host_s_ += cost.host_fixed_s + pages * cost.host_per_block_s;
    link_.add(direction, tag, pages, now_ns_);
  }

  void settle_link() {
    if (!config_.fetch) return;
    link_.advance(now_ns_);
    for (const auto& [direction, job] : link_.take_done()) {
      record({direction == HostLink::load ? ReplicaSpan::Kind::load : ReplicaSpan::Kind::store, job.start_ns,
              job.end_ns, 0, 0, job.blocks});
      if (direction == HostLink::store) {
        for (const std::uint64_t block : storing_.front()) tier_.insert(block);
        storing_.pop_front();
        continue;
      }
      const auto slot = static_cast<std::uint32_t>(job.tag);
      Sequence& sequence = sequences_[slot];
      for (std::uint32_t i = 0; i < sequence.fetching; ++i) {
        sequence.pages -= pool_.block_pages();
        pool_.keep(sequence.request.blocks.at(sequence.kept++));
      }
      sequence.fetching = 0;
      sequence.computed = sequence.kept * config_.block;
      restored_.push_back(slot);
    }
  }

  /// The blocks of a prompt that was computed: into the prefix cache, and those that host memory lacks into that.
  void keep_prompt(Sequence& sequence) {
    if (config_.reuse == Reuse::none) return;
    const BlockNames& names = sequence.request.blocks;
    const std::uint32_t whole = std::min(sequence.request.input / config_.block, names.size());
    std::vector<std::uint64_t> fresh;
    for (std::uint32_t i = sequence.kept; i < whole; ++i) {
      sequence.pages -= pool_.block_pages();
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

  // --- Steps ---

  void plan_step() {
    chunks_.clear();
    parts_.clear();
    budget_ = config_.limits.max_tokens;
    preempted_ = false;
    while (decodes_.pages_for(1) > pool_.available()) preempt_youngest();
    budget_ -= std::min<std::uint64_t>(budget_, decodes_.count());
    reserved_ = decodes_.pages_for(1);
    for (std::size_t i = 0; i < prefilling_.size() && budget_ > 0; ++i) {
      if (!add_chunk(prefilling_[i])) {
        // Whoever came last makes room, this one itself if it is the last.
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

  std::uint64_t chunk_of(const Sequence& sequence) const {
    return std::min<std::uint64_t>(budget_, sequence.target - sequence.computed);
  }

  bool fits(std::uint32_t slot) const {
    const Sequence& sequence = sequences_[slot];
    return lacking(sequence, sequence.computed + chunk_of(sequence)) + reserved_ <= pool_.available();
  }

  /// A part of the prompt into this step; false if there are no pages for it.
  bool add_chunk(std::uint32_t slot) {
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

  void admit(std::deque<std::uint32_t>& queue) {
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
        // What host memory sent stays; what was only found does not hold pages while it waits.
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

  void count_prompt(Sequence& sequence) {
    if (sequence.counted) return;
    sequence.counted = true;
    tally_.prompt_tokens += sequence.request.input;
    tally_.hbm_tokens += std::uint64_t{sequence.in_hbm} * config_.block;
    tally_.host_tokens += std::uint64_t{sequence.in_host} * config_.block;
  }

  // --- Pages ---

  const Ticket* youngest() {
    while (!admitted_.empty() && sequences_[admitted_.back().slot].life != admitted_.back().life) admitted_.pop_back();
    return admitted_.empty() ? nullptr : &admitted_.back();
  }
  bool is_youngest(std::uint32_t slot) {
    const Ticket* last = youngest();
    return last == nullptr || last->slot == slot;
  }

  void preempt_youngest() {
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
      tally_.recomputed += sequence.computed - std::min(sequence.computed, sequence.kept * config_.block);
      prefilling_.erase(prefilling);
    } else {
      leave_decoding(sequence);
      tally_.recomputed += sequence.target - std::min(sequence.target, sequence.kept * config_.block);
    }
    free_pages(sequence);
    ++sequence.life;
    --running_;
    ++tally_.preempted;
    preempted_ = true;
    waiting_.push_front(slot);
  }

  /// The sequence as it is before the next step: all its tokens are to be computed to go on.
  void leave_decoding(Sequence& sequence) {
    const std::uint64_t steps = decodes_.step() - sequence.joined;
    decodes_.leave(sequence.target, sequence.joined);
    sequence.pages += pages_grown(sequence, steps);
    sequence.generated += static_cast<std::uint32_t>(steps);
    sequence.target = sequence.request.input + sequence.generated;
  }

  /// Pages taken by decoding, which nobody counts by sequence while it goes on.
  std::uint64_t pages_grown(const Sequence& sequence, std::uint64_t steps) const {
    return pages_of(sequence.target + steps) - pages_of(sequence.target);
  }

  // --- Time ---

  void launch_after_host() {
    if (host_s_ == 0) return;
    tally_.host_s += host_s_;
    pass(now_ns_ + std::max<std::int64_t>(1, std::llround(host_s_ * 1e9)), 0, 0);
    host_s_ = 0;
  }

  /// Compute units that copy are not there for the step.
  double slowed(double seconds) const {
    const bool copying = link_.busy(HostLink::load) || link_.busy(HostLink::store);
    return copying && config_.fetch ? seconds / (1 - config_.fetch->compute_share) : seconds;
  }

  void pass(std::int64_t to_ns, double tokens, double prompt_tokens) {
    const double used = static_cast<double>(pool_.used()) / static_cast<double>(pool_.pages());
    tally_.pool_s += used * static_cast<double>(to_ns - now_ns_) * 1e-9;
    tally_.pool_peak = std::max(tally_.pool_peak, used);
    tally_.over_time.add(now_ns_, to_ns,
                         {tokens, prompt_tokens, static_cast<double>(running_), used,
                          link_.busy(HostLink::load) ? 1.0 : 0.0, link_.busy(HostLink::store) ? 1.0 : 0.0});
    now_ns_ = to_ns;
  }

  void mixed_step() {
    std::uint64_t samples = decodes_.count();
    std::uint64_t prompt_tokens = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Sequence& sequence = sequences_[parts_[i]];
      prompt_tokens += chunks_[i].tokens;
      if (sequence.computed + chunks_[i].tokens == sequence.target) ++samples;
    }
    const double seconds = slowed(costs_.step(decodes_.count(), decodes_.context(), chunks_, samples));
    const std::int64_t end_ns = now_ns_ + std::max<std::int64_t>(1, std::llround(seconds * 1e9));
    record({ReplicaSpan::Kind::step, now_ns_, end_ns, decodes_.count(), prompt_tokens, 1});
    tally_.step_s += seconds;
    ++tally_.steps;
    grow_decodes(1);
    pass(end_ns, static_cast<double>(samples), static_cast<double>(prompt_tokens));
    end_decodes();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Sequence& sequence = sequences_[parts_[i]];
      sequence.computed += chunks_[i].tokens;
      if (sequence.computed == sequence.target) begin_decoding(parts_[i]);
    }
    std::erase_if(prefilling_,
                  [&](std::uint32_t slot) { return sequences_[slot].computed == sequences_[slot].target; });
  }

  void begin_decoding(std::uint32_t slot) {
    Sequence& sequence = sequences_[slot];
    if (sequence.first_ns < 0) sequence.first_ns = now_ns_;
    keep_prompt(sequence);
    ++sequence.generated;
    if (sequence.generated == sequence.request.output) {
      end(slot, now_ns_);
      sequence.computed = sequence.target;  // it is no longer among those that are prefilled
      return;
    }
    sequence.joined = decodes_.step();
    decodes_.join(sequence.target);
    endings_.push({decodes_.step() + sequence.request.output - sequence.generated, {slot, sequence.life}});
  }

  void grow_decodes(std::uint64_t steps) {
    const bool taken = pool_.take(decodes_.pages_for(steps));
    CORTADO_CHECK(taken, "pages for decoding were looked for before");
    decodes_.advance(steps);
  }

  void end_decodes() {
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

  void decode_run() {
    while (sequences_[endings_.top().ticket.slot].life != endings_.top().ticket.life) endings_.pop();
    std::uint64_t steps = std::min(kLongestRun, endings_.top().step - decodes_.step());
    while (steps > 1 && decodes_.pages_for(steps) > pool_.available()) {
      steps = steps > config_.page ? steps - config_.page : steps - 1;
    }
    const auto cost_of = [&](std::uint64_t step) {
      return 1e9 * slowed(costs_.decode(decodes_.count(), decodes_.context() + static_cast<double>(step)));
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
    tally_.step_s += seconds;
    tally_.steps += steps;
    grow_decodes(steps);
    pass(end_ns, static_cast<double>(steps * decodes_.count()), 0);
    end_decodes();
  }

  /// That the next step may have to look at.
  std::int64_t next_event() const {
    std::int64_t event = std::min(link_.next_end(HostLink::load), link_.next_end(HostLink::store));
    if (waiting_.empty() && running_ < config_.limits.max_sequences) event = std::min(event, next_arrival_ns_);
    return event;
  }

  /// False: nothing will ever happen again.
  bool wait_for_something() {
    if (preempted_) return true;  // its pages may do for others
    const std::int64_t loaded = link_.next_end(HostLink::load);
    std::int64_t event = std::min(loaded, link_.next_end(HostLink::store));
    event = std::min(event, next_arrival_ns_);
    if (loaded == kNever && !restored_.empty()) {
      // All pages are held by prefixes that came from host memory, and none of them can go on: the last one gives its
      // pages up and comes again.
      ++tally_.deadlocks;
      const std::uint32_t slot = restored_.back();
      restored_.pop_back();
      free_pages(sequences_[slot]);
      waiting_.push_front(slot);
      return true;
    }
    if (event == kNever) {
      CORTADO_CHECK(waiting_.empty() && prefilling_.empty(), "whoever waits can be admitted when nothing runs");
      return false;
    }
    launch_after_host();
    pass(std::max(now_ns_, event), 0, 0);
    return true;
  }

  void record(const ReplicaSpan& span) {
    if (observer_.spans != nullptr && observer_.spans->size() < observer_.max_spans) observer_.spans->push_back(span);
  }

  void finish_tally() {
    tally_.load_s = link_.busy_seconds(HostLink::load);
    tally_.store_s = link_.busy_seconds(HostLink::store);
    tally_.load_bytes = link_.bytes(HostLink::load);
    tally_.store_bytes = link_.bytes(HostLink::store);
  }

  Source& source_;
  const StepCosts& costs_;
  const ReplicaConfig& config_;
  const ReplicaObserver& observer_;
  PagePool pool_;
  HostTier tier_;
  HostLink link_;
  Tally tally_;

  std::int64_t now_ns_ = 0;
  std::int64_t next_arrival_ns_ = kNever;
  double host_s_ = 0;  // that the host has to submit before the next step

  std::vector<Sequence> sequences_;
  std::vector<std::uint32_t> unused_;
  std::deque<std::uint32_t> waiting_;
  std::deque<std::uint32_t> restored_;  // their blocks came from host memory
  std::vector<std::uint32_t> prefilling_;
  std::vector<Ticket> admitted_;  // that run, in the order of admission
  std::uint64_t running_ = 0;

  Decodes decodes_;
  std::priority_queue<Ending> endings_;

  std::vector<Chunk> chunks_;  // of the step that is planned
  std::vector<std::uint32_t> parts_;
  std::uint64_t budget_ = 0;
  std::uint64_t reserved_ = 0;  // pages for decodes of the step
  bool preempted_ = false;
  std::deque<std::vector<std::uint64_t>> storing_;
};

}  // namespace

Result<Tally> serve_all(Source& source, const StepCosts& costs, const ReplicaConfig& config,
                        const ReplicaObserver& observer) {
  return Replica(source, costs, config, observer).run();
}

}  // namespace cortado::serve
