// Which way an operation is done, if that was configured.
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

/// Rules from a text such as "all-gather<=64KiB:slots, all-gather:direct, staged". The first rule that matches an
/// operation decides; a rule without a collective applies to all, one without a size to every size.
class Tuning {
 public:
  /// Fails with runtime.options. Empty text: decided by size.
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
