// Interrupts (Ctrl-C, SIGTERM): a command that has something to show for what is done stops at its next opportunity,
// the others end at once. Either way the exit code is 130, a message is given, and no half-written file stays behind.
#pragma once

namespace cortado::cli {

/// From now on an interrupt ends the process at once. Interrupts that the parent ignores (nohup, background jobs of
/// scripts) stay ignored.
void handle_interrupts();

/// From now on the first interrupt is only noticed; the second one ends the process at once.
void watch_for_interrupt();

bool interrupted();

}  // namespace cortado::cli
