#include "console.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"

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

// Carriage return and "erase to the end of the line".
constexpr std::string_view kEraseLine = "\r\x1b[K";

/// How long a command may run without any message.
constexpr std::chrono::seconds kQuiet{2};

}  // namespace

void Console::out(std::string_view text) {
  end_stage();
  if (reader_gone_ || !status_) return;
  const int error = write_fully(STDOUT_FILENO, escape_control(text));
  if (error == EPIPE) {
    reader_gone_ = true;
  } else if (error != 0) {
    status_ = fail(system_error("file.write", "write to standard output", error));
  }
}

void Console::talk(std::string_view line) {
  const std::lock_guard lock(line_mutex_);
  write_fully(STDERR_FILENO, fmt::format("{}cortado: {}\n", line_shown_ ? kEraseLine : "", escape_control(line)));
  line_shown_ = false;
}

void Console::error(const Diagnostic& diagnostic) {
  end_stage();
  talk("error: " + to_string(diagnostic));
}

Exit Console::failure(const Failure& failure) {
  for (const Diagnostic& diagnostic : failure.errors) error(diagnostic);
  return failure.program_failed() ? Exit::failed : Exit::usage;
}

void Console::stage(std::string name) {
  if (::isatty(STDERR_FILENO) != 1) return;
  if (stage_) {
    stage_->enter(std::move(name));
    return;
  }
  try {
    stage_ = std::make_unique<StageClock>(
        std::move(name), [this](const std::string& line) { progress(line); }, kQuiet);
  } catch (const std::system_error&) {
    // No thread available: the command runs without messages.
  }
}

void Console::stage_at(std::uint64_t done, std::uint64_t of) {
  if (stage_) stage_->at(done, of);
}

void Console::end_stage() {
  if (!stage_) return;
  stage_.reset();
  if (line_shown_) clear_progress();
}

void Console::progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) != 1) return;
  const std::lock_guard lock(line_mutex_);
  write_fully(STDERR_FILENO, fmt::format("{}{}", kEraseLine, escape_control(line)));
  line_shown_ = !line.empty();
}

}  // namespace cortado::cli
