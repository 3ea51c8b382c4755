// How a table is shown, and which files are written: --wide, --json, --csv, --html and others. Output files are checked
// before the work starts, and appear complete or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"

namespace cortado::cli {

/// Refuses paths that could not be written later (a missing or read-only folder, a folder as file) and
/// those among `others`, files that the command also reads or writes. Others that are not files (names, empty) do not
/// matter.
Status check_output_path(const std::string& path, const std::vector<std::string>& others = {});

/// The command line, the version, and the date (or SOURCE_DATE_EPOCH, for reproducible pages).
report::PageOrigin page_origin(const Arguments& arguments);

class TableOutput {
 public:
  explicit TableOutput(const Arguments& arguments)
      : json_(arguments.given("--json")),
        wide_(arguments.given("--wide")),
        csv_(arguments.find("--csv")),
        html_(arguments.find("--html")),
        origin_(page_origin(arguments)) {}

  /// Refuses files that cannot be written, and those of `others` (see check_output_path).
  Status check(std::vector<std::string> others = {}) const;

  bool json() const { return json_; }
  report::TextOptions text() const { return {.wide = wide_}; }

  /// Shows the document as text or JSON and writes the files.
  Status show(Console& console, const report::Document& document) const;
  Status write_files(const report::Document& document) const;

  bool wants_files() const { return csv_ || html_; }
  bool wants_html() const { return html_.has_value(); }
  /// Only the page, if it was requested.
  Status write_html(const std::string& title, const std::vector<report::Document>& documents) const;

 private:
  bool json_;
  bool wide_;
  std::optional<std::string> csv_;
  std::optional<std::string> html_;
  report::PageOrigin origin_;
};

}  // namespace cortado::cli
