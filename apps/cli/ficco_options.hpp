// Flags that describe a product and the collective that it depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/plan/ficco.hpp"

namespace cortado::cli {

/// "MxNxK". Whether a machine can do it is not asked here.
Result<GemmShape> parse_shape(const std::string& text, DType dtype);

class FiccoOptions {
 public:
  void add_to(CLI::App& app);

  Result<DependentRequest> request(DType dtype, std::uint32_t ranks) const;
  Result<FiccoSchedule> schedule() const;

  /// The first of these flags on the command line, or empty.
  std::string first_given() const;

 private:
  std::vector<const CLI::Option*> options_;
  std::optional<std::string> gemm_;
  std::string collective_ = "all-gather";
  bool product_first_ = false;
  std::string schedule_ = "hetero-fused-1d";
  std::optional<std::uint32_t> chunks_;
  bool on_cores_ = false;
};

}  // namespace cortado::cli
