#include "sim/gpu/arbitration.hpp"

#include <algorithm>
#include <utility>

namespace cortado::sim {
namespace {

/// Weights must be positive: a machine with a starvation share of 0 gets this instead.
constexpr double kLeastShare = 1e-6;

}  // namespace

Arbitration::Arbitration(const std::optional<MemoryArbitration>& arbitration, std::optional<ArbitrationPolicy> policy,
                         std::uint32_t gpus)
    : arbitration_(arbitration), shares_(gpus, 1) {
  if (arbitration_ && policy) arbitration_->policy = *policy;
}

double Arbitration::share_for(double intensity) const {
  if (!favours_products()) return 1;
  const double least = std::max(kLeastShare, arbitration_->starvation_share);
  if (arbitration_->policy == ArbitrationPolicy::compute_first) return least;
  const auto next = std::ranges::upper_bound(arbitration_->intensities, intensity);
  const auto threshold = arbitration_->thresholds[static_cast<std::size_t>(next - arbitration_->intensities.begin())];
  return std::clamp(static_cast<double>(threshold) / arbitration_->queue_depth, least, 1.0);
}

bool Arbitration::begin_product(std::uint32_t queue, std::uint32_t gpu, double intensity) {
  if (!favours_products()) return false;
  products_.push_back({queue, gpu, share_for(intensity)});
  return settle(gpu);
}

bool Arbitration::end_product(std::uint32_t queue, std::uint32_t gpu) {
  if (!favours_products()) return false;
  std::erase_if(products_, [&](const Product& product) { return product.queue == queue; });
  return settle(gpu);
}

bool Arbitration::settle(std::uint32_t gpu) {
  double share = 1;
  for (const Product& product : products_) {
    if (product.gpu == gpu) share = std::min(share, product.share);
  }
  return std::exchange(shares_[gpu], share) != share;
}

}  // namespace cortado::sim
