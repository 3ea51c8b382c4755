// Which way an operation is done, where somebody has decided it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

namespace cortado::runtime {

enum class Variant : std::uint8_t { by_size, slots, staged, direct };
std::string_view name_of(Variant variant);

/// Rules of a text such as "all-gather<=64KiB:slots, all-gather:direct, staged". The first one that fits an operation
/// decides; a rule without a collective is for all, one without a size for every size.
class Tuning {
 public:
  /// Refused with runtime.options. Empty: by size.
  static Result<Tuning> parse(std::string_view text);

  /// `bytes`: what a rank sends.
  Variant variant_for(OperationKind kind, std::uint64_t bytes) const;

 private:
  struct Rule {
    std::optional<OperationKind> kind;
    std::uint64_t most_bytes;
    Variant variant;
  };
  std::vector<Rule> rules_;
};

}  // namespace cortado::runtime
