// Flags that say where the rows of a sweep come from and how often each point is repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/bench.hpp"
#include "cortado/pipeline/point_runner.hpp"

#include "device_options.hpp"

namespace cortado::cli {

class SweepOptions {
 public:
  void add_to(CLI::App& app);

  /// Iterations and warm-up; refuses flags that the chosen place does not have.
  Status fill(pipeline::BenchRequest& request) const;

  /// Opens the device, or starts simulating. The plan must outlive the runner.
  Result<std::unique_ptr<pipeline::PointRunner>> runner(const pipeline::BenchPlan& plan,
                                                        const pipeline::BenchRequest& request,
                                                        const Machine& machine) const;

 private:
  DeviceOptions device_{Places::devices_and_simulator};
  std::optional<std::uint32_t> iterations_;
  std::optional<std::uint32_t> warmup_;
  std::optional<std::uint32_t> threads_;
};

}  // namespace cortado::cli
