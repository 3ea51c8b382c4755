// Flags of a product whose stores memory tracks (T3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/plan/t3.hpp"

namespace cortado::cli {

class T3Options {
 public:
  void add_to(CLI::App& app);

  Result<T3Request> request(const GemmShape& gemm, const std::string& collective, std::uint32_t ranks) const;

  const std::vector<const CLI::Option*>& options() const { return options_; }

 private:
  std::vector<const CLI::Option*> options_;
  std::string algorithm_ = "auto";
  std::string axis_ = "auto";
  std::optional<std::uint64_t> pieces_;
  std::optional<std::uint64_t> split_k_;
};

}  // namespace cortado::cli
