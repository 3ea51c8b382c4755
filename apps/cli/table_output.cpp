#include "table_output.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/file.hpp"
#include "base/text.hpp"
#include "output_file.hpp"

namespace cortado::cli {
namespace {

/// For a shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::time_t now() {
  const char* const fixed = std::getenv("SOURCE_DATE_EPOCH");
  const auto seconds = fixed == nullptr ? std::nullopt : parse_number<std::int64_t>(fixed);
  return seconds ? static_cast<std::time_t>(*seconds) : std::time(nullptr);
}

}  // namespace

report::PageOrigin page_origin(const Arguments& arguments) {
  report::PageOrigin origin{.command = "cortado", .version = CORTADO_VERSION};
  for (const std::string& word : arguments.words()) origin.command += " " + quoted(word);
  const std::time_t seconds = now();
  std::tm utc{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &utc) != nullptr &&
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc) > 0) {
    origin.date = text.data();
  }
  return origin;
}

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
  if (html_) {
    for (const std::string& limit : report::page_limits(document)) console.talk(limit);
  }
  return write_files(document);
}

Status TableOutput::write_files(const report::Document& document) const {
  if (csv_) CORTADO_RETURN_IF_ERROR(write_file(*csv_, report::to_csv(document)));
  return write_html(document.title, {document});
}

Status TableOutput::write_html(const std::string& title, const std::vector<report::Document>& documents) const {
  return html_ ? write_file(*html_, report::to_html(title, documents, origin_)) : Status{};
}

}  // namespace cortado::cli
