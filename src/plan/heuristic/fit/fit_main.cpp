// schedule_fit FOLDER tables: simulates all shapes and writes FOLDER/training.csv and FOLDER/unseen.csv. What is
// written does not depend on the number of threads. schedule_fit FOLDER fit: fits the tree of the heuristic to
// FOLDER/training.csv and prints its nodes, as src/plan/heuristic/schedule_tree.cpp has them. The table of unseen
// shapes is not looked at. schedule_fit FOLDER judge: how well the tree in the sources and `auto` do on
// FOLDER/unseen.csv.
#include <algorithm>
#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "base/file.hpp"
#include "pipeline/choose.hpp"
#include "pipeline/parallel.hpp"
#include "plan/heuristic/fit/fit.hpp"

namespace cortado::schedules {
namespace {

Status write_table(ShapeSet set, const std::string& folder, const Machine& machine, const CostModel& cost) {
  const std::vector<FiccoSchedule> schedules = candidates(set, machine);
  std::vector<TimedShape> rows;
  for (DependentRequest& request : shapes(set)) rows.push_back({std::move(request), {}});
  std::vector<Status> failed(rows.size());
  pipeline::for_each_in_parallel(
      rows.size(), std::max(1U, std::thread::hardware_concurrency()),
      [&](std::size_t i) { failed[i] = simulate_row(rows[i], schedules, cost); }, [](std::size_t) { return true; });
  for (const Status& status : failed) CORTADO_RETURN_IF_ERROR(status);
  return write_file(fmt::format("{}/{}.csv", folder, name_of(set)), csv_text(rows, schedules, machine));
}

void print(std::string_view what, const Judgement& judged) {
  fmt::print("{:32} picks {:.1f} %, within 2 % {:.1f} %, loss on a miss {:.1f} %, over all {:.2f} %\n", what,
             100 * judged.picks, 100 * judged.near_picks, 100 * judged.loss_on_miss, 100 * judged.loss);
}

Status print_judgements(const Table& unseen, const Machine& machine, const CostModel& cost) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Example> all, examples(unseen, machine));
  print(fmt::format("heuristic, {} unseen shapes:", all.size()), judge(plan::schedule_tree(), all));
  CORTADO_ASSIGN_OR_RETURN(const Judgement searched, judge_auto(unseen, machine, cost));
  print(fmt::format("auto, against {} candidates:", unseen.candidates.size()), searched);
  return {};
}

Status run(const std::vector<std::string>& words) {
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine("mi300x-8"));
  const auto cost = pipeline::simulated_cost(machine);
  const std::string what = words.size() == 2 ? words[1] : "";
  if (what == "tables") {
    CORTADO_RETURN_IF_ERROR(write_table(ShapeSet::training, words[0], machine, *cost));
    return write_table(ShapeSet::unseen, words[0], machine, *cost);
  }
  if (what == "fit") {
    CORTADO_ASSIGN_OR_RETURN(const Table table, read_table(words[0] + "/training.csv"));
    CORTADO_ASSIGN_OR_RETURN(const std::vector<Example> all, examples(table, machine));
    fmt::print("{}", tree_source(fit_tree(all)));
    return {};
  }
  if (what == "judge") {
    CORTADO_ASSIGN_OR_RETURN(const Table unseen, read_table(words[0] + "/unseen.csv"));
    return print_judgements(unseen, machine, *cost);
  }
  return fail("usage.folder", "what is to be done?", "schedule_fit FOLDER tables|fit|judge");
}

}  // namespace
}  // namespace cortado::schedules

int main(int argc, char** argv) {
  const cortado::Status status = cortado::schedules::run({argv + 1, argv + argc});
  if (!status) fmt::print(stderr, "schedule_fit: {}\n", cortado::to_string(status.error()));
  return status ? 0 : 2;
}
