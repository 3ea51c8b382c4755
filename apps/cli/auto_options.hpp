// Flags of --variant auto.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/pipeline/choose.hpp"

#include "console.hpp"

namespace cortado::cli {

class AutoOptions {
 public:
  void add_to(CLI::App& app);
  const std::vector<const CLI::Option*>& options() const { return options_; }

  /// Refuses these flags where no variant is to be chosen.
  Status check(bool automatic) const;

  std::vector<std::string> among() const;  ///< variants that may be chosen; empty = all

  pipeline::ChooserOptions chooser_options() const;

 private:
  std::vector<const CLI::Option*> options_;
  std::optional<std::string> among_;
  bool no_cache_ = false;
};

/// "a, b" -> a, b; at least one name, which may be empty.
std::vector<std::string> split_names(const std::string& text);

/// Keeps what the chooser has simulated; a cache that cannot be written is mentioned and nothing else.
void keep_times(pipeline::Chooser& chooser, Console& console);

}  // namespace cortado::cli
