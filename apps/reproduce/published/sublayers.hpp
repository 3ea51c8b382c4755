// GEMMs of transformer layers whose outputs are all-reduced (published/sublayers/*.toml): models, degrees of tensor
// parallelism and sub-layers as data, every combination as one GEMM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::published {

/// The GEMM of one GPU; m x n elements are all-reduced.
struct SubLayer {
  std::string model;
  std::string name;      ///< "FC-2"
  std::uint32_t tp = 0;  ///< GPUs that share it
  std::string group;     ///< models that are evaluated together
  std::uint64_t m = 0;   ///< tokens
  std::uint64_t n = 0;   ///< width of the model
  std::uint64_t k = 0;   ///< of one GPU
  std::string dtype;
};

/// In the order of models, tp and sub-layers of the file.
Result<std::vector<SubLayer>> load_sublayers(const std::string& name);

/// Refuses files with mistakes (published.syntax, published.value), and widths that tp does not divide.
Result<std::vector<SubLayer>> parse_sublayers(const std::string& text, const std::string& file);

}  // namespace cortado::published
