// Flags that say how a table is shown and where else it is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cortado/base/result.hpp"
#include "cortado/report/table.hpp"

#include "console.hpp"

namespace cortado::cli {

class TableOptions {
 public:
  struct Files {
    bool csv = false;
    bool html = false;
  };

  void add_to(CLI::App& app) { add_to(app, Files{}); }
  void add_to(CLI::App& app, Files files);

  /// Refuses files that cannot be written, and those of `others` (see check_output_path).
  Status check(std::vector<std::string> others = {}) const;

  bool json() const { return json_; }
  report::TextOptions text() const { return {.wide = wide_}; }

  /// Shows the document as text or JSON and writes the files.
  Status show(Console& console, const report::Document& document) const;
  Status write_files(const report::Document& document) const;

  /// For pages that are not those of a document.
  Status write_html(const std::string& page) const;
  bool wants_html() const { return html_.has_value(); }

 private:
  bool json_ = false;
  bool wide_ = false;
  std::optional<std::string> csv_;
  std::optional<std::string> html_;
};

}  // namespace cortado::cli
