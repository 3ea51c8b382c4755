// The choice of a FiCCO schedule against the simulation of all: data/schedules has the times, and what is demanded of
// the heuristic and of auto is demanded on shapes that nothing was fitted to.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "pipeline/choose.hpp"
#include "plan/choose_schedule.hpp"
#include "plan/heuristic/fit/fit.hpp"
#include "plan/schedule_heuristic.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado::schedules {
namespace schedule_choice_test {

using plan::schedule_tree;

const Machine& mi300x() {
  static const Machine machine = load_machine("mi300x-8").value();
  return machine;
}

Table table(ShapeSet set) {
  auto read = read_table(source_dir() + "/data/schedules/" + std::string(name_of(set)) + ".csv");
  EXPECT_TRUE(read) << to_string(read.error());
  return *std::move(read);
}

std::vector<Example> examples_of(ShapeSet set) {
  auto all = examples(table(set), mi300x());
  EXPECT_TRUE(all) << to_string(all.error());
  return *std::move(all);
}

bool same(const DependentRequest& a, const DependentRequest& b) {
  return a.gemm == b.gemm && a.collective == b.collective && a.dependence == b.dependence;
}

class ScheduleTables : public testing::TestWithParam<ShapeSet> {};

TEST_P(ScheduleTables, HaveTheShapesOfTheGeneratorAndAllCandidates) {
  const Table written = table(GetParam());
  const std::vector<DependentRequest> drawn = shapes(GetParam());
  ASSERT_EQ(written.rows.size(), drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) EXPECT_TRUE(same(written.rows[i].request, drawn[i])) << i;
  std::vector<std::string> names;
  for (const FiccoSchedule& candidate : candidates(GetParam(), mi300x())) names.push_back(column_name(candidate));
  EXPECT_EQ(written.candidates, names);
}

// A few rows and columns of each table: a change of planner, simulator or machine that moves times shows here.
TEST_P(ScheduleTables, AreWhatTheSimulatorSaysToday) {
  constexpr int kSamples = 60;
  const Table written = table(GetParam());
  const std::vector<FiccoSchedule> schedules = candidates(GetParam(), mi300x());
  const auto cost = pipeline::simulated_cost(mi300x());
  Random random(5);
  for (int i = 0; i < kSamples; ++i) {
    const TimedShape& row = written.rows[random.below(written.rows.size())];
    const std::size_t column = random.below(schedules.size());
    const auto time = simulated_time(row.request, schedules[column], *cost);
    ASSERT_TRUE(time) << to_string(time.error());
    EXPECT_EQ(*time, row.times[column]) << written.candidates[column] << " of " << csv_line(row)
                                        << "\nis stale: tools/update_golden schedules";
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ScheduleTables, testing::Values(ShapeSet::training, ShapeSet::unseen),
                         [](const auto& set) { return std::string(name_of(set.param)); });

TEST(BothScheduleTables, AreDisjoint) {
  const Table training = table(ShapeSet::training);
  const Table unseen = table(ShapeSet::unseen);
  EXPECT_GE(training.rows.size(), 300U);
  EXPECT_GE(unseen.rows.size(), 300U);
  for (const TimedShape& a : training.rows) {
    for (const TimedShape& b : unseen.rows) EXPECT_FALSE(same(a.request, b.request)) << csv_line(a);
  }
}

TEST(ScheduleHeuristic, TreeIsTheOneThatIsFittedToTheTrainingSet) {
  EXPECT_EQ(tree_source(schedule_tree()), tree_source(fit_tree(examples_of(ShapeSet::training))))
      << "tools/update_golden schedules";
}

TEST(ScheduleHeuristic, PicksTheFastestOfUnseenShapes) {
  const Judgement judged = judge(schedule_tree(), examples_of(ShapeSet::unseen));
  EXPECT_GE(judged.shapes, 300U);
  EXPECT_GE(judged.picks, 0.78);
  EXPECT_LE(judged.loss_on_miss, 0.14);
}

TEST(ScheduleHeuristic, GuessesOnlyWhatCanBePlanned) {
  for (const ShapeSet set : {ShapeSet::training, ShapeSet::unseen}) {
    const Table all = table(set);
    for (const TimedShape& row : all.rows) {
      const auto guess = guess_schedule(row.request, mi300x());
      ASSERT_TRUE(guess) << to_string(guess.error());
      FiccoSchedule schedule = guess->schedule;
      if (schedule.grain == Grain::chunks) schedule.chunks = 8;
      const auto& names = all.candidates;
      const auto column = std::find(names.begin(), names.end(), column_name(schedule)) - names.begin();
      ASSERT_LT(column, static_cast<std::ptrdiff_t>(names.size()));
      EXPECT_TRUE(row.times[static_cast<std::size_t>(column)]) << csv_line(row);
    }
  }
}

TEST(AutoSchedule, SureGuessesAreTheFastestOfFicco) {
  const Table unseen = table(ShapeSet::unseen);
  ASSERT_EQ(unseen.candidates.front(), "serial-dma");
  std::size_t sure = 0;
  for (const TimedShape& row : unseen.rows) {
    const auto guess = guess_schedule(row.request, mi300x());
    ASSERT_TRUE(guess) << to_string(guess.error());
    if (guess->schedule.grain != Grain::whole || guess->margin < kSureMargin) continue;
    ++sure;
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      const FiccoSchedule candidate = find_schedule(unseen.candidates[i]).value();
      if (has_tiles(candidate.grain) || candidate.means != CollectiveMeans::dma) continue;
      EXPECT_TRUE(!row.times[i] || *row.times[i] >= *row.times.front()) << csv_line(row);
    }
  }
  EXPECT_GT(sure, 0U);
}

TEST(AutoSchedule, PicksTheFastestOfUnseenShapes) {
  const Table unseen = table(ShapeSet::unseen);
  const auto cost = pipeline::simulated_cost(mi300x());
  const auto judged = judge_auto(unseen, mi300x(), *cost);
  ASSERT_TRUE(judged) << to_string(judged.error());
  EXPECT_GE(judged->picks, 0.97);
  EXPECT_LE(judged->loss, 0.005);
}

}  // namespace schedule_choice_test
}  // namespace cortado::schedules
