#include "table_output.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace cortado::cli {
namespace {

/// Quoted for a shell.
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

/// For comparison: links followed, even to files that do not exist yet.
std::filesystem::path file_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(followed(path).value_or(path), error);
  const std::filesystem::path whole = std::filesystem::weakly_canonical(target, error);
  return error ? target.lexically_normal() : whole;
}

}  // namespace

Status check_output_path(const std::string& path, const std::vector<std::string>& others) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  Diagnostic error{"usage.output", {}, "use the path of a file in an existing folder"};
  error.place.file = path;
  if (path.empty() || path == "-") {
    error.message = path.empty() ? "the output path is empty" : "this output goes to a file, not to standard output";
    return fail(error);
  }
  if (fs::is_directory(path, ignored)) {
    error.message = "is a folder, not a file";
    return fail(error);
  }
  const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (!fs::is_directory(parent, ignored)) {
    error.message = fmt::format("the folder '{}' does not exist", parent.string());
    return fail(error);
  }
  std::error_code circular;
  if (!fs::exists(path, circular) && circular == std::errc::too_many_symbolic_link_levels) {
    error.message = "is a symbolic link that points back to itself";
    return fail(error);
  }
  if (::access(fs::exists(path, ignored) ? path.c_str() : parent.c_str(), W_OK) != 0) {
    Diagnostic denied = system_error("usage.output", "access", errno, "choose a location that you can write to");
    denied.place.file = path;
    return fail(denied);
  }
  for (const std::string& other : others) {
    const bool same = !other.empty() && (file_of(other) == file_of(path) || fs::equivalent(path, other, ignored));
    if (!same) continue;
    error.message = "the command already reads or writes this file";
    error.hint = "use another file for this output";
    return fail(error);
  }
  return {};
}

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
