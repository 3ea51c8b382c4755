// How fast the embedded node runs GEMMs.
#include <algorithm>
#include <chrono>
#include <vector>

#include "base/cores.hpp"
#include "device/soft/cpu_kernels.hpp"
#include "device/soft/soft.hpp"

namespace cortado::device {
namespace {

constexpr std::chrono::milliseconds kMeasuredTime{20};

// One tile of typical size, with k equal to a typical model width: about two milliseconds of a core.
constexpr std::uint64_t kRateTile = 128;
constexpr std::uint64_t kRateDepth = 2048;

}  // namespace

double soft_gemm_rate(DType dtype, const SoftOptions& options) {
  const std::uint64_t element = size_of(dtype).value;
  std::vector<std::byte> a(kRateTile * kRateDepth * element);  // zeros: they take the same path as other values
  std::vector<std::byte> b(kRateDepth * kRateTile * element);
  std::vector<std::byte> c(kRateTile * kRateTile * element);
  GemmLaunchOp op;
  op.m = op.n = op.tile_m = op.tile_n = kRateTile;
  op.k = kRateDepth;
  op.dtype = dtype;
  op.a = {a.data(), kRateDepth * element, kRateTile, kRateDepth * element};
  op.b = {b.data(), kRateTile * element, kRateDepth, kRateTile * element};
  op.c = {c.data(), kRateTile * element, kRateTile, kRateTile * element};

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Clock::duration elapsed{};
  double flops = 0;
  do {
    soft::run_gemm_tiles(op, 0, 1);
    flops += 2.0 * static_cast<double>(op.m * op.n * op.k);
    elapsed = Clock::now() - start;
  } while (elapsed < kMeasuredTime);

  const std::uint32_t cores = available_cores();
  const std::uint32_t workers = options.adversarial_seed ? 0 : options.workers.value_or(cores - 1);
  return flops / std::chrono::duration<double>(elapsed).count() * std::min(workers + 1, cores);
}

}  // namespace cortado::device
