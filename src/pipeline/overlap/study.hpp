// What predicted and measured overlaps have in common: which programs are timed, and what follows from their times.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cortado/pipeline/overlap.hpp"
#include "cortado/verify/verify.hpp"

namespace cortado::pipeline {

/// Times of one program.
struct OverlapTimes {
  Nanoseconds time{};
  Nanoseconds gemm{};  ///< begin to the end of the product, if there is one
  Nanoseconds comm{};  ///< begin to the end of the collective, if there is one
  std::optional<double> hbm_bytes{};
  std::optional<std::uint64_t> wrong{};
};

using TimeProgram = std::function<Outcome<OverlapTimes>(const VerifiedProgram&)>;

enum class Times { simulated, measured };

/// A computer that is busy with other things slows down what happens to run then. So all programs are measured in turn,
/// round after round, and the median round of each counts.
inline constexpr std::size_t kMeasuredRounds = 3;

/// Plans, proves and times everything; on options.threads threads where that does not change the times.
Outcome<OverlapReport> study_overlap(const OverlapRequest& request, const Machine& machine,
                                     const OverlapOptions& options, Times times, const TimeProgram& time);

/// The queues of products in programs of plan_overlap and plan_product.
bool is_product_queue(const Queue& queue);

/// One line: what bounds the time, and what the other kinds of policies lose. The report has its choice and rows.
std::string overlap_reason(const report::OverlapReport& report);

}  // namespace cortado::pipeline
