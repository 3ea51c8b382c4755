#include "ficco_options.hpp"

#include <fmt/format.h>

#include "cortado/pipeline/choose.hpp"

namespace cortado::cli {
namespace {

/// auto leaves all open.
Status check_auto(CollectiveMeans means, std::uint32_t chunks, ExchangeVariant exchange) {
  if (means != CollectiveMeans::dma) {
    return fail("ficco.schedule", "auto chooses among schedules whose bytes DMA engines move",
                "name the schedule whose bytes compute units shall move");
  }
  if (chunks != 0) {
    return fail("ficco.schedule", fmt::format("auto chooses the number of chunks, too; {} are asked for", chunks),
                "leave the number out, or name the schedule that is to be cut so far");
  }
  if (exchange != ExchangeVariant::automatic && exchange != ExchangeVariant::pcpy) {
    return fail("ficco.schedule", fmt::format("auto knows how long plain copies take, not {}", name_of(exchange)),
                "leave the exchange out, or name the schedule whose steps it shall carry");
  }
  return {};
}

}  // namespace

void FiccoOptions::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--schedule", schedule_,
                     "ficco: how both are cut (cortado list schedules); NAME/8 in 8 steps; or auto")
          ->type_name("NAME")
          ->capture_default_str(),
  };
  dependence_.add_to(app, "ficco: ");
  options_.insert(options_.end(), dependence_.options().begin(), dependence_.options().end());
}

Result<FiccoSchedule> FiccoOptions::schedule(const DependentRequest& request, const Machine& machine,
                                             Console& console) const {
  CORTADO_ASSIGN_OR_RETURN(const std::uint32_t chunks, dependence_.chunks());
  if (schedule_ == "auto") {
    CORTADO_ASSIGN_OR_RETURN(const ExchangeVariant exchange, dependence_.exchange());
    CORTADO_RETURN_IF_ERROR(check_auto(dependence_.means(), chunks, exchange));
    CORTADO_ASSIGN_OR_RETURN(const ScheduleChoice choice, pipeline::Chooser(machine, {}).schedule(request));
    console.talk(fmt::format("auto: {}, by {}", full_name(choice.schedule), cortado::name_of(choice.by)));
    FiccoSchedule schedule = choice.schedule;
    CORTADO_ASSIGN_OR_RETURN(schedule.exchange, dependence_.exchange(schedule));
    return schedule;
  }
  CORTADO_ASSIGN_OR_RETURN(FiccoSchedule schedule, find_schedule(schedule_));
  if (schedule.chunks == 0) schedule.chunks = chunks;
  schedule.means = dependence_.means();
  CORTADO_ASSIGN_OR_RETURN(schedule.exchange, dependence_.exchange(schedule));
  return schedule;
}

}  // namespace cortado::cli
