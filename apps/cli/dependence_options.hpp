// Flags that say how a GEMM and a collective depend on each other, and what the collective moves; shared by plan ficco,
// overlap and characterize.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/plan/overlap.hpp"

namespace cortado::cli {

/// "MxNxK". Whether a machine can do it is not asked here.
Result<GemmShape> parse_shape(const std::string& text, DType dtype);

class DependenceOptions {
 public:
  /// `of` stands before the description of each flag: what it belongs to.
  void add_to(CLI::App& app, const std::string& of);

  /// Of so many ranks; reads the file of --tokens. `gemm` is what one GPU multiplies.
  Result<OverlapProblem> problem(const std::string& collective, const GemmShape& gemm, std::uint32_t ranks) const;
  /// The same as FiCCO plans it.
  Result<DependentRequest> request(const std::string& collective, const GemmShape& gemm, std::uint32_t ranks) const;

  Result<std::uint32_t> chunks() const;  ///< 0 = nobody said
  /// Of a schedule: serial has plain copies if nothing else is asked for.
  Result<ExchangeVariant> exchange(const FiccoSchedule& schedule) const;
  Result<ExchangeVariant> exchange() const { return find_exchange(exchange_.value_or("auto")); }
  CollectiveMeans means() const { return on_cores_ ? CollectiveMeans::cores : CollectiveMeans::dma; }

  const std::vector<const CLI::Option*>& options() const { return options_; }

 private:
  Result<TokenTable> tokens(std::uint64_t rows, std::uint32_t ranks) const;

  std::vector<const CLI::Option*> options_;
  bool gemm_first_ = false;
  std::optional<std::string> tokens_;
  std::optional<std::uint32_t> chunks_;
  std::optional<std::string> exchange_;
  bool on_cores_ = false;
};

}  // namespace cortado::cli
