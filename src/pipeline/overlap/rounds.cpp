#include <algorithm>

#include "pipeline/overlap/study.hpp"
#include "pipeline/parallel.hpp"

namespace cortado::pipeline {
namespace {

/// A computer that is busy with other things slows down what happens to run then. So all programs are measured in turn,
/// round after round, and the median round of each counts.
constexpr std::size_t kMeasuredRounds = 3;

/// The round with the median time of one program, or the first that failed; wrong bytes of all rounds. Its rounds are
/// every `step`th from `first` on.
Outcome<OverlapTimes> median_round(const std::vector<std::optional<Outcome<OverlapTimes>>>& rounds, std::size_t first,
                                   std::size_t step) {
  std::vector<OverlapTimes> times;
  std::optional<std::uint64_t> wrong;
  for (std::size_t i = first; i < rounds.size(); i += step) {
    if (!*rounds[i]) return *rounds[i];
    times.push_back(**rounds[i]);
    if (times.back().wrong) wrong = wrong.value_or(0) + *times.back().wrong;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  const auto faster = [](const OverlapTimes& a, const OverlapTimes& b) { return a.time < b.time; };
  std::nth_element(times.begin(), middle, times.end(), faster);
  OverlapTimes median = *middle;
  median.wrong = wrong;
  return median;
}

}  // namespace

RunSettings one_round(const RunSettings& settings) {
  RunSettings round = settings;
  round.run.iterations = static_cast<std::uint32_t>((settings.run.iterations + kMeasuredRounds - 1) / kMeasuredRounds);
  return round;
}

std::uint32_t measured_iterations(const RunSettings& settings) {
  return one_round(settings).run.iterations * static_cast<std::uint32_t>(kMeasuredRounds);
}

Outcome<std::vector<Outcome<OverlapTimes>>> time_all(const std::vector<TimeOne>& jobs, Times kind,
                                                     std::uint32_t threads, const Progress& progress) {
  const bool simulated = kind == Times::simulated;
  std::vector<std::optional<Outcome<OverlapTimes>>> rounds(jobs.size() * (simulated ? 1 : kMeasuredRounds));
  const bool all = for_each_in_parallel(
      rounds.size(), simulated ? threads : 1, [&](std::size_t i) { rounds[i] = jobs[i % jobs.size()](); },
      [&](std::size_t done) { return !progress || progress(done, rounds.size()); });
  if (!all) return fail_at(Stage::run, {"overlap.interrupted", "interrupted before all was done", ""});
  std::vector<Outcome<OverlapTimes>> times;
  for (std::size_t i = 0; i < jobs.size(); ++i) times.push_back(median_round(rounds, i, jobs.size()));
  return times;
}

Outcome<OverlapTimes> time_planned(Result<Program> program, const Machine& machine, const TimeProgram& time) {
  if (!program) return fail_at(Stage::plan, program.error());
  const auto verified = verify(*std::move(program), machine);
  if (!verified) return fail_at(Stage::verify, verified.error());
  return time(*verified);
}

}  // namespace cortado::pipeline
