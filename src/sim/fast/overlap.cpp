// A GEMM beside a collective that is modelled as one flow.
#include <algorithm>

#include "base/check.hpp"
#include "sim/fast/one_gpu.hpp"
#include "sim/gpu/protocols.hpp"

namespace cortado::sim {
namespace {

/// A program with only a GEMM, on a GPU without neighbours: what its resources are derived from.
Program program_of(const Overlap& overlap) {
  Program program;
  program.ranks = 1;
  Queue& queue = program.queues.emplace_back();
  queue.kind = QueueKind::compute;
  queue.rank = RankId{0};
  queue.commands.emplace_back(gemm_command(overlap.gemm, overlap.tiling, {}, {}, {}));
  return program;
}

class OverlapRun : OneGpu {
 public:
  OverlapRun(const Overlap& overlap, const CollectiveProfile& collective, const Machine& machine,
             const Program& program)
      : OneGpu(program, RankId{0}, machine, Sharing::modelled),
        overlap_(overlap),
        collective_(collective),
        model_(overlap.gemm, overlap.tiling, machine),
        waiting_(model_.workgroups()),
        free_(machine.compute_units) {
    set_collective();
    launch();
  }

  Nanoseconds run() {
    events_.run([this](const Event& event) { handle(event); });
    return to_nanoseconds(events_.now());
  }

 private:
  static constexpr std::uint32_t kGemm = 0;  // as an owner, and as an index of events
  static constexpr std::uint32_t kCollective = 1;

  /// Workgroups that started together.
  struct Batch {
    FlowId flow{};
    std::uint32_t count = 0;
    double seconds = 0;  // of each at full speed, as last computed
    bool last = false;   // runs behind others, with nothing left to start
  };

  bool on_units() const { return overlap_.collective_units > 0; }

  /// What the collective takes per picosecond at full speed, and how far everybody may slow down before it does: it
  /// first uses up the idle time that it has by itself (start-up, handshakes, slow engines).
  void set_collective() {
    const double time = std::max(static_cast<double>(collective_.time.value) * 1e-9, 1e-9);
    const double link = timing_.link.rate.bytes_per_second();
    const std::uint32_t peers = std::max(1U, collective_.peers);
    const double links = 2 * link * (timing_.link.shape == LinkShape::switched ? 1 : peers);
    const double wire = on_units() ? wire_efficiency(collective_.protocol, timing_) : 1;
    const double out = collective_.bytes_out;
    const double crossing = out * (on_units() ? timing_.compute->fabric_cores : 1) + collective_.bytes_in;
    const double bytes = out + collective_.bytes_in;
    const auto cached = static_cast<double>(timing_.memory.cache_bytes.value);
    const double footprint = collective_.footprint + static_cast<double>(operand_bytes(overlap_.gemm).value);
    const double missed = 1 - std::min(1.0, cached / footprint);
    work_ = time * kWorkPerSecond;
    const auto uses = resources_.product_by_cores(
        gpu_, {.cache_bytes = bytes / work_,
               .memory_load = missed * bytes / work_,
               .fabric_share = timing_.compute->fabric_links * crossing / wire / links / work_});
    uses_.assign(uses.view().begin(), uses.view().end());
    if (out > 0) slack_ = std::max(1.0, time * peers / (out * resources_.weight_of(1)));
  }

  /// The host launches both. The time of the collective alone includes its own launch; on units, it needs none before
  /// its first instruction.
  void launch() {
    const SimTime launched = to_sim_time(timing_.cores.launch);
    const SimTime runs = launched + to_sim_time(start_of(collective_.protocol, timing_));
    SimTime gemm = launched + to_sim_time(gemm_start(machine_));
    SimTime collective = overlap_.collective_first ? SimTime{} : launched;
    if (on_units()) {
      if (overlap_.collective_first) gemm = gemm + launched;
      collective = collective + runs;
      work_ = std::max(1.0, work_ - static_cast<double>(runs.picoseconds));
    }
    step_at(kGemm, gemm);
    step_at(kCollective, collective);
  }

  void step_at(std::uint32_t index, SimTime at) { events_.post(at, EventClass::begin, {EventKind::step, index}); }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::step:
        (event.index == kGemm ? gemm_launched_ : collective_launched_) = true;
        return begin_all();
      case EventKind::transfer_end:
        end(event) == kGemm ? end_workgroups({event.index}) : end_collective();
        return begin_all();
      case EventKind::settle:
        return transfers_.settle();
      default:
        CORTADO_CHECK(false, "an overlap has no such events");
    }
  }

  /// Kernels that have been launched take free units, in the order of their launches.
  void begin_all() {
    if (overlap_.collective_first) begin_collective();
    begin_workgroups();
    begin_collective();
  }

