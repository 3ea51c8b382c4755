// Flags of one schedule of a product and the collective that it depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/plan/ficco.hpp"

#include "console.hpp"
#include "dependence_options.hpp"

namespace cortado::cli {

class FiccoOptions {
 public:
  void add_to(CLI::App& app);

  Result<DependentRequest> request(DType dtype, std::uint32_t ranks) const;
  /// The one named or, of `auto`, that which is predicted to be fastest; the console says which.
  Result<FiccoSchedule> schedule(const DependentRequest& request, const Machine& machine, Console& console) const;

  /// The first of these flags on the command line, or empty.
  std::string first_given() const;

 private:
  std::vector<const CLI::Option*> options_;
  std::optional<std::string> gemm_;
  std::string collective_ = "all-gather";
  std::string schedule_ = "hetero-fused-1d";
  DependenceOptions dependence_;
};

}  // namespace cortado::cli
