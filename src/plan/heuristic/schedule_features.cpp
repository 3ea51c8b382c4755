// Rough times of schedules, and the numbers that the tree compares.
//
// For M rows of a rank, N ranks and as many steps, e bytes an element; w = k where the collective comes first, else n:
//
//   GEMM      as gemm/gemm_model.cpp, at the sustained clock, A and B read once, the least over some tiles and
//   splits
//                of k; + start
//   collective   M w e / N over a link (behind a switch N - 1 times that), + what a copy takes however small
//   serial       collective + GEMM, + sums (reduce-scatter)
//   schedules    the later of both:
//                  first + GEMMs + kernels that copy and add + products_lose * (collective - first - these kernels)
//                  collective + last GEMM + links_lose * (GEMMs but the last)
//                where `first` is what travels before there is anything to multiply, or behind the last GEMM
//   lose         what one loses for a second of the other at full speed. A full fabric gives everybody the same share L
//                of what he could do alone, fabric_products L + fabric_links r L = 1, with r = rate of an engine over
//                that of its link, which is all it needs. GEMMs run at L, copies at r L:
//                products_lose = (1 - L) / (r L), links_lose = (1 - r L) / L. Where r L > 1 copies keep their speed:
//                products_lose = (fabric_products + fabric_links - 1) / fabric_products. Pieces that leave one by one
//                (unfused, the GEMM first) keep one link busy at a time: 1 / (N - 1) of both
//   copying      of b elements: 2 b e at the rate of the memory, but for what the last-level cache holds
#include <algorithm>
#include <cmath>
#include <limits>

#include "gemm/matrix_timing.hpp"
#include "plan/ficco/steps.hpp"
#include "plan/heuristic/heuristic.hpp"

namespace cortado::plan {
namespace {

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

double seconds(Nanoseconds time) {
  return static_cast<double>(time.value) * 1e-9;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Kernels that a GEMM is thought to have: pairs of these sides, none more than four times the other. Fewer than
/// libraries have: this must be quick.
constexpr std::array<std::uint64_t, 9> kSides{256, 224, 192, 160, 128, 112, 96, 64, 32};
constexpr bool is_kernel(std::uint64_t m, std::uint64_t n) {
  constexpr std::uint64_t kMostAspect = 4;
  return m <= kMostAspect * n && n <= kMostAspect * m;
}

/// What does not depend on the machine.
struct Tile {
  std::size_t side_m = 0;  ///< which of kSides
  std::size_t side_n = 0;
  double elements = 0;
  double rim = 0;    ///< operands of one column of A for each element: 1/m + 1/n
  double small = 0;  ///< how many times smaller than 128 x 128, by its sides
};

constexpr std::size_t kTileCount = [] {
  std::size_t pairs = 0;
  for (const std::uint64_t m : kSides) {
    for (const std::uint64_t n : kSides) pairs += is_kernel(m, n) ? 1U : 0U;
  }
  return pairs;
}();

const std::array<Tile, kTileCount>& tiles_of_kernels() {
  static const std::array<Tile, kTileCount> all = [] {
    std::array<Tile, kTileCount> tiles{};
    std::size_t next = 0;
    for (std::size_t m = 0; m < kSides.size(); ++m) {
      for (std::size_t n = 0; n < kSides.size(); ++n) {
        if (!is_kernel(kSides[m], kSides[n])) continue;
        const double elements = real(kSides[m] * kSides[n]);
        tiles[next++] = {m, n, elements, 1 / real(kSides[m]) + 1 / real(kSides[n]), std::sqrt(128 * 128 / elements)};
      }
    }
    return tiles;
  }();
  return all;
}

/// Of a GEMM's k: what is worth a workgroup of its own, and how many of them at most share a tile.
constexpr std::uint64_t kLeastDepth = 256;
constexpr std::uint64_t kMostSplits = 16;

/// Times of the five, in seconds.
struct RoughTimes {
  double serial = 0;
  double uniform_fused_1d = 0;
  double hetero_fused_1d = 0;
  double hetero_unfused_1d = 0;
  double uniform_fused_2d = 0;
};

class RuleOfThumb {
  /// What a tile takes.
  struct Kind {
    std::size_t side_m = 0;  // which of kSides
    std::size_t side_n = 0;
    double seconds_per_k = 0;  // to multiply, for one column of A
    double residents = 1;      // workgroups that a unit holds
  };

 public:
  /// `shape` is what one rank multiplies.
  RuleOfThumb(const DependentRequest& request, const GemmShape& shape, std::uint32_t ranks, const Machine& machine)
      : request_(request),
        shape_(shape),
        ranks_(ranks),
        machine_(machine),
        timing_(*machine.timing),
        compute_(*machine.timing->compute),
        flops_(unit_flops(compute_, shape.dtype)),
        element_(real(size_of(shape.dtype).value)),
        start_(seconds(timing_.cores.start)),
        product_start_(seconds(gemm_start(machine))),
        sums_(request.collective == "reduce-scatter"),
        overhead_(seconds(compute_.tile_overhead)),
        split_(seconds(compute_.split_time)) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) kinds_[i] = kind(tiles_of_kernels()[i]);
    const double speed = sustained_clock_ghz(shape.dtype, machine) / reference_clock_ghz(shape.dtype, machine);
    step_ = compute_.step_latency_ns * 1e-9 / speed;
    per_fed_ = 1 / (compute_.dies * compute_.l2_rate.bytes_per_second() * speed);
    units_ = machine.compute_units;
    per_unit_ = 1.0 / machine.compute_units;
    per_read_ = 1 / timing_.memory.rate.bytes_per_second();
    const bool writes = compute_.write_rate.value > 0;
    per_written_ = writes ? 1 / std::max(timing_.memory.rate, compute_.write_rate).bytes_per_second() : per_read_;
    per_stored_ = writes ? 1 / compute_.write_rate.bytes_per_second() : 0;
    per_sum_ = compute_.split_rate.value > 0 ? 1 / compute_.split_rate.bytes_per_second() : 0;
    const double bytes =
        element_ * (real(shape.m) * real(shape.k) + real(shape.n) * real(shape.k) + real(shape.m) * real(shape.n));
    missed_ = std::max(0.0, 1 - real(timing_.memory.cache_bytes.value) / bytes);
    set_collective();
    set_losses();
  }