  /// The fraction of its speed that a collective on compute units keeps while the GEMM runs, given that its units could
  /// do little more than they do alone.
  double beside_products() const {
    const bool gemm_runs = gemm_launched_ && (waiting_ > 0 || gemm_held_ > 0);
    if (!on_units() || !gemm_runs || collective_.bytes_out <= 0) return 1;
    const double seconds = static_cast<double>(collective_.time.value) * 1e-9;
    const ProtocolTiming* library = timing_of(collective_.protocol, timing_);
    const GBps rate = library != nullptr ? library->unit_rate : timing_.cores.copy_rate;
    const double units = overlap_.collective_units * rate.bytes_per_second();
    return std::min(1.0, timing_.cores.beside_products * units * seconds / collective_.bytes_out);
  }

  void begin_collective() {
    if (!collective_launched_ || collective_done_) return;
    const std::uint32_t more = std::min(free_, overlap_.collective_units - collective_held_);
    free_ -= more;
    collective_held_ += more;
    if (on_units() && collective_held_ == 0) return;
    if (!on_units() && collective_runs_) return;
    const double held = on_units() ? static_cast<double>(collective_held_) / overlap_.collective_units : 1;
    const double cap = held * kWorkPerSecond * beside_products();
    if (collective_runs_ && cap == cap_) return;
    cap_ = cap;
    if (collective_runs_) {
      transfers_.set_cap(flow_, cap);
    } else {
      Transfers::Speed speed = speed_of_workgroups();
      speed.weight *= slack_;
      speed.cap = cap;
      flow_ = begin(work_, uses_, speed, kCollective);
      collective_runs_ = true;
    }
    price_again();
  }

  void end_collective() {
    collective_runs_ = false;
    collective_done_ = true;
    free_ += collective_held_;
    collective_held_ = 0;
    price_again();
  }

  void begin_workgroups() {
    if (!gemm_launched_) return;
    const auto room = static_cast<std::uint64_t>(std::min(free_, overlap_.gemm_units - gemm_held_));
    const auto count = static_cast<std::uint32_t>(std::min(room, waiting_));
    if (count == 0) return;
    waiting_ -= count;
    free_ -= count;
    gemm_held_ += count;
    const bool last = waiting_ == 0 && model_.workgroups() - count >= available();
    const WorkgroupDemand demand = this->demand(last);
    const FlowId flow =
        begin(demand.seconds * kWorkPerSecond, OneGpu::uses_of(demand, count).view(), speed_of_workgroups(), kGemm);
    batches_.push_back({flow, count, demand.seconds, last});
  }

  void end_workgroups(FlowId flow) {
    const auto batch = std::ranges::find(batches_, flow, &Batch::flow);
    free_ += batch->count;
    gemm_held_ -= batch->count;
    batches_.erase(batch);
  }

  std::uint32_t available() const { return std::min(overlap_.gemm_units, machine_.compute_units - collective_held_); }

  WorkgroupDemand demand(bool last) {
    if (clock_units_ != available()) {
      clock_units_ = available();
      clock_ = gemm_clock_ghz(model_, machine_, clock_units_);
    }
    GemmSurroundings beside;
    if (collective_runs_) {
      beside = {.streams = collective_held_,
                .cache_held = cache_held(collective_.footprint, operand_bytes(overlap_.gemm))};
    }
    return model_.demand({.running = gemm_held_, .units = clock_units_, .last = last}, clock_, beside);
  }

  /// What workgroups take depends on what runs beside them.
  void price_again() {
    for (Batch& batch : batches_) {
      const WorkgroupDemand now = demand(batch.last);
      batch.flow = transfers_.replace(batch.flow, now.seconds / batch.seconds, OneGpu::uses_of(now, batch.count),
                                      speed_of_workgroups());
      batch.seconds = now.seconds;
    }
  }

  const Overlap& overlap_;
  const CollectiveProfile& collective_;
  GemmModel model_;
  double clock_ = 0;  // GHz, with this many units:
  std::uint32_t clock_units_ = 0;
  std::uint64_t waiting_;  // workgroups
  std::uint32_t free_;     // compute units
  std::uint32_t gemm_held_ = 0;
  bool gemm_launched_ = false;
  std::vector<Batch> batches_;

  double work_ = 0;                // of the collective
  std::vector<ResourceUse> uses_;  // of the collective
  double slack_ = 1;               // how far everybody may slow down before the collective does
  double cap_ = 0;                 // of the collective's speed
  FlowId flow_{};
  std::uint32_t collective_held_ = 0;
  bool collective_launched_ = false;
  bool collective_runs_ = false;
  bool collective_done_ = false;
};

}  // namespace

Nanoseconds time_beside(const Overlap& overlap, const CollectiveProfile& collective, const Machine& machine) {
  const Program program = program_of(overlap);
  return OverlapRun(overlap, collective, machine, program).run();
}

}  // namespace cortado::sim
