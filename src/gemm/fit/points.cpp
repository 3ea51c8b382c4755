#include "gemm/fit/points.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "base/lines.hpp"

namespace cortado::fit {

Result<std::vector<Point>> read_points(const std::string& path, DType dtype) {
  std::ifstream file(path);
  if (!file) return fail("fit.points", fmt::format("cannot read {}", path), "give a CSV of m,n,k,us");
  std::vector<Point> points;
  constexpr LineReader::Limits kLimits{{1_MiB, "lines of points"}, {256_MiB, "files of points"}};
  LineReader lines(file, path, kLimits);
  std::string line;
  while (true) {
    CORTADO_ASSIGN_OR_RETURN(const bool found, lines.next(line));
    if (!found) break;
    const std::uint32_t number = lines.number();
    if (number == 1 || line.empty()) continue;
    unsigned long long m = 0;
    unsigned long long n = 0;
    unsigned long long k = 0;
    double us = 0;
    unsigned units = 0;
    if (std::sscanf(line.c_str(), "%llu,%llu,%llu,%lf,%u", &m, &n, &k, &us, &units) < 4 || us <= 0) {
      return fail("fit.points", fmt::format("{}:{} is no point: {}", path, number, line), "m,n,k,us");
    }
    points.push_back({{.m = m, .n = n, .k = k, .dtype = dtype}, us, units});
  }
  if (points.empty()) return fail("fit.points", fmt::format("{} has no points", path), "m,n,k,us");
  return points;
}

double error_of(const Point& point, const Machine& machine) {
  const std::uint32_t units = point.units > 0 ? point.units : machine.compute_units;
  const Tiling tiling = choose_tiling(point.shape, machine, units);
  const double seconds = estimate_gemm(point.shape, tiling, machine, units).seconds;
  const double start = static_cast<double>(gemm_start(machine).value) * 1e-3;
  return (seconds * 1e6 + start) / point.us - 1;
}

Errors summary(std::vector<double> errors) {
  if (errors.empty()) return {};
  Errors result{.points = errors.size()};
  const auto count = static_cast<double>(errors.size());
  for (double& error : errors) {
    result.bias += error / count;
    error = std::abs(error);
    result.mean += error / count;
  }
  std::ranges::sort(errors);
  result.p90 = errors[static_cast<std::size_t>(0.9 * (count - 1))];
  return result;
}

}  // namespace cortado::fit
