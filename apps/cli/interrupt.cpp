#include "interrupt.hpp"

#include <csignal>
#include <cstddef>
#include <string_view>
#include <unistd.h>

#include "base/file.hpp"
#include "base/process.hpp"
#include "console.hpp"

namespace cortado::cli {
namespace {

volatile std::sig_atomic_t g_watched = 0;
volatile std::sig_atomic_t g_interrupted = 0;
volatile std::sig_atomic_t g_terminal = 0;  // standard error is one

/// Calls only what is allowed in a signal handler.
[[noreturn]] void end_at_once() {
  remove_unfinished_file();
  end_running_process();
  constexpr std::string_view kMessage = "\r\x1b[Kcortado: interrupted\n";
  constexpr std::size_t kErase = 4;  // characters that erase a line of progress
  const std::string_view message = kMessage.substr(g_terminal != 0 ? 0 : kErase);
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(Exit::interrupted));
}

void on_interrupt(int) {
  if (g_watched == 0 || g_interrupted != 0) end_at_once();
  g_interrupted = 1;
}

}  // namespace

void handle_interrupts() {
  // If the reader is gone, writes fail with EPIPE, and the console stops writing.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that exceeds the limit of the process gives EFBIG, an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  g_terminal = ::isatty(STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_interrupt;
    sigaction(signal, &action, nullptr);
  }
}

void watch_for_interrupt() {
  g_watched = 1;
}

bool interrupted() {
  return g_interrupted != 0;
}

}  // namespace cortado::cli
