#include "pipeline/overlap/planned.hpp"

#include <algorithm>
#include <vector>

#include "gemm/gemm.hpp"

namespace cortado::pipeline {

double seconds_of_gemms(const Program& program, const Machine& machine) {
  struct Known {
    GemmShape shape;
    Tiling tiling;
    double seconds;
  };
  std::vector<Known> known;  // pieces are alike
  const auto seconds_of = [&](const Gemm& gemm) {
    const GemmShape shape = shape_of(gemm);
    const Tiling tiling = tiling_of(gemm);
    const auto same = [&](const Known& one) { return one.shape == shape && one.tiling == tiling; };
    const auto found = std::ranges::find_if(known, same);
    if (found != known.end()) return found->seconds;
    known.push_back({shape, tiling, estimate_gemm(shape, tiling, machine, machine.compute_units).seconds});
    return known.back().seconds;
  };
  std::vector<double> seconds(program.ranks);
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* gemm = std::get_if<Gemm>(&command)) seconds[queue.rank->value] += seconds_of(*gemm);
    }
  }
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace cortado::pipeline
