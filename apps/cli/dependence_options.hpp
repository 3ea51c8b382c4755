// Flags that say how a product and a collective depend on each other, and what the collective moves; shared by plan
// ficco and overlap --dependent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/pipeline/fused.hpp"
#include "cortado/plan/ficco.hpp"

namespace cortado::cli {

/// "MxNxK". Whether a machine can do it is not asked here.
Result<GemmShape> parse_shape(const std::string& text, DType dtype);

/// What takes a product away, of so many ranks. Before an all-to-all M is that of all ranks together and must divide
/// evenly.
Result<pipeline::FusedRequest> fused_request(const GemmShape& gemm, const std::string& collective, std::uint32_t ranks);

class DependenceOptions {
 public:
  /// `of` stands before the description of each flag: what it belongs to.
  void add_to(CLI::App& app, const std::string& of);

  /// Of so many ranks; reads the file of --tokens.
  Result<DependentRequest> request(const std::string& collective, const GemmShape& gemm, std::uint32_t ranks) const;

  Result<std::uint32_t> chunks() const;  ///< 0 = nobody said
  /// Of a schedule: serial has plain copies if nothing else is asked for.
  Result<ExchangeVariant> exchange(const FiccoSchedule& schedule) const;
  Result<ExchangeVariant> exchange() const { return find_exchange(exchange_.value_or("auto")); }
  bool product_first() const { return product_first_; }
  CollectiveMeans means() const { return on_cores_ ? CollectiveMeans::cores : CollectiveMeans::dma; }

  const std::vector<const CLI::Option*>& options() const { return options_; }

 private:
  Result<TokenTable> tokens(std::uint64_t rows, std::uint32_t ranks) const;

  std::vector<const CLI::Option*> options_;
  bool product_first_ = false;
  std::optional<std::string> tokens_;
  std::optional<std::uint32_t> chunks_;
  std::optional<std::string> exchange_;
  bool on_cores_ = false;
};

}  // namespace cortado::cli
