// One replica of a model behind a serving engine: continuous batching with chunked prefill over a paged KV cache.
//
// A step has one token of every decoding sequence, then parts of prompts as far as max_tokens allows. Requests are
// admitted first come, first served, when there are pages for the part of the prompt that fits in the step; nothing is
// reserved for the answer. When decoding needs a page and there is none, the most recently admitted sequence loses all
// its pages and waits at the front of the queue, to be recomputed (preempted).
//
// A prompt whose beginning is in host memory is parked, with pages for its blocks, while these are transferred; if they
// are released layer by layer, until those of the first layer have arrived. Blocks of prompts are written to host
// memory once they are computed.
//
// Steps that only decode are not simulated one by one: all steps up to the next arrival, end, arriving block or missing
// page are simulated at once, at the mean of the first and the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "serve/decodes.hpp"
#include "serve/fetch_cost.hpp"
#include "serve/host_link.hpp"
#include "serve/metrics.hpp"
#include "serve/pool.hpp"
#include "serve/sequence.hpp"
#include "serve/source.hpp"
#include "serve/step_costs.hpp"

namespace cortado::serve {

/// Where prefixes can be found.
enum class Reuse { none, hbm, host };

struct ReplicaConfig {
  StepLimits limits{};
  std::uint64_t pages = 0;      ///< of the pool
  std::uint32_t page = 16;      ///< tokens; also of a block of the prefix cache
  std::uint64_t context = 0;    ///< longest sequence
  std::int64_t request_ns = 0;  ///< from the arrival of a request until the engine may schedule it
  Reuse reuse = Reuse::hbm;
  std::uint64_t host_blocks = 0;  ///< capacity of its own tier
  std::optional<FetchCost> fetch{};
  std::optional<double> slo_ttft{};  ///< seconds
  std::optional<double> slo_tpot{};
};

/// What happened, for traces.
struct ReplicaSpan {
  enum class Kind : std::uint8_t { step, decodes, load, store } kind = Kind::step;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t sequences = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t count = 0;  ///< steps, or blocks
};

struct ReplicaObserver {
  /// Called from time to time with the number of requests that have ended; false stops.
  std::function<bool(std::uint64_t)> progress{};
  std::vector<ReplicaSpan>* spans = nullptr;  ///< the first max_spans of them
  std::size_t max_spans = 0;
};

class Replica {
 public:
  /// Everything passed here must outlive it. Replicas may share a tier.
  Replica(Source& source, const StepCosts& costs, const ReplicaConfig& config, const ReplicaObserver& observer,
          HostTier& tier)
      : source_(source),
        costs_(costs),
        config_(config),
        observer_(observer),
        tier_(tier),
        pool_(config.pages),
        link_(config.fetch.value_or(FetchCost{})),
        decodes_(config.page) {}

  /// One step, or the wait for the next event; false when all requests have ended. Fails as the source does, or with
  /// serve.interrupted.
  Result<bool> turn();
  std::int64_t now_ns() const { return now_ns_; }
  /// It is not closed: other replicas may have their last token later.
  Tally finish();

 private:
  static constexpr std::int64_t kNever = HostLink::kNever;

  // --- Requests ---

  Status admit_arrivals();
  void arrive(Request request);
  std::uint64_t pages_of(std::uint64_t tokens) const { return (tokens + config_.page - 1) / config_.page; }

  /// Pages that a sequence lacks for that number of tokens.
  std::uint64_t lacking(const Sequence& sequence, std::uint64_t tokens) const;
  void end(std::uint32_t slot, std::int64_t at_ns);
  void free_pages(Sequence& sequence);

  // --- Prefixes ---

  /// Number of leading blocks that may be shared: a block that includes the prompt's last token would leave nothing to
  /// compute.
  std::uint32_t shareable(const Sequence& sequence) const;
  /// Uses what the GPU has of the prompt, and requests the rest from host memory. False if there are no pages for that.
  bool look_up(std::uint32_t slot);
  void move_blocks(HostLink::Direction direction, std::uint64_t tag, std::uint32_t blocks);
  void settle_link();
  void arrived(std::uint32_t slot);  ///< all its blocks have arrived
  /// The first layer of the prompt that is being fetched has arrived: it can start.
  void start_early();
  /// Stores the blocks of a computed prompt in the prefix cache, and those that host memory lacks there.
  void keep_prompt(Sequence& sequence);

  // --- Steps ---

  void plan_step();
  std::uint64_t chunk_of(const Sequence& sequence) const;
  bool fits(std::uint32_t slot) const;
  /// Adds a part of the prompt to this step; false if there are no pages for it.
  bool add_chunk(std::uint32_t slot);
  void admit(std::deque<std::uint32_t>& queue);
  void count_prompt(Sequence& sequence);

  // --- Pages ---

  const Ticket* youngest();
  bool is_youngest(std::uint32_t slot);
  void preempt_youngest();
  /// Puts the sequence in its state before the next step: all its tokens must be recomputed before it can continue.
  void leave_decoding(Sequence& sequence);
  /// Pages taken by decoding, which are not counted per sequence while it goes on.
  std::uint64_t pages_grown(const Sequence& sequence, std::uint64_t steps) const;

  // --- Time ---

  void launch_after_host();
  /// Compute units that copy, and memory bandwidth that copies use, are not available to the step.
  double slowed(double seconds, bool decodes_only) const;
  /// Extended if a prefix is still arriving layer by layer: the last layer is computed when its blocks are there.
  double held_up(double seconds) const;
  /// Until then, in steps or submitting, or neither.
  void pass(std::int64_t to_ns, Activity activity);
  /// The link carries blocks until now.
  void advance_link();
  void mixed_step();
  void begin_decoding(std::uint32_t slot);
  void grow_decodes(std::uint64_t steps);
  void end_decodes();
  void decode_run();
  /// The next event that a step may have to take into account.
  std::int64_t next_event() const;
  /// False: nothing will ever happen again.
  bool wait_for_something();
  void record(const ReplicaSpan& span);

  Source& source_;
  const StepCosts& costs_;
  const ReplicaConfig& config_;
  const ReplicaObserver& observer_;
  HostTier& tier_;
  PagePool pool_;
  HostLink link_;
  Tally tally_;

  std::int64_t now_ns_ = 0;
  std::int64_t next_arrival_ns_ = kNever;
  std::uint64_t turns_ = 0;
  double host_s_ = 0;  // what the host has to submit before the next step

  std::vector<Sequence> sequences_;
  std::vector<std::uint32_t> unused_;
  std::deque<std::uint32_t> waiting_;
  std::deque<std::uint32_t> restored_;  // their blocks came from host memory
  std::vector<std::uint32_t> prefilling_;
  std::vector<Ticket> admitted_;  // running, in the order of admission
  std::uint64_t running_ = 0;

  Decodes decodes_;
  std::priority_queue<Ending> endings_;

  std::vector<Chunk> chunks_;  // of the step being planned
  std::vector<std::uint32_t> parts_;
  std::uint64_t budget_ = 0;
  std::uint64_t reserved_ = 0;  // pages for decodes of the step
  bool preempted_ = false;
  std::deque<std::vector<std::uint64_t>> storing_;
};

/// Runs one replica with its own tier until all requests have ended.
Result<Tally> serve_all(Source& source, const StepCosts& costs, const ReplicaConfig& config,
                        const ReplicaObserver& observer = {});

}  // namespace cortado::serve
