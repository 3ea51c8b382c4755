// Nobody sends signals to a page: it ends the worker.
#include "../interrupt.hpp"

namespace cortado::cli {

void handle_interrupts() {}

void watch_for_interrupt() {}

bool interrupted() {
  return false;
}

}  // namespace cortado::cli
