// schedule_fit FOLDER fits the tree of the heuristic to FOLDER/training.csv and prints its nodes, as
// src/plan/heuristic/schedule_tree.cpp has them. The table of unseen shapes is not looked at.
//
// schedule_fit FOLDER validate: how well trees of some depths and features do on parts of the training table that they
// were not fitted to.
// schedule_fit FOLDER judge: how well the tree in the sources and `auto` do on FOLDER/unseen.csv.
#include <cstdio>

#include <fmt/format.h>

#include "cortado/pipeline/choose_schedule.hpp"

#include "schedules/fit.hpp"

namespace cortado::schedules {
namespace {

using enum ScheduleFeature;

void print(std::string_view what, const Judgement& judged) {
  fmt::print("{:44} picks {:.1f} %, within 2 % {:.1f} %, loss on a miss {:.1f} %, over all {:.2f} %\n", what,
             100 * judged.picks, 100 * judged.near_picks, 100 * judged.loss_on_miss, 100 * judged.loss);
}

void print_cross_validation(const std::vector<Example>& examples) {
  const std::vector<std::pair<const char*, std::vector<ScheduleFeature>>> sets{
      {"published features", {product_first, intensity, traffic, m_over_k}},
      {"and collective / product", {product_first, intensity, traffic, m_over_k, communication}},
      {"rough times only",
       {panels_over_serial, unfused_over_serial, fused_over_serial, panels_over_unfused, panels_over_fused,
        unfused_over_fused, hetero_over_uniform}},
      {"all", {}}};
  for (const auto& [name, features] : sets) {
    for (const std::uint32_t depth : {3U, 4U, 5U, 6U}) {
      for (const std::size_t least : {10U, 20U, 40U}) {
        const FitOptions options{depth, least, features};
        print(fmt::format("{}, depth {}, leaves of {} or more", name, depth, least), cross_validate(examples, options));
      }
    }
  }
}

Status judge_choices(const Table& unseen, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Example> all, examples(unseen, machine));
  print(fmt::format("heuristic, {} unseen shapes:", all.size()), judge(schedule_tree(), all));
  CORTADO_ASSIGN_OR_RETURN(const Judgement searched,
                           judge_auto(unseen, machine, *pipeline::simulated_schedule_cost(machine)));
  print(fmt::format("auto, against {} candidates:", unseen.candidates.size()), searched);
  return {};
}

Status run(const std::vector<std::string>& words) {
  const std::string what = words.size() == 2 ? words[1] : "fit";
  if (words.empty() || words.size() > 2 || (what != "fit" && what != "validate" && what != "judge")) {
    return fail("usage.folder", "what is to be done?", "schedule_fit FOLDER [fit|validate|judge]");
  }
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine("mi300x-8"));
  if (what == "judge") {
    CORTADO_ASSIGN_OR_RETURN(const Table unseen, read_table(words[0] + "/unseen.csv"));
    return judge_choices(unseen, machine);
  }
  CORTADO_ASSIGN_OR_RETURN(const Table table, read_table(words[0] + "/training.csv"));
  CORTADO_ASSIGN_OR_RETURN(const std::vector<Example> all, examples(table, machine));
  if (what == "validate") {
    print_cross_validation(all);
  } else {
    fmt::print("{}", tree_source(fit_tree(all)));
  }
  return {};
}

}  // namespace
}  // namespace cortado::schedules

int main(int argc, char** argv) {
  const cortado::Status status = cortado::schedules::run({argv + 1, argv + argc});
  if (!status) fmt::print(stderr, "schedule_fit: {}\n", cortado::to_string(status.error()));
  return status ? 0 : 2;
}
