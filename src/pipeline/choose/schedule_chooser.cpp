#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cortado/ir/text.hpp"
#include "cortado/pipeline/choose_schedule.hpp"

#include "pipeline/choose/content_key.hpp"

namespace cortado::pipeline {
namespace {

std::string key_of(const DependentRequest& request, const Machine& machine) {
  // All fields by name, so that this does not compile when there is one more.
  const auto& [gemm, collective, dependence, ranks, tokens] = request;
  const auto& [m, n, k, dtype, accumulate] = gemm;
  ContentHash hash;
  return fmt::format("{} {}x{}x{} {}{}, {}{}, {} ranks {}", add_content(machine, hash).text(), m, n, k,
                     to_string(dtype), accumulate ? " added" : "", collective,
                     dependence == Dependence::product_first ? " after" : "", ranks == 0 ? machine.gpus : ranks,
                     fmt::join(tokens, ";"));
}

}  // namespace

Result<ScheduleChoice> ScheduleChooser::choose(const DependentRequest& request, const Machine& machine) {
  const std::string key = key_of(request, machine);
  {
    const std::scoped_lock guard(lock_);
    if (const auto known = choices_.find(key); known != choices_.end()) return known->second;
  }
  CORTADO_ASSIGN_OR_RETURN(ScheduleChoice made, auto_schedule(request, machine, *simulated_schedule_cost(machine)));
  const std::scoped_lock guard(lock_);
  if (choices_.size() >= most_) choices_.clear();
  choices_.emplace(key, made);
  return made;
}

std::size_t ScheduleChooser::kept() const {
  const std::scoped_lock guard(lock_);
  return choices_.size();
}

Result<FiccoSchedule> choose(const GemmShape& gemm, Collective collective, const Machine& machine) {
  static ScheduleChooser chooser;
  DependentRequest request;
  request.gemm = gemm;
  request.collective = collective;
  if (collective == "reduce-scatter") request.dependence = Dependence::product_first;
  CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, chooser.choose(request, machine));
  return choice.schedule;
}

}  // namespace cortado::pipeline
