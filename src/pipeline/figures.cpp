#include "cortado/pipeline/figures.hpp"

#include "cortado/report/bandwidth.hpp"

namespace cortado::pipeline {

Figures figures_of(const Program& program, const Timeline& timeline) {
  Figures figures{.counts = count(program),
                  .time = median_time(timeline),
                  .bytes = report::whole_buffer(program),
                  .energy = energy_of_iteration(timeline)};
  figures.algbw_gbps = report::bandwidth_gbps(figures.bytes, figures.time);
  figures.busbw_gbps = figures.algbw_gbps * report::bus_factor(program.contract.name, program.ranks);
  return figures;
}

}  // namespace cortado::pipeline
