// What the GEMM tests share: nodes to run on, and runs whose bytes are checked in every iteration.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "device/driver/driver.hpp"

namespace cortado {

/// How GoogleTest shows a variant.
inline void PrintTo(const VariantInfo& variant, std::ostream* out) {
  *out << variant.collective.name() << " " << variant.variant;
}

namespace product {

/// A machine with small rings; read once in the process.
const Machine& machine(const std::string& name);

/// "all-gather bcst 1000 bytes, 5 ranks, prelaunch, in place, single host, f32"
std::string describe(const CollectiveRequest& request);

/// An embedded node; with a seed, an adversarial one.
class Node {
 public:
  Node(const Machine& machine, std::uint32_t gpus, std::optional<std::uint64_t> adversarial_seed);

  /// Empty if three iterations run to the end with every output byte right; else what went wrong.
  std::string run(const VerifiedProgram& program);

 private:
  std::unique_ptr<device::Driver> driver_;
  std::optional<std::uint64_t> seed_;
  std::uint64_t runs_ = 0;
};

/// All diagnostics, one a line.
std::string to_text(const std::vector<Diagnostic>& diagnostics);

}  // namespace product
}  // namespace cortado
