// Turns the first interrupt (Ctrl-C) into a request to stop; the second one ends the process as usual.
#pragma once

namespace cortado::cli {

/// From now on interrupts are noticed instead of fatal.
void watch_for_interrupt();

bool interrupted();

}  // namespace cortado::cli
