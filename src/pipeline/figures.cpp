#include "cortado/pipeline/figures.hpp"

namespace cortado::pipeline {

Figures figures_of(const Program& program, const Timeline& timeline) {
  Figures figures{.counts = count(program),
                  .time = median_time(timeline),
                  .bytes = report::whole_buffer(program),
                  .energy = energy_of_iteration(timeline)};
  if (program.contract.products.empty()) {
    figures.bandwidths = report::bandwidths(program.contract.name, program.ranks, figures.bytes, figures.time);
  }
  return figures;
}

}  // namespace cortado::pipeline
