// The baseline of all strategies of a study: the GEMM alone, the library's collective alone, and `serial`, one
// after the other.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"

#include "pipeline/overlap/planned.hpp"
#include "pipeline/overlap/times.hpp"
#include "plan/cost.hpp"
#include "plan/overlap.hpp"

namespace cortado::pipeline {

/// Checks that this computer, which really runs the programs, has enough memory for all ranks (overlap.memory).
Status check_memory(Bytes of_a_rank, std::uint32_t ranks);

/// `times`, and then `behind`.
void add_behind(const OverlapTimes& behind, OverlapTimes& times);

class Basis {
 public:
  /// `roomy` is the machine with enough memory to run both in sequence. All of them must outlive this.
  Basis(const Machine& machine, const Machine& roomy, const CostModel& cost, const StrategyCosts& costs)
      : machine_(machine), roomy_(roomy), cost_(cost), costs_(costs) {}

  /// What only some strategies need.
  struct Wanted {
    bool in_memory = false;  ///< the reduce-scatter by memory that adds
    bool direct = false;     ///< the collective by direct kernels
  };
  /// For a checked problem, which must outlive this. `measured`: on this computer.
  Status plan(const OverlapProblem& problem, bool measured, const Wanted& wanted);

  /// A program to time, on the machine that it was planned for.
  struct Part {
    ProvedOnce* program;
    const Machine* machine;
  };
  const std::vector<Part>& parts() const { return parts_; }

  /// The times of all parts, in their order.
  void take(const std::vector<OverlapTimes>& times);

  const OverlapTimes& gemm() const { return gemm_; }
  /// The overlapped collective: for an all-reduce after a GEMM, its reduce-scatter.
  const OverlapTimes& first() const { return first_; }
  /// The all-gather of such an all-reduce; otherwise nothing.
  const OverlapTimes& behind() const { return behind_; }
  const OverlapTimes& library() const { return library_; }  ///< the whole collective
  const OverlapTimes& serial() const { return serial_times_; }
  Nanoseconds in_memory() const { return in_memory_; }
  /// The GEMM and the collective by the fastest direct kernels, one after the other; none: they cannot be planned.
  const std::optional<OverlapTimes>& direct() const { return direct_times_; }
  const std::string& direct_variant() const { return direct_variant_; }
  std::uint32_t direct_cus() const { return direct_cus_; }

  double gemm_seconds() const { return gemm_seconds_; }                            ///< of the whole GEMM, by the model
  std::uint32_t library_cus() const { return library_cus_; }                       ///< of the collective alone
  const Planned* serial_program() const { return serial_ ? &*serial_ : nullptr; }  ///< nullptr: two programs

 private:
  const OverlapProblem& problem() const { return *problem_; }
  bool independent() const { return problem().relation == Relation::independent; }
  /// Strategies overlap its reduce-scatter; the library's all-gather follows.
  bool is_all_reduce() const { return !independent() && problem().collective().collective == "all-reduce"; }
  OverlapQuestion question(const StrategyKnobs& knobs = {}) const { return {problem(), machine_, costs_, knobs}; }
  Status plan_independent(bool measured);
  Status plan_dependent(bool measured, const Wanted& wanted);
  void plan_direct();
  OverlapTimes one_after_other(const OverlapTimes& collective) const;
  void add(Result<Program> program);
  void add_serial(PlannedOverlap serial);
  GemmShape largest_gemm() const;
  Result<CollectiveRequest> library_of(CollectiveRequest asked) const;
  Result<Program> plan_in_memory(CollectiveRequest asked) const;

  const Machine& machine_;
  const Machine& roomy_;
  const CostModel& cost_;
  const StrategyCosts& costs_;
  const OverlapProblem* problem_ = nullptr;
  std::deque<ProvedOnce> programs_;          // that parts_ refer to
  std::optional<Planned> serial_;            // where it is one program
  std::vector<Part> parts_;                  // the GEMM, the collective, then the rest
  std::optional<std::size_t> behind_part_;   // the all-gather of an all-reduce
  std::optional<std::size_t> library_part_;  // all of an all-reduce
  std::optional<std::size_t> in_memory_part_;
  std::optional<std::size_t> direct_part_;
  std::string direct_variant_;
  std::uint32_t direct_cus_ = 0;
  double gemm_seconds_ = 0;
  std::uint32_t library_cus_ = 0;
  OverlapTimes gemm_;
  OverlapTimes first_;
  OverlapTimes behind_;
  OverlapTimes library_;
  OverlapTimes serial_times_;
  Nanoseconds in_memory_{};
  std::optional<OverlapTimes> direct_times_;
};

}  // namespace cortado::pipeline
