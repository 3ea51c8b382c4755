// sim_bench [targets|growth|error|error-large|power ...]: how long simulations take, next to their targets; how that
// grows with the number of GPUs; how far local sharing is from exact; and what counting energy costs. Times are
// processor time of the one thread.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>

#include "cortado/plan.hpp"

#include "base/text.hpp"
#include "ir/visit.hpp"
#include "sim/gpu/simulate.hpp"
#include "sim_programs.hpp"

namespace cortado::bench {
namespace {

constexpr sim::RateSharing kExact{};
constexpr sim::RateSharing kLocal{.local = true, .tolerance = 0.01};
constexpr sim::RateSharing kCoarse{.local = true, .tolerance = 0.02};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds(Work&& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

/// The most memory that the process has had resident so far.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string duration(double s) {
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.2f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

struct Measured {
  double seconds = 0;
  sim::Simulated result;
};

/// Short simulations are repeated; the least time counts.
Measured measure(const CheckedProgram& program, const sim::RateSharing& sharing) {
  Measured measured;
  double spent = 0;
  for (int run = 0; run < 1000 && spent < 0.3; ++run) {
    std::optional<sim::Simulated> result;
    const double s = seconds(
        [&] { result = sim::simulate(program, {.iterations = 1, .trace = false, .sharing = sharing}).value(); });
    spent += s;
    if (run == 0 || s < measured.seconds) measured.seconds = s;
    measured.result = *std::move(result);
  }
  return measured;
}

std::string name_of(const sim::RateSharing& sharing) {
  return sharing.local ? fmt::format("local {:g} %", 100 * sharing.tolerance) : "exact";
}

// --- targets ---------------------------------------------------------------------------------------------------------

void add_target(TextTable& table, const std::string& what, const Machine& machine, Program program, double plan_seconds,
                const sim::RateSharing& sharing, double target) {
  const ProgramCounts counts = count(program);
  const CheckedProgram verified = unproved(std::move(program), machine);
  const Measured measured = measure(verified, sharing);
  table.add_row({what, std::to_string(counts.commands), name_of(sharing), duration(plan_seconds),
                 std::to_string(measured.result.events), duration(measured.seconds), duration(target),
                 fmt::format("{:.2f}", measured.seconds / target), measured.seconds <= target ? "yes" : "no",
                 fmt::format("{:.0f}", peak_mib())});
}

void targets() {
  TextTable table({"what", "copies", "sharing", "planned in", "events", "simulated in", "target", "ratio", "met",
                   "peak MiB so far"});
  const auto planned = [&](const CollectiveRequest& request, const Machine& machine, double target) {
    std::optional<Program> program;
    const double plan_seconds = seconds([&] { program = plan_collective(request, machine).value(); });
    add_target(table, fmt::format("{} {}, {} GPUs", request.collective, request.variant, request.ranks), machine,
               *std::move(program), plan_seconds, kExact, target);
  };
  CollectiveRequest request;
  request.bytes = 64_MiB;
  request.collective = "all-gather";
  request.ranks = 8;
  request.in_place = true;
  planned(request, load_machine("mi300x-8").value(), 100e-6);
  request.collective = "all-to-all";
  request.ranks = 64;
  request.in_place = false;
  planned(request, load_machine("virtual-64").value(), 20e-3);

  const Machine machine = load_machine("switch-1024").value();
  for (const std::uint32_t ranks : {256U, 1024U}) {
    std::optional<Program> program;
    const double plan_seconds = seconds([&] { program = direct_all_gather(machine, ranks); });
    add_target(table, fmt::format("all-gather direct, {} GPUs", ranks), machine, *std::move(program), plan_seconds,
               kExact, ranks == 256 ? 0.3 : 10);
  }
  for (const std::uint32_t ranks : {256U, 1024U}) {
    std::optional<Program> program;
    const double plan_seconds = seconds([&] { program = planned_all_gather(machine, ranks); });
    add_target(table, fmt::format("  as planned, {} GPUs", ranks), machine, *std::move(program), plan_seconds, kCoarse,
               ranks == 256 ? 0.3 : 10);
  }
  std::puts(table.to_string().c_str());
}

// --- growth ----------------------------------------------------------------------------------------------------------

/// Exact sharing up to this many GPUs if the symmetry is broken.
constexpr std::uint32_t kLargestExact = 128;

void growth() {
  TextTable table({"GPUs", "copies", "program", "sharing", "events", "simulated in", "ns a copy", "to symmetric",
                   "to exact symmetric", "simulated time us"});
  const Machine machine = load_machine("switch-1024").value();
  for (const std::uint32_t ranks : {8U, 16U, 32U, 64U, 128U, 256U, 512U, 1024U}) {
    const Program symmetric = direct_all_gather(machine, ranks);
    const auto copies = count(symmetric).commands;
    double exact_reference = 0;
    for (const sim::RateSharing& sharing : {kExact, kLocal, kCoarse}) {
      double reference = 0;
      for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::staggered, Symmetry::unequal}) {
        if (!sharing.local && symmetry != Symmetry::symmetric && ranks > kLargestExact) {
          continue;
        }
        Program program = symmetric;
        perturb(program, machine, symmetry, 1);
        const Measured m = measure(unproved(std::move(program), machine), sharing);
        if (symmetry == Symmetry::symmetric) reference = m.seconds;
        if (!sharing.local && symmetry == Symmetry::symmetric) exact_reference = m.seconds;
        table.add_row({std::to_string(ranks), std::to_string(copies), to_string(symmetry), name_of(sharing),
                       std::to_string(m.result.events), duration(m.seconds),
                       fmt::format("{:.0f}", m.seconds / static_cast<double>(copies) * 1e9),
                       fmt::format("{:.2f}", m.seconds / reference), fmt::format("{:.2f}", m.seconds / exact_reference),
                       fmt::format("{:.3f}", static_cast<double>(median_time(m.result.timeline).value) / 1e3)});
      }
    }
  }
  std::puts(table.to_string().c_str());
}

// --- error -----------------------------------------------------------------------------------------------------------

void error(std::uint32_t largest) {
  TextTable table({"GPUs", "program", "seed", "sharing", "simulated in", "exact in", "exact us", "error"});
  const auto us = [](const Measured& m) { return static_cast<double>(median_time(m.result.timeline).value) / 1e3; };
  const Machine machine = load_machine("switch-1024").value();
  for (std::uint32_t ranks = 32; ranks <= largest; ranks *= 2) {
    for (const Symmetry symmetry : {Symmetry::staggered, Symmetry::unequal}) {
      for (const std::uint64_t seed : {1U, 2U}) {
        Program program = direct_all_gather(machine, ranks);
        perturb(program, machine, symmetry, seed);
        const CheckedProgram verified = unproved(std::move(program), machine);
        const Measured exact = measure(verified, kExact);
        for (const sim::RateSharing& sharing : {kLocal, kCoarse}) {
          const Measured local = measure(verified, sharing);
          table.add_row({std::to_string(ranks), to_string(symmetry), std::to_string(seed), name_of(sharing),
                         duration(local.seconds), duration(exact.seconds), fmt::format("{:.3f}", us(exact)),
                         fmt::format("{:+.3f} %", 100 * (us(local) / us(exact) - 1))});
        }
      }
    }
  }
  std::puts(table.to_string().c_str());
}

// --- power -----------------------------------------------------------------------------------------------------------

/// With and without counting energy, in turn; the median of the ratios of neighbours.
void power() {
  TextTable table({"what", "without", "energy counted", "ratio", "and sampled", "ratio", "target", "met"});
  const Machine machine = load_machine("mi300x-8").value();
  const auto add = [&](Collective collective, const std::string& variant, Bytes bytes) {
    const CheckedProgram program = unproved(plan_collective({.collective = collective,
                                                             .variant = variant,
                                                             .bytes = bytes,
                                                             .in_place = default_in_place(collective, variant)},
                                                            machine)
                                                .value(),
                                            machine);
    const auto time = [&](const sim::SimulateOptions& options) {
      return seconds([&] {
        for (int i = 0; i < 20; ++i) sim::simulate(program, options).value();
      });
    };
    const sim::SimulateOptions without{.iterations = 10, .energy = false};
    const sim::SimulateOptions counted{.iterations = 10};
    const sim::SimulateOptions sampled{.iterations = 10, .power_samples = Nanoseconds{10'000}};
    std::vector<double> plain;
    std::vector<double> counting;
    std::vector<double> sampling;
    for (int round = 0; round < 15; ++round) {
      plain.push_back(time(without));
      counting.push_back(time(counted) / plain.back());
      sampling.push_back(time(sampled) / plain.back());
    }
    const auto median = [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    };
    const double base = median(plain) / 200;
    table.add_row({fmt::format("{} {} {}", collective, variant, format_bytes(bytes)), duration(base),
                   duration(base * median(counting)), fmt::format("{:.2f}", median(counting)),
                   duration(base * median(sampling)), fmt::format("{:.2f}", median(sampling)), "1.15",
                   median(counting) <= 1.15 ? "yes" : "no"});
  };
  for (const char* variant : {"pcpy", "bcst", "b2b", "cores-simple"}) add("all-gather", variant, 64_MiB);
  for (const char* variant : {"pcpy", "swap"}) add("all-to-all", variant, 64_MiB);
  std::puts(table.to_string().c_str());
}

int run(const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (name == "targets" || name == "growth" || name == "error" || name == "error-large" || name == "power") continue;
    fmt::print(stderr, "sim_bench: unknown group {}; there are targets, growth, error, error-large and power\n", name);
    return 2;
  }
  const auto asked = [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  if (wanted.empty() || asked("targets")) targets();
  if (wanted.empty() || asked("growth")) growth();
  if (wanted.empty() || asked("error")) error(128);
  if (wanted.empty() || asked("power")) power();
  if (asked("error-large")) error(512);
  return 0;
}

}  // namespace
}  // namespace cortado::bench

int main(int argc, char** argv) {
  return cortado::bench::run({argv + 1, argv + argc});
}
