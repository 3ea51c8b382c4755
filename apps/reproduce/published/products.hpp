// Measured times of GEMMs (published/products/*.toml).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

#include "reproduce/published/published.hpp"

namespace cortado::published {

struct MeasuredProduct {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  double us = 0;
  std::uint32_t units = 0;  ///< compute units that it could use; 0: all
};

struct ProductList {
  std::string name;
  std::string title;
  std::string machine;
  std::string dtype;
  Source source;
  UsedFor used_for = UsedFor::validation;
  double goal_mean = 0;              ///< mean absolute error in percent that we must reach
  std::optional<double> goal_p90{};  ///< of nine tenths of the points
  std::optional<double> burst_ms{};  ///< power.burst_ms of this benchmark: 0 where it repeats a GEMM for long
  std::vector<MeasuredProduct> points;
};

/// All lists, in the order of their names.
Result<std::vector<ProductList>> load_products();

/// Refuses files with mistakes (published.syntax, published.value).
Result<ProductList> parse_products(const std::string& text, const std::string& file);

}  // namespace cortado::published
