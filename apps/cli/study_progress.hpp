// The line of progress of a study.
#pragma once

#include <cstddef>

#include "cortado/target.hpp"

#include "console.hpp"
#include "interrupt.hpp"

namespace cortado::cli {

/// For options whose `progress` returns false to stop.
inline auto show_progress(Console& console, const char* stage = "predicting") {
  console.stage(stage);
  return [&console](std::size_t done, std::size_t of) {
    console.stage_at(done, of);
    return !interrupted();
  };
}

/// The exit of a study that failed or was interrupted, of which there is then nothing to show.
inline Exit study_failure(Console& console, const Failure& failure) {
  console.clear_progress();
  if (!interrupted()) return console.failure(failure);
  console.talk("interrupted before it was finished: there is nothing to show");
  return Exit::interrupted;
}

}  // namespace cortado::cli
