// Flags that describe a collective, shared by plan, run and bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/plan/choose.hpp"
#include "cortado/plan/collective.hpp"

#include "auto_options.hpp"
#include "console.hpp"

namespace cortado::cli {

inline constexpr const char* kDefaultMachine = "mi300x-8";

/// What a sweep and a single plan have in common.
class CollectiveOptions {
 public:
  void add_to(CLI::App& app);

  /// The request without variant, bytes and prelaunch.
  Result<CollectiveRequest> request(Collective collective) const;
  std::optional<bool> in_place() const;  ///< none = nobody said
  const AutoOptions& automatic() const { return auto_; }
  bool has_dtype() const { return dtype_option_->count() > 0; }  ///< somebody said which

  /// The first of these flags on the command line but for the ones named, or empty.
  std::string first_given(const std::vector<std::string>& but = {}) const;

 protected:
  std::vector<const CLI::Option*> options_;

 private:
  std::optional<std::uint32_t> ranks_;
  bool in_place_ = false;
  bool out_of_place_ = false;
  std::string dtype_ = "f32";
  const CLI::Option* dtype_option_ = nullptr;
  std::uint32_t root_ = 0;
  std::uint32_t peer_ = 1;
  std::uint32_t ways_ = 0;
  std::optional<std::uint32_t> compute_units_;
  std::string hosts_ = "single";
  bool leave_own_block_ = false;
  AutoOptions auto_;
};

/// Everything of one plan.
class PlanOptions : public CollectiveOptions {
 public:
  enum class Variant {
    flag,    ///< --variant
    chosen,  ///< always auto
  };
  explicit PlanOptions(Variant variant = Variant::flag) : variant_(variant == Variant::flag ? "pcpy" : kAutoVariant) {}

  void add_to(CLI::App& app);

  /// The whole request; in_place is chosen where nobody said. The variant may be kAutoVariant.
  Result<CollectiveRequest> request(const std::string& collective) const;

  /// What is left open in such a request.
  ChoiceRequest choice(const CollectiveRequest& request) const;

  /// The request with the variant that is predicted to be fastest in place of kAutoVariant; the console says which.
  Result<CollectiveRequest> settled(const CollectiveRequest& request, const Machine& machine, Console& console) const;

 private:
  std::string variant_;
  std::optional<std::string> bytes_;
  bool prelaunch_ = false;
  std::string trigger_words_ = "shared";
};

/// "all-gather bcst prelaunch of 1MiB on 8 ranks of mi300x-8, in place"
std::string describe(const CollectiveRequest& request, const Program& program);

/// "32 commands, 32 signals, 32 doorbells, 1 trigger"; triggers and kernels only where there are any
std::string describe_counts(const Program& program);

}  // namespace cortado::cli
