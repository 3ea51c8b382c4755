// Flags of one schedule of a product and the collective that it depends on.
#pragma once

#include <cstdint>
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

  Result<DependentRequest> request(const GemmShape& gemm, const std::string& collective, std::uint32_t ranks) const {
    return dependence_.request(collective, gemm, ranks);
  }
  /// The one named or, of `auto`, that which is predicted to be fastest; the console says which.
  Result<FiccoSchedule> schedule(const DependentRequest& request, const Machine& machine, Console& console) const;

  const std::vector<const CLI::Option*>& options() const { return options_; }

 private:
  std::vector<const CLI::Option*> options_;
  std::string schedule_ = "hetero-fused-1d";
  DependenceOptions dependence_;
};

}  // namespace cortado::cli
