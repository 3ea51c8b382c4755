// The one list of overlap strategies.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/external.hpp"
#include "plan/overlap/strategy.hpp"

namespace cortado {
namespace {

constexpr std::string_view kPrelaunchSuffix = "-prelaunch";

bool is_cut(const Strategy& strategy) {
  return strategy.family == "tiles" ||
         (strategy.family == "FiCCO" && strategy.name != "shard-p2p" && strategy.name != "ficco");
}

Unexpected<Diagnostic> no_such_knob(const Strategy& strategy, std::string_view knob) {
  return fail(
      "overlap.strategy", fmt::format("{} does not accept '/{}'", strategy.name, knob),
      "a number of chunks can follow a FiCCO schedule or tiles (hetero-fused-1d/8, tiles-rs/2, "
      "tiles-rs/2-stores, tiles-ag/2-cores, serial-dma/cores), a number of CUs c3-sp and c3-sp-rp (c3-sp/32), a "
      "variant of the collective c3* and conccl* (conccl/bcst-prelaunch)");
}

Result<StrategyKnobs> with_knob(StrategyKnobs knobs, const Strategy& strategy, std::string_view text) {
  if (strategy.family == "tiles" || strategy.family == "FiCCO" || strategy.name == "serial-dma") {
    knobs.means = take_means(text).value_or(knobs.means);
    if (text.empty()) return knobs;
  }
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && read_to == end) {
    if (number == 0) return no_such_knob(strategy, text);
    if (is_cut(strategy)) {
      knobs.chunks = number;
    } else if (strategy.name == "c3-sp" || strategy.name == "c3-sp-rp") {
      knobs.comm_cus = number;
      knobs.reserved = true;
    } else {
      return no_such_knob(strategy, text);
    }
    return knobs;
  }
  if (strategy.family != "C3" && strategy.family != "ConCCL") return no_such_knob(strategy, text);
  knobs.prelaunch = text.ends_with(kPrelaunchSuffix);
  if (knobs.prelaunch) text.remove_suffix(kPrelaunchSuffix.size());
  knobs.variant = text;
  return knobs;
}

}  // namespace

const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> list = [] {
    std::vector<Strategy> all;
    for (auto* family : {plan::serial_strategies, plan::c3_strategies, plan::ficco_strategies, plan::tiles_strategies,
                         plan::t3_strategies, plan::ideal_strategies}) {
      for (Strategy& strategy : family()) all.push_back(std::move(strategy));
    }
    return all;
  }();
  return list;
}

Result<NamedStrategy> find_strategy(std::string_view name, const StrategyKnobs& knobs) {
  if (is_external(name)) return NamedStrategy{std::make_shared<Strategy>(plan::external_strategy(name)), knobs};
  const std::size_t slash = name.find('/');
  const std::string_view plain = name.substr(0, slash);
  const auto found = std::ranges::find(strategies(), plain, &Strategy::name);
  if (found == strategies().end()) {
    std::vector<std::string> known{"auto", "all"};
    for (const Strategy& strategy : strategies()) known.push_back(strategy.name);
    return fail("overlap.strategy", fmt::format("unknown strategy '{}'", plain), suggestion(plain, known));
  }
  NamedStrategy named{{std::shared_ptr<void>(), &*found}, knobs};  // the list lives for ever
  if (slash != std::string_view::npos) {
    CORTADO_ASSIGN_OR_RETURN(named.knobs, with_knob(knobs, *found, name.substr(slash + 1)));
  }
  return named;
}

Result<PlannedOverlap> plan_searched(const OverlapQuestion& question, ScheduleFamily family) {
  if (question.problem.relation != Relation::independent) {
    const DependentRequest request = dependent_request(question.problem);
    CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice,
                             auto_schedule(request, question.machine, question.costs.model, family));
    const NamedStrategy c3 = *find_strategy("c3");
    if (family == ScheduleFamily::all && c3.strategy->applies(question.problem, question.machine)) {
      const auto time = question.costs.model.exact(request, plan::kHalvesOfC3);
      if (time && *time < choice.time) return c3.strategy->plan(question);
    }
    CORTADO_ASSIGN_OR_RETURN(PlannedOverlap planned, plan::plan_schedule(choice.schedule, question));
    planned.how += choice.by == ChosenBy::search ? "; found by search" : "; by the heuristic";
    return planned;
  }
  CORTADO_ASSIGN_OR_RETURN(const OverlapWay way,
                           choose_way("auto", question.problem, question.machine, question.costs.model));
  return plan::plan_way(way, question);
}

namespace plan {

Status check_relation(const OverlapProblem& problem, std::string_view strategy,
                      std::initializer_list<Relation> possible) {
  if (std::ranges::count(possible, problem.relation) > 0) return {};
  std::vector<std::string> names;
  for (const Relation relation : possible) {
    const std::string_view flag = relation == Relation::independent             ? " (--independent)"
                                  : relation == Relation::collective_needs_gemm ? " (--gemm-first)"
                                                                                : "";
    names.push_back(fmt::format("{}{}", name_of(relation), flag));
  }
  return fail("overlap.relation", fmt::format("{} does not work for {} problems", strategy, name_of(problem.relation)),
              fmt::format("it needs {}", join(names, " or ")));
}

}  // namespace plan
}  // namespace cortado
