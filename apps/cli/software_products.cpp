#include "software_products.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gemm/gemm.hpp"

namespace cortado::cli {
namespace {

constexpr double kPatience = 30;          // seconds
constexpr double kFewestMeasured = 2e10;  // flops; any computer does these within kPatience

std::string flop_text(double flops) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kUnits{{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}}};
  for (const auto& [size, prefix] : kUnits) {
    if (flops >= size) return fmt::format("{:.{}f} {}FLOP", flops / size, flops < 10 * size ? 1 : 0, prefix);
  }
  return fmt::format("{:.0f} FLOP", flops);
}

}  // namespace

std::string rough_duration(double seconds) {
  if (seconds < 90) return fmt::format("about {:.0f} seconds", seconds);
  if (seconds < 90 * 60) return fmt::format("about {:.0f} minutes", seconds / 60);
  return fmt::format("about {:.0f} hours", seconds / 3600);
}

std::optional<std::string> software_products_warning(const Program& program, std::uint32_t iterations,
                                                     const std::function<double(DType)>& rate) {
  double all = 0;
  DType dtype{};
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      const auto* gemm = std::get_if<Gemm>(&command);
      if (gemm == nullptr) continue;
      all += flops(shape_of(*gemm)) * iterations;
      dtype = gemm->dtype;
    }
  }
  return software_products_warning(all, dtype, iterations > 1, rate);
}

std::optional<std::string> software_products_warning(double flops, DType dtype, bool more_than_once,
                                                     const std::function<double(DType)>& rate) {
  if (flops < kFewestMeasured) return {};
  const double flops_per_second = rate(dtype);
  const double seconds = flops / flops_per_second;
  if (seconds <= kPatience) return {};
  return fmt::format(
      "{} of GEMMs will run in software on this computer: {} at the {}/s measured here{}; --on sim predicts the time "
      "on GPUs within seconds",
      flop_text(flops), rough_duration(seconds), flop_text(flops_per_second),
      more_than_once ? "; --iters 1 takes least time" : "");
}

}  // namespace cortado::cli
