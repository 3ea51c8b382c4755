// gemm_fit MACHINE POINTS.csv [DTYPE] [ROUNDS] [KEY...]: prints how far the model is from measured points, by class,
// and, with ROUNDS above 0, the constants that make the error least, and the error on points that they were not fitted
// to.
#include <cstdlib>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "gemm/fit/fit.hpp"

namespace cortado::fit {
namespace {

constexpr std::size_t kFolds = 4;

void print(std::string_view name, const Errors& errors) {
  fmt::print("{:<14} {:>6} points   mean {:5.1f} %   p90 {:5.1f} %   bias {:+5.1f} %\n", name, errors.points,
             errors.mean * 100, errors.p90 * 100, errors.bias * 100);
}

void print_classes(const std::vector<Point>& points, const Machine& machine) {
  std::vector<double> errors;
  for (const Point& point : points) errors.push_back(error_of(point, machine));
  print("all", summary(errors));
  const auto print_class = [&](std::string_view name, auto&& belongs) {
    std::vector<double> of_class;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (belongs(points[i])) of_class.push_back(errors[i]);
    }
    if (!of_class.empty()) print(name, summary(of_class));
  };
  constexpr double kTimes[] = {0, 5, 10, 20, 50, 100, 300, 1000, 1e9};
  for (std::size_t i = 1; i < std::size(kTimes); ++i) {
    print_class(fmt::format("< {} us", kTimes[i]),
                [&](const Point& p) { return p.us >= kTimes[i - 1] && p.us < kTimes[i]; });
  }
  constexpr std::uint64_t kRows[] = {0, 16, 128, 512, 2048, 1ULL << 40};
  for (std::size_t i = 1; i < std::size(kRows); ++i) {
    print_class(fmt::format("m <= {}", kRows[i]),
                [&](const Point& p) { return p.shape.m > kRows[i - 1] && p.shape.m <= kRows[i]; });
  }
}

DType dtype_of(const std::string& name) {
  return name == "f8" ? DType::f8 : name == "f16" ? DType::f16 : name == "f32" ? DType::f32 : DType::bf16;
}

int run(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: gemm_fit MACHINE POINTS.csv [DTYPE [ROUNDS [KEY...]]]\n");
    return 2;
  }
  const DType dtype = dtype_of(argc > 3 ? argv[3] : "bf16");
  auto machine = load_machine(argv[1]);
  if (!machine) return fmt::print(stderr, "{}\n", machine.error().message), 2;
  machine->clock = ClockMode::bursts;  // points are measured by benchmarks
  const auto points = read_points(argv[2], dtype);
  if (!points) return fmt::print(stderr, "{}\n", points.error().message), 2;
  print_classes(*points, *machine);
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 0;
  if (rounds == 0) return 0;

  const std::vector<std::string> wanted(argv + std::min(argc, 5), argv + argc);
  std::vector<Constant> free;
  for (const Constant& constant : constants(dtype)) {
    const bool named = wanted.empty() || std::ranges::count(wanted, constant.key) > 0;
    if (named && constant.get(*machine) > 0) free.push_back(constant);
  }
  const Machine best = fitted(*machine, *points, free, rounds);
  fmt::print("\nfitted to all\n");
  print_classes(*points, best);
  for (const Constant& constant : free) {
    fmt::print("{} {:.5g} (was {:.5g})\n", constant.key, constant.get(best), constant.get(*machine));
  }
  std::vector<double> unseen;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Point> seen;
    std::vector<Point> kept;
    for (std::size_t i = 0; i < points->size(); ++i) (i % kFolds == fold ? kept : seen).push_back((*points)[i]);
    const Machine of_fold = fitted(*machine, seen, free, rounds);
    for (const Point& point : kept) unseen.push_back(error_of(point, of_fold));
  }
  print("unseen", summary(unseen));
  return 0;
}

}  // namespace
}  // namespace cortado::fit

int main(int argc, char** argv) {
  return cortado::fit::run(argc, argv);
}