  RoughTimes times() const {
    RoughTimes times;
    const double sums = sums_ ? copying(real(travelling()) * real(shape_.m) / ranks_ * (ranks_ + 1) / 2) : 0;
    times.serial = collective_ + product(shape_.m, shape_.n, shape_.k) + sums;
    const double steps = ranks_;
    const double peers = ranks_ - 1;
    const std::uint64_t shard = shape_.m / ranks_;
    const double of_shard = product(shard, shape_.n, shape_.k);
    const double of_others = product(shard * (ranks_ - 1) / ranks_, shape_.n, shape_.k);
    const double of_piece = product(shard / ranks_, shape_.n, shape_.k);
    const double hidden = std::max(0.0, first_ - of_shard);
    const bool leaves = request_.dependence == Dependence::product_first;
    // Rows of A are gathered before the GEMM, or rows of C scattered behind it.
    const double rows = real(shard) * real(leaves ? shape_.k : shape_.n);
    const double own = copying(real(shard) / ranks_ * real(shape_.k));
    const double moved = copying(rows);
    const double moved_others = copying(rows * peers / ranks_);
    const double sums_each = sums_ ? sums + (steps - 1) * start_ : 0;
    times.uniform_fused_1d =
        both(steps * of_shard, first_, of_shard + moved, steps * (moved + (leaves ? 0 : own)) + sums_each);
    times.hetero_fused_1d =
        both(of_shard + steps * of_others, hidden, of_others + moved_others, steps * moved_others) + sums;
    times.hetero_unfused_1d =
        both(of_shard + steps * peers * of_piece, leaves ? 0 : hidden, peers * of_piece, 0, leaves ? 1 / peers : 1) +
        sums;
    if (!has_rows()) times.uniform_fused_1d = times.hetero_fused_1d = times.hetero_unfused_1d = kNever;
    times.uniform_fused_2d = kNever;
    if (has_panels()) {
      const double panel = leaves ? product(shape_.m, shape_.n / ranks_, shape_.k)
                                  : product(shape_.m, shape_.n, shape_.k / ranks_, true);
      times.uniform_fused_2d = both(steps * panel, first_, panel, leaves ? sums_each : steps * own);
    }
    return times;
  }

