// Interrupts (Ctrl-C, SIGTERM, SIGHUP): a command with partial results to show stops at its next opportunity,
// the others end at once. Either way the exit code is 130, a message is shown, and no partial file is left.
#pragma once

namespace cortado::cli {

/// From now on an interrupt ends the process at once. Interrupts that the parent ignores (nohup, background jobs of
/// scripts) stay ignored.
void handle_interrupts();

/// From now on the first interrupt is only recorded; the second one ends the process at once.
void watch_for_interrupt();

bool interrupted();

}  // namespace cortado::cli
