#include "output_file.hpp"

#include <cerrno>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.hpp"

namespace cortado::cli {
namespace {

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

}  // namespace cortado::cli