 private:
  Kind kind(const Tile& tile) const {
    return {tile.side_m, tile.side_n, 2 * tile.elements / flops_ * (1 + compute_.operand_cost * tile.rim),
            std::clamp(compute_.residency * tile.small, 1.0, 4.0)};
  }

  /// How often each side fits into an extent, and what of the extent the first one has.
  struct Cuts {
    explicit Cuts(std::uint64_t extent) {
      for (std::size_t i = 0; i < kSides.size(); ++i) {
        count[i] = (extent - 1) / kSides[i] + 1;
        first[i] = real(std::min(extent, kSides[i]));
      }
    }
    std::array<std::uint64_t, kSides.size()> count{};
    std::array<double, kSides.size()> first{};
  };

  /// rounded_waves of gemm/gemm_model.cpp, without a call.
  double rounded(double waves) const {
    const auto whole = static_cast<double>(static_cast<std::int64_t>(waves));
    const double up = whole < waves ? whole + 1 : whole;
    return std::max(1.0, waves + compute_.wave_rounding * (up - waves));
  }

  std::uint64_t travelling() const { return request_.dependence == Dependence::product_first ? shape_.n : shape_.k; }

  /// There are enough rows to cut.
  bool has_rows() const { return (shape_.m + ranks_ - 1) / ranks_ >= ranks_; }

  /// Strided copies can bring the columns, and there are enough of them.
  bool has_panels() const {
    const Bytes element = size_of(shape_.dtype);
    const std::uint64_t unit = panel_unit(travelling(), element);
    return element * unit >= machine_.dma.window_alignment && travelling() / unit >= ranks_;
  }

  void set_collective() {
    const EngineTiming& engine = timing_.engine;
    double bytes = real(shape_.m) * real(travelling()) * element_ / ranks_;
    if (timing_.link.shape == LinkShape::switched) bytes *= ranks_ - 1;
    const double rate = timing_.link.shape == LinkShape::switched
                            ? timing_.link.rate.bytes_per_second()
                            : std::min(timing_.link.rate, engine.rate).bytes_per_second();
    const double always = seconds(engine.fetch + engine.copy_start + engine.sync + timing_.link.latency) +
                          seconds(timing_.host.submit) * (ranks_ - 1);
    collective_ = bytes / rate + always;
    first_ = bytes / rate / ranks_ + always;
  }

  void set_losses() {
    const double products = compute_.fabric_products;
    const double links = compute_.fabric_links;
    const double engine = timing_.engine.rate.bytes_per_second();
    const double rate = engine / std::min(engine, timing_.link.rate.bytes_per_second());
    const double all = products + rate * links;  // 1 / L
    if (all <= 1 || products + links <= 1) return;
    products_lose_ = rate < all ? (all - 1) / rate : (products + links - 1) / products;
    links_lose_ = std::max(0.0, all - rate);
  }

  /// A kernel that copies so many elements.
  double copying(double elements) const {
    const double bytes = 2 * elements * element_;
    double time = bytes * missed_ / timing_.memory.rate.bytes_per_second();
    if (timing_.memory.cache_rate.value > 0)
      time = std::max(time, bytes / timing_.memory.cache_rate.bytes_per_second());
    return time + start_;
  }

  double product(std::uint64_t m, std::uint64_t n, std::uint64_t k, bool accumulate = false) const {
    m = std::max<std::uint64_t>(m, 1);
    n = std::max<std::uint64_t>(n, 1);
    k = std::max<std::uint64_t>(k, 1);
    const double operands = element_ * real(k) * (real(m) + real(n));
    const double results = element_ * real(m) * real(n);
    const double memory = (operands + (accumulate ? results : 0)) * per_read_ + results * per_written_;
    const Cuts rows(m);
    const Cuts columns(n);
    double least = kNever;
    for (const Kind& kind : kinds_) {
      const std::uint64_t tiles = rows.count[kind.side_m] * columns.count[kind.side_n];
      const std::uint64_t most = tiles < machine_.compute_units ? std::min(kMostSplits, k / kLeastDepth) : 1;
      const double sides = rows.first[kind.side_m] + columns.first[kind.side_n];
      for (std::uint64_t split = 1; split <= std::max<std::uint64_t>(most, 1); split *= 2) {
        const double depth = real(k) / real(split);
        const double waves = real(tiles * split) * per_unit_;
        const double all_waves = rounded(waves);
        const double multiply = all_waves * depth * kind.seconds_per_k;
        if (multiply >= least) continue;  // the others only add to it
        const double turns = rounded(waves / kind.residents);
        const double latency = turns * depth * step_;
        const double feed =
            (waves > 1 ? all_waves * units_ : real(tiles * split)) * sides * depth * element_ * per_fed_;
        const double sums = split == 1 ? 0 : split_ + 8 * real(split) * real(m) * real(n) * per_sum_;
        const double last_stores = results * per_stored_ / std::ceil(waves);
        const double beside = overhead_ * (turns - 1) + sums + last_stores;
        if (std::max({multiply, latency, feed, memory}) + beside >= least) continue;
        least = std::min(least, together(multiply, latency, feed, memory) + beside);
      }
    }
    return least + product_start_;
  }

