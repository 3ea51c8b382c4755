// Collects the Timeline of a simulated run. Without tracing, only times and totals are kept.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

#include "sim/gpu/simulate.hpp"
#include "sim/kernel/time.hpp"

namespace cortado::sim {

inline constexpr std::uint32_t kNoSpan = std::numeric_limits<std::uint32_t>::max();

class Recorder {
 public:
  Recorder(const CheckedProgram& program, const SimulateOptions& options);

  /// A command of a queue begins; returns its span, or kNoSpan without tracing.
  std::uint32_t begin(std::uint32_t queue, std::uint32_t command, std::uint32_t iteration, SimTime at);
  void end(std::uint32_t span, SimTime at);

  /// An arrow between the ends of two spans; either may be kNoSpan.
  void flow(std::uint32_t from, std::uint32_t to);

  void moved(Bytes bytes) { timeline_.bytes_moved += bytes; }

  /// A host queue has reached a Timestamp.
  void stamp(const std::string& label, std::uint32_t iteration, SimTime at);
  /// A host queue begins or ends an iteration.
  void host_at_work(std::uint32_t iteration, SimTime at);

  Timeline finish() &&;

 private:
  struct Bounds {
    SimTime first = SimTime::never();
    SimTime last{};

    void include(SimTime at);
  };
  struct Iteration {
    Bounds whole;
    SimTime begin = SimTime::never();  // earliest "begin"
    SimTime end{-1};                   // latest "end"
  };

  const Program& program_;
  bool trace_;
  bool names_;
  Timeline timeline_;
  std::vector<Iteration> iterations_;
};

}  // namespace cortado::sim
