// The progress of a study, and warnings about it.
#pragma once

#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "console.hpp"
#include "interrupt.hpp"

namespace cortado::cli {

/// For options whose `progress` can return false to stop.
inline auto show_progress(Console& console, const char* stage = "predicting") {
  console.stage(stage);
  return [&console](std::size_t done, std::size_t of) {
    console.stage_at(done, of);
    return !interrupted();
  };
}

/// The exit code of a study that failed, or was interrupted and has nothing to show.
inline Exit study_failure(Console& console, const Failure& failure) {
  console.clear_progress();
  if (!interrupted()) return console.failure(failure);
  console.talk("interrupted before it was finished: there is nothing to show");
  return Exit::interrupted;
}

/// One line on standard error if more than a tenth of the machine's constants are those of other machines.
inline void tell_what_is_borrowed(const Machine& machine, Console& console) {
  const BorrowedConstants borrowed = borrowed_constants(machine);
  if (borrowed.number * 10 <= borrowed.of) return;
  console.talk(
      fmt::format("{} of the {} constants of {} are borrowed from {}, not measured; see cortado show machine {}",
                  borrowed.number, borrowed.of, machine.name, fmt::join(borrowed.from, ", "), machine.name));
}

}  // namespace cortado::cli