  /// As gemm_model.cpp has it, with p = 4 for everybody: that needs no logarithms.
  static double together(double a, double b, double c, double d) {
    const auto fourth = [](double x) { return x * x * x * x; };
    return std::sqrt(std::sqrt(fourth(a) + fourth(b) + fourth(c) + fourth(d)));
  }

  /// Both are late for what they lose to each other: GEMMs while links are busy, links while units multiply. Kernels
  /// that copy rows leave the links their speed. `share` of the links is busy at a time.
  double both(double products, double first, double last, double copies, double share = 1) const {
    const double beside = std::max(0.0, collective_ - first - copies);
    const double late = std::max(0.0, products - last);
    return std::max(first + products + copies + share * products_lose_ * beside,
                    collective_ + last + share * links_lose_ * late);
  }

  const DependentRequest& request_;
  const GemmShape shape_;
  const std::uint32_t ranks_;
  const Machine& machine_;
  const Timing& timing_;
  const ComputeTiming& compute_;
  const double flops_;  // of a compute unit
  const double element_;
  const double start_;
  const double product_start_;
  const bool sums_;
  const double overhead_;
  const double split_;      // time that a split costs
  double step_ = 0;         // of k, for one workgroup
  double per_fed_ = 0;      // seconds of a byte out of L2
  double units_ = 0;        // compute units
  double per_unit_ = 0;     // 1 / compute units
  double per_read_ = 0;     // seconds of a byte of the memory
  double per_written_ = 0;  // the same of one that is written
  double per_stored_ = 0;   // the same of one that the last wave stores
  double per_sum_ = 0;      // the same of a partial sum
  std::array<Kind, kTileCount> kinds_{};
  double missed_ = 0;  // share of what is copied that the last-level cache does not hold
  double collective_ = 0;
  double first_ = 0;          // of a step
  double products_lose_ = 0;  // seconds, for a second of copies at full speed beside them
  double links_lose_ = 0;     // seconds, for a second of GEMMs at full speed beside them
};

/// Of rough times; what neither of two schedules can do is no reason for the first.
double over(double time, double other) {
  return time == kNever ? kNever : time / other;
}

}  // namespace

Result<ScheduleFeatures> schedule_features(const DependentRequest& request, const Machine& machine) {
  const std::uint32_t ranks = request.ranks == 0 ? machine.gpus : request.ranks;
  if (ranks < 2) return fail("ficco.ranks", "a single rank has nobody to exchange rows with", "use two ranks or more");
  GemmShape shape = request.gemm;
  if (request.collective == "all-to-all") shape.m = (shape.m + ranks - 1) / ranks;
  CORTADO_RETURN_IF_ERROR(check_gemm(shape, machine));
  const RoughTimes times = RuleOfThumb(request, shape, ranks, machine).times();
  return ScheduleFeatures{
      times.uniform_fused_2d / times.serial,
      times.hetero_unfused_1d / times.serial,
      times.hetero_fused_1d / times.serial,
      over(times.uniform_fused_2d, times.hetero_unfused_1d),
      over(times.uniform_fused_2d, times.hetero_fused_1d),
      over(times.hetero_unfused_1d, times.hetero_fused_1d),
      over(times.hetero_fused_1d, times.uniform_fused_1d),
  };
}

}  // namespace cortado::plan
