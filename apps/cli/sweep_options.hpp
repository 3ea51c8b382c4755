// Flags that say where the rows of a sweep come from and how often each point is repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/bench.hpp"

#include "device_options.hpp"

namespace cortado::cli {

class SweepOptions {
 public:
  void add_to(CLI::App& app);

  /// Iterations and warm-up; refuses flags that the chosen place does not have.
  Status fill(pipeline::BenchRequest& request) const;

  /// Opens the target of the points.
  Result<std::unique_ptr<Target>> open(const pipeline::BenchPlan& plan, const Machine& machine) const;
  device::RunOptions run_options() const { return device_.run_options(); }
  std::uint32_t threads() const;

 private:
  DeviceOptions device_;
  std::optional<std::uint32_t> iterations_;
  std::optional<std::uint32_t> warmup_;
  std::optional<std::uint32_t> threads_;
};

}  // namespace cortado::cli
