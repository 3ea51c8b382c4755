// How a table is shown and where else it is written: --wide, --json, --csv, --html.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

class TableOutput {
 public:
  explicit TableOutput(const Arguments& arguments)
      : json_(arguments.given("--json")),
        wide_(arguments.given("--wide")),
        csv_(arguments.find("--csv")),
        html_(arguments.find("--html")) {}

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
  bool json_;
  bool wide_;
  std::optional<std::string> csv_;
  std::optional<std::string> html_;
};

}  // namespace cortado::cli
