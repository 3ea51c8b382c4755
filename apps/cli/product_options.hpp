// Flags of a product and the collective beside it, shared by plan ficco and plan t3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/gemm/gemm.hpp"

namespace cortado::cli {

/// The first of the flags that is on the command line, or empty.
std::string first_given(const std::vector<const CLI::Option*>& options);

class ProductOptions {
 public:
  void add_to(CLI::App& app);

  Result<GemmShape> gemm(DType dtype) const;
  std::string collective(const std::string& otherwise) const { return collective_.value_or(otherwise); }

  const std::vector<const CLI::Option*>& options() const { return options_; }

 private:
  std::vector<const CLI::Option*> options_;
  std::optional<std::string> gemm_;
  std::optional<std::string> collective_;
};

}  // namespace cortado::cli
