#include "console.hpp"

#include <cerrno>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::cli {
namespace {

/// The errno of the failed write, or 0.
int write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void Console::out(std::string_view text) {
  if (reader_gone_ || !status_) return;
  const int error = write_fully(STDOUT_FILENO, escape_control(text));
  if (error == EPIPE) {
    reader_gone_ = true;
  } else if (error != 0) {
    status_ = fail(system_error("file.write", "write to standard output", error));
  }
}

void Console::talk(std::string_view line) {
  write_fully(STDERR_FILENO, fmt::format("cortado: {}\n", escape_control(line)));
}

void Console::error(const Diagnostic& diagnostic) {
  talk("error: " + to_string(diagnostic));
}

Exit Console::failure(const pipeline::Failure& failure) {
  for (const Diagnostic& diagnostic : failure.errors) error(diagnostic);
  return failure.program_failed() ? Exit::failed : Exit::usage;
}

void Console::progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) != 1) return;
  // Carriage return and "erase to the end of the line".
  write_fully(STDERR_FILENO, fmt::format("\r\x1b[K{}", escape_control(line)));
}

}  // namespace cortado::cli
