// One replica of a model behind a serving engine: continuous batching with chunked prefill over a paged KV cache.
//
// A step has one token of every sequence that decodes, then parts of prompts as far as max_tokens allows. A request is
// admitted first come, first served, when there are pages for the part of its prompt that fits the step; what it will
// answer is not reserved. When decoding needs a page and there is none, the sequence that was admitted last loses all
// its pages and waits in front of the others, to be computed again (preempted).
//
// A prompt whose beginning is in host memory is parked while its blocks come over the link, with pages for them; if
// they are released layer by layer, until those of the first layer are there. Blocks of prompts are written to host
// memory when they are computed.
//
// Steps in which nothing but decoding happens are not simulated one by one: all up to the next arrival, end, arriving
// block or missing page are done at once, at the mean of the first and the last.
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

/// Which prefixes are found.
enum class Reuse { none, hbm, host };

struct ReplicaConfig {
  StepLimits limits{};
  std::uint64_t pages = 0;      ///< of the pool
  std::uint32_t page = 16;      ///< tokens
  std::uint32_t block = 16;     ///< tokens of a block of the prefix cache, a multiple of the page
  std::uint64_t context = 0;    ///< longest sequence
  std::int64_t request_ns = 0;  ///< from a request that arrives until the engine may schedule it
  Reuse reuse = Reuse::hbm;
  std::uint64_t host_blocks = 0;  ///< capacity of a tier of its own
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
  /// Called now and then with the requests that ended; false stops.
  std::function<bool(std::uint64_t)> progress{};
  std::vector<ReplicaSpan>* spans = nullptr;  ///< the first max_spans of them
  std::size_t max_spans = 0;
};

class Replica {
 public:
  /// Everything named here must outlive it. Replicas may have one tier together.
  Replica(Source& source, const StepCosts& costs, const ReplicaConfig& config, const ReplicaObserver& observer,
          HostTier& tier)
      : source_(source),
        costs_(costs),
        config_(config),
        observer_(observer),
        tier_(tier),
        pool_(config.pages, config.block / config.page),
        link_(config.fetch.value_or(FetchCost{})),
        decodes_(config.page) {}

  /// One step, or the wait for what comes next; false when all requests have ended. Fails as the source does, or with
  /// serve.interrupted.
  Result<bool> turn();
  std::int64_t now_ns() const { return now_ns_; }
  Tally finish();

 private:
  static constexpr std::int64_t kNever = HostLink::kNever;

  // --- Requests ---

  Status admit_arrivals();
  void arrive(Request request);
  std::uint64_t pages_of(std::uint64_t tokens) const { return (tokens + config_.page - 1) / config_.page; }

  /// Pages that a sequence lacks to have that number of tokens.
  std::uint64_t lacking(const Sequence& sequence, std::uint64_t tokens) const;
  void end(std::uint32_t slot, std::int64_t at_ns);
  void free_pages(Sequence& sequence);

  // --- Prefixes ---

  /// Blocks of which some are behind the prompt's last token would leave nothing to compute.
  std::uint32_t shareable(const Sequence& sequence) const;
  /// Uses what the GPU has of the prompt, and asks host memory for what follows. False if there are no pages for that.
  bool look_up(std::uint32_t slot);
  void move_blocks(HostLink::Direction direction, std::uint64_t tag, std::uint32_t blocks);
  void settle_link();
  void arrived(std::uint32_t slot);  ///< all its blocks
  /// The first layer of the prompt that is being fetched is there: it can start.
  void start_early();
  /// The blocks of a prompt that was computed: into the prefix cache, and those that host memory lacks into that.
  void keep_prompt(Sequence& sequence);

  // --- Steps ---

  void plan_step();
  std::uint64_t chunk_of(const Sequence& sequence) const;
  bool fits(std::uint32_t slot) const;
  /// A part of the prompt into this step; false if there are no pages for it.
  bool add_chunk(std::uint32_t slot);
  void admit(std::deque<std::uint32_t>& queue);
  void count_prompt(Sequence& sequence);

  // --- Pages ---

  const Ticket* youngest();
  bool is_youngest(std::uint32_t slot);
  void preempt_youngest();
  /// The sequence as it is before the next step: all its tokens are to be computed to go on.
  void leave_decoding(Sequence& sequence);
  /// Pages taken by decoding, which nobody counts by sequence while it goes on.
  std::uint64_t pages_grown(const Sequence& sequence, std::uint64_t steps) const;

  // --- Time ---

  void launch_after_host();
  /// Compute units that copy, and memory that copies take, are not there for the step.
  double slowed(double seconds, bool decodes_only) const;
  /// Longer, if a prefix is still arriving layer by layer: the last layer is computed when its blocks are there.
  double held_up(double seconds) const;
  void pass(std::int64_t to_ns, double tokens, double prompt_tokens);
  void mixed_step();
  void begin_decoding(std::uint32_t slot);
  void grow_decodes(std::uint64_t steps);
  void end_decodes();
  void decode_run();
  /// That the next step may have to look at.
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

/// One replica with a tier of its own, until all requests have ended.
Result<Tally> serve_all(Source& source, const StepCosts& costs, const ReplicaConfig& config,
                        const ReplicaObserver& observer = {});

}  // namespace cortado::serve
