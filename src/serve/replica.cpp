// Requests arrive, wait and end; time passes.
#include "serve/replica.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"

namespace cortado::serve {
namespace {

constexpr std::size_t kReadAhead = 256;         // requests that wait in the replica; all others stay in their source
constexpr std::uint64_t kProgressEvery = 4096;  // turns

}  // namespace

Result<bool> Replica::turn() {
  if (++turns_ % kProgressEvery == 0 && observer_.progress && !observer_.progress(tally_.finished + tally_.refused())) {
    return fail("serve.interrupted", "interrupted before all requests were served");
  }
  CORTADO_RETURN_IF_ERROR(admit_arrivals());
  settle_link();
  plan_step();
  if (decodes_.count() == 0 && chunks_.empty()) return wait_for_something();
  launch_after_host();
  if (chunks_.empty()) {
    decode_run();
  } else {
    mixed_step();
  }
  return true;
}

Status Replica::admit_arrivals() {
  while (waiting_.size() < kReadAhead) {
    CORTADO_ASSIGN_OR_RETURN(const auto next, source_.next_ns());
    next_arrival_ns_ = next ? *next + config_.request_ns : kNever;
    if (next_arrival_ns_ > now_ns_) return {};
    arrive(source_.take());
  }
  next_arrival_ns_ = kNever;  // no need to wait for a request that could not be admitted
  return {};
}

void Replica::arrive(Request request) {
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

std::uint64_t Replica::lacking(const Sequence& sequence, std::uint64_t tokens) const {
  const std::uint64_t needed = pages_of(tokens);
  return needed - std::min(needed, sequence.kept + sequence.pages);
}

void Replica::end(std::uint32_t slot, std::int64_t at_ns) {
  Sequence& sequence = sequences_[slot];
  const Request& request = sequence.request;
  free_pages(sequence);
  const double ttft = static_cast<double>(sequence.first_ns - request.arrival_ns) * 1e-9;
  const double answer = static_cast<double>(at_ns - sequence.first_ns) * 1e-9;
  tally_.arrivals.push_back(request.arrival_ns);
  tally_.ttft.push_back(ttft);
  tally_.over_time.add({request.arrival_ns, request.arrival_ns + 1, {.arrived = 1, .waited = ttft}});
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
  advance_link();
  for (const Stretch& stretch : std::exchange(tally_.tail, {})) tally_.add(stretch);
  source_.ended(request, at_ns);
  --running_;
  ++sequence.life;
  unused_.push_back(slot);
}

void Replica::free_pages(Sequence& sequence) {
  // The last blocks of a prompt are evicted first: few others begin with all of it.
  for (std::uint32_t i = sequence.kept; i-- > 0;) pool_.release(sequence.request.blocks.at(i));
  pool_.give_back(sequence.pages);
  sequence.kept = 0;
  sequence.pages = 0;
  sequence.computed = 0;
  sequence.looked_up = false;
  sequence.early = false;
}

void Replica::launch_after_host() {
  if (host_s_ == 0) return;
  pass(now_ns_ + std::max<std::int64_t>(1, std::llround(host_s_ * 1e9)), {.host = 1});
  host_s_ = 0;
}

void Replica::pass(std::int64_t to_ns, Activity activity) {
  activity.running = static_cast<double>(running_);
  activity.pool = static_cast<double>(pool_.used()) / static_cast<double>(pool_.pages());
  tally_.pool_peak = std::max(tally_.pool_peak, activity.pool);
  tally_.tail.push_back({now_ns_, to_ns, activity});
  now_ns_ = to_ns;
}

void Replica::advance_link() {
  const std::int64_t from_ns = link_.now_ns();
  const std::int64_t loads_ns = link_.busy_ns(HostLink::load);
  const std::int64_t stores_ns = link_.busy_ns(HostLink::store);
  link_.advance(now_ns_);
  // Nothing was added meanwhile: each direction was busy first, then idle.
  const std::int64_t loaded_ns = from_ns + link_.busy_ns(HostLink::load) - loads_ns;
  const std::int64_t stored_ns = from_ns + link_.busy_ns(HostLink::store) - stores_ns;
  if (loaded_ns > from_ns) tally_.tail.push_back({from_ns, loaded_ns, {.load = 1}});
  if (stored_ns > from_ns) tally_.tail.push_back({from_ns, stored_ns, {.store = 1}});
}

std::int64_t Replica::next_event() const {
  std::int64_t event =
      std::min({link_.next_end(HostLink::load), link_.next_end(HostLink::store), link_.next_first_layer()});
  if (waiting_.empty() && running_ < config_.limits.max_sequences) event = std::min(event, next_arrival_ns_);
  return event;
}

bool Replica::wait_for_something() {
  if (preempted_) return true;  // its pages may be enough for others
  const std::int64_t loaded = link_.next_end(HostLink::load);
  std::int64_t event = std::min(loaded, link_.next_end(HostLink::store));
  event = std::min({event, next_arrival_ns_, link_.next_first_layer()});
  if (loaded == kNever && !restored_.empty()) {
    // All pages are held by prefixes that came from host memory, and none of them can continue: the last one gives up
    // its pages and starts again.
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
  pass(std::max(now_ns_, event), {});
  return true;
}

void Replica::record(const ReplicaSpan& span) {
  if (observer_.spans != nullptr && observer_.spans->size() < observer_.max_spans) observer_.spans->push_back(span);
}

Tally Replica::finish() {
  tally_.load_bytes = link_.bytes(HostLink::load);
  tally_.store_bytes = link_.bytes(HostLink::store);
  return std::move(tally_);
}

Result<Tally> serve_all(Source& source, const StepCosts& costs, const ReplicaConfig& config,
                        const ReplicaObserver& observer) {
  HostTier tier(config.host_blocks);
  Replica replica(source, costs, config, observer, tier);
  for (bool more = true; more;) {
    CORTADO_ASSIGN_OR_RETURN(more, replica.turn());
  }
  Tally tally = replica.finish();
  tally.close(tally.end_ns);
  return tally;
}

}  // namespace cortado::serve
