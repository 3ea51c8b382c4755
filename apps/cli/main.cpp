// cortado: the command line.
#include <csignal>
#include <exception>

#include "base/uncaught.hpp"
#include "command_line.hpp"
#include "interrupt.hpp"

int main(int argc, char** argv) {
  // A reader that went away shows as EPIPE, which the console takes for the end of interest.
  std::signal(SIGPIPE, SIG_IGN);
  // So does a file that grows beyond the limit of the process: as EFBIG, an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  cortado::cli::handle_interrupts();
  cortado::cli::Console console;
  try {
    const auto exit = cortado::cli::run_command_line(console, {argv + 1, argv + argc});
    if (console.status()) return static_cast<int>(exit);
    console.error(console.status().error());
    return static_cast<int>(cortado::cli::Exit::usage);
  } catch (const std::exception& error) {
    console.error(cortado::uncaught(error));
    return static_cast<int>(cortado::cli::Exit::usage);
  }
}
