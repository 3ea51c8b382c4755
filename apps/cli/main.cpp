// cortado: the command line.
#include <exception>

#include "base/uncaught.hpp"
#include "command_line.hpp"
#include "heap.hpp"
#include "interrupt.hpp"

int main(int argc, char** argv) {
  cortado::cli::prepare_heap();
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
