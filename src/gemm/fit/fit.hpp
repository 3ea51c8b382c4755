// Least mean absolute error over the simulator's own model of GEMMs, one constant after the other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/fit/points.hpp"

namespace cortado::fit {

/// A key of the machine file.
struct Constant {
  std::string_view key;
  double least;
  double most;
  std::function<double(const Machine&)> get;
  std::function<void(Machine&, double)> set;
};

/// All that can be fitted. `power.bf16_flop_pJ` and the like are those of the element type.
std::vector<Constant> constants(DType dtype);

/// Mean absolute error over the points, on all cores.
double mean_error(std::span<const Point> points, const Machine& machine);

/// The machine with these constants moved until no step makes the error less, or so many rounds.
Machine fitted(Machine machine, std::span<const Point> points, std::span<const Constant> free, int rounds);

}  // namespace cortado::fit
