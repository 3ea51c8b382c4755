#include "table_output.hpp"

#include "base/file.hpp"
#include "output_file.hpp"

namespace cortado::cli {

Status TableOutput::check(std::vector<std::string> others) const {
  for (const auto& path : {csv_, html_}) {
    if (!path) continue;
    CORTADO_RETURN_IF_ERROR(check_output_path(*path, others));
    others.push_back(*path);
  }
  return {};
}

Status TableOutput::show(Console& console, const report::Document& document) const {
  console.out(json_ ? report::to_json(document) : report::to_text(document, text()));
  return write_files(document);
}

Status TableOutput::write_files(const report::Document& document) const {
  if (csv_) CORTADO_RETURN_IF_ERROR(write_file(*csv_, report::to_csv(document)));
  return html_ ? write_html(report::to_html(document)) : Status{};
}

Status TableOutput::write_html(const std::string& page) const {
  return html_ ? write_file(*html_, page) : Status{};
}

}  // namespace cortado::cli
