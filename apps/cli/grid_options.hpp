// Flags that say which variants, sizes and kinds of launch of a collective are swept, shared by bench and compare.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/pipeline/bench.hpp"

#include "plan_options.hpp"

namespace cortado::cli {

class GridOptions {
 public:
  explicit GridOptions(std::string default_sizes) : sizes_(std::move(default_sizes)) {}

  void add_to(CLI::App& app);

  /// Refuses names and sizes that are not known.
  Status fill(const std::string& collective, pipeline::BenchRequest& request) const;

  const AutoOptions& automatic() const { return collective_options_.automatic(); }

  /// The first of these flags on the command line, or empty.
  std::string first_given() const;

 private:
  Status fill_variants(pipeline::BenchRequest& request) const;

  std::string variants_ = "all";
  std::string sizes_;
  std::string prelaunch_ = "both";
  CollectiveOptions collective_options_;
  std::vector<const CLI::Option*> options_;
};

}  // namespace cortado::cli
