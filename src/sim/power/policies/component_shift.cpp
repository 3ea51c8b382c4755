// component-shift: moves power from components that would wait to those that the work waits for. Among all clocks of
// the I/O dies, each with the highest clock of the compute dies that keeps within the cap, it takes the pair at which
// the work is fastest, and then gives every component no more than that pace needs.
#include "sim/power/policies/policy.hpp"

namespace cortado::sim {
namespace {

class Shift {
 public:
  Shift(const GpuActivity& activity, const PolicyInputs& inputs) : activity_(activity), inputs_(inputs) {}

  Clocks best() const {
    Clocks best = decide_as_board(activity_, inputs_);
    double fastest = activity_.speed_at(best);
    const Clocks board = best;
    for (int i = 0; i <= kChoices; ++i) {
      Clocks clocks = board;
      set(clocks, Component::iod, between(Component::iod, static_cast<double>(i) / kChoices));
      if (!activity_.contended(Component::hbm)) {
        set(clocks, Component::hbm, needed(Component::hbm, fastest * kMoreThanBoard));
      }
      clocks.xcd = highest_xcd(activity_, inputs_, clocks, described(Component::xcd)->curve.highest());
      const double speed = activity_.speed_at(clocks);
      // A gain of less than one step of a clock is not worth the power.
      if (clocks.xcd == 0 || speed <= fastest * (1 + 1e-4)) continue;
      fastest = speed;
      best = clocks;
    }
    return trimmed(best, fastest);
  }

 private:
  static constexpr int kChoices = 32;
  static constexpr double kMoreThanBoard = 1.1;  // the memory is clocked for this many times what the board reaches

  static std::size_t index(Component component) { return static_cast<std::size_t>(component); }
  const ComponentPower* described(Component component) const { return inputs_.power.component(component); }

  void set(Clocks& clocks, Component component, double ghz) const {
    if (!inputs_.moves[index(component)] || described(component) == nullptr ||
        activity_.needed[index(component)] <= 0) {
      return;
    }
    clocks.set(component, clock_for(inputs_.power, component, ghz, described(component)->curve.highest()));
  }

  double between(Component component, double share) const {
    if (described(component) == nullptr) return 0;
    const VoltageCurve& curve = described(component)->curve;
    return curve.lowest() + share * (curve.highest() - curve.lowest());
  }

  double needed(Component component, double pace) const {
    return activity_.needed[index(component)] * pace * (1 + inputs_.headroom);
  }

  /// Lowers each clock to what that pace needs. Contended components keep theirs: there, a higher clock means more work
  /// done.
  Clocks trimmed(Clocks clocks, double pace) const {
    for (const Component component : kClocked) {
      if (activity_.keeps_clock(component) || activity_.bounds[index(component)]) continue;
      const double enough = needed(component, pace);
      if (enough < clocks.of(component)) set(clocks, component, enough);
    }
    return clocks;
  }

  const GpuActivity& activity_;
  const PolicyInputs& inputs_;
};

}  // namespace

extern const PowerPolicy kComponentShift{
    .name = "component-shift",
    .summary = "shifts power from components that are not the bottleneck to the one that is",
    .components = kClocked,
    .decide = [](const GpuActivity& activity, const PolicyInputs& inputs) { return Shift(activity, inputs).best(); }};

}  // namespace cortado::sim
