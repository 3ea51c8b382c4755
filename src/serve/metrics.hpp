// The metrics of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cortado::serve {

/// Mean and percentiles of all values, the latter by nearest rank; all zero if there are none.
struct Spread {
  std::size_t values = 0;  ///< how many
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};
Spread spread_of(std::vector<double> values);

/// What a replica did during some time.
struct Activity {
  double tokens = 0;         ///< of answers
  double prompt_tokens = 0;  ///< that were computed
  double running = 0;        ///< sequences
  double pool = 0;           ///< fraction of the pages that sequences use
  double steps = 0;          ///< fraction of the time in steps
  double host = 0;           ///< fraction of the time for which the host submits copies, and no step can be launched
  double load = 0;           ///< fraction of the time for which the link is busy
  double store = 0;
  double arrived = 0;  ///< requests that were answered, by time of arrival
  double waited = 0;   ///< total seconds of these to the first token
};

/// From one time to another.
struct Stretch {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Activity activity{};
};

/// Activity over time in at most kBins bins of equal length, which doubles when they are full.
class OverTime {
 public:
  static constexpr std::size_t kBins = 128;
  /// Tokens and requests are totals of the stretch, the others means over its time.
  void add(const Stretch& stretch);
  /// Adds the activity of another replica.
  void merge(OverTime other, std::uint32_t replicas);

  std::int64_t bin_ns() const { return bin_ns_; }
  /// Tokens and requests per second, sequences, fractions.
  std::vector<Activity> rates(std::int64_t end_ns) const;

 private:
  void halve();

  std::int64_t bin_ns_ = 1'000'000;
  std::vector<Activity> bins_;  // integrals over seconds
};

/// Outcomes of one replica, or of all.
struct Tally {
  std::uint64_t arrived = 0;
  std::uint64_t finished = 0;
  std::uint64_t refused_length = 0;  ///< longer than the model's context
  std::uint64_t refused_pool = 0;    ///< longer than the pool
  std::uint64_t refused_empty = 0;   ///< asks for no token
  std::uint64_t preempted = 0;       ///< number of times a sequence lost its pages and was recomputed
  std::uint64_t recomputed = 0;      ///< tokens of these
  std::uint64_t deadlocks = 0;       ///< times that restored prefixes held all pages until one was given up
  std::uint64_t prompt_tokens = 0;   ///< of requests that were admitted
  std::uint64_t hbm_tokens = 0;      ///< of these, found in the GPU's memory
  std::uint64_t host_tokens = 0;     ///< of these, found in host memory
  std::uint64_t output_tokens = 0;
  std::uint64_t steps = 0;
  std::uint64_t fetches = 0;
  std::uint64_t stores = 0;
  std::uint64_t good = 0;  ///< requests within the limits
  std::uint64_t good_tokens = 0;
  std::int64_t end_ns = 0;  ///< the last token; nothing after it counts as time
  double host_s = 0;        ///< submitting copies, while no step could be launched
  double step_s = 0;        ///< in steps
  double load_s = 0;        ///< the link was busy
  double store_s = 0;
  double load_bytes = 0;  ///< of one GPU
  double store_bytes = 0;
  double pool_s = 0;  ///< integral of the fraction of used pages over time
  double pool_peak = 0;
  /// Of each answered request: when it arrived (ns), and seconds.
  std::vector<std::int64_t> arrivals{};
  std::vector<double> ttft{};
  std::vector<double> latency{};
  std::vector<double> tpot{};  ///< seconds; not of requests for one token
  OverTime over_time{};
  std::vector<Stretch> tail{};  ///< since the last answer of the replica

  /// Time that passed.
  void add(const Stretch& stretch);
  /// Of the tail, what came before the last token of all replicas.
  void close(std::int64_t last_ns);
  std::uint64_t refused() const { return refused_length + refused_pool + refused_empty; }
  /// Both are closed.
  void merge(Tally&& other, std::uint32_t replicas);
};

/// More requests arrive than can be served.
struct Overload {
  double arriving = 0;  ///< requests per second, from the first to the last
  double served = 0;    ///< of all the time, as in every table
};

/// While requests arrive, those that wait for their first token become more: in the second half of that time, by more
/// than 2 % of the requests that arrive then, and by more than chance (16, and twice the deviation of as many arrivals
/// of a Poisson process). A queue and not the requests in progress, which become more at the beginning of any run. None
/// if all arrive at once.
std::optional<Overload> overload_of(const Tally& tally);

/// Requests no longer arrive when half of them are answered: their rate says little about what can be served.
bool ends_early(const Tally& tally);

}  // namespace cortado::serve
