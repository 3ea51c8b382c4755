#include "table_options.hpp"

#include "cortado/base/file.hpp"

#include "output_file.hpp"

namespace cortado::cli {

void TableOptions::add_to(CLI::App& app, Files files) {
  app.add_flag("--wide", wide_, "All columns, however long the lines become");
  if (files.csv) app.add_option("--csv", csv_, "Write the rows as CSV, too")->type_name("FILE");
  if (files.html) app.add_option("--html", html_, "Write a page with pictures, too")->type_name("FILE");
  app.add_flag("--json", json_, "JSON instead of the table");
}

Status TableOptions::check(std::vector<std::string> others) const {
  for (const auto& path : {csv_, html_}) {
    if (!path) continue;
    CORTADO_RETURN_IF_ERROR(check_output_path(*path, others));
    others.push_back(*path);
  }
  return {};
}

Status TableOptions::show(Console& console, const report::Document& document) const {
  console.out(json_ ? report::to_json(document) : report::to_text(document, text()));
  return write_files(document);
}

Status TableOptions::write_files(const report::Document& document) const {
  if (csv_) CORTADO_RETURN_IF_ERROR(write_file(*csv_, report::to_csv(document)));
  return html_ ? write_html(report::to_html(document)) : Status{};
}

Status TableOptions::write_html(const std::string& page) const {
  return html_ ? write_file(*html_, page) : Status{};
}

}  // namespace cortado::cli
