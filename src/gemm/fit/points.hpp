// Measured times of GEMMs.
#pragma once

#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "gemm/gemm.hpp"

namespace cortado::fit {

struct Point {
  GemmShape shape;
  double us = 0;
  std::uint32_t units = 0;  ///< compute units that the GEMM may use; 0: all
};

/// Rows m,n,k,us or m,n,k,us,units behind a line of headings (fit.points).
Result<std::vector<Point>> read_points(const std::string& path, DType dtype);

/// ours / measured - 1, of a GEMM alone in a stream.
double error_of(const Point& point, const Machine& machine);

struct Errors {
  std::size_t points = 0;
  double mean = 0;  ///< of absolute errors
  double p90 = 0;   ///< of absolute errors
  double bias = 0;  ///< mean with sign
};
Errors summary(std::vector<double> errors);

}  // namespace cortado::fit
