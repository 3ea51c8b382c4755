// A Timeline as a picture: one lane a queue, GPUs one below another, time to the right. For documents and for a quick
// look; traces for Perfetto (trace.hpp) hold more.
#pragma once

#include <string>

#include "cortado/timeline.hpp"

namespace cortado::report {

struct PictureOptions {
  std::string title{};
  bool hosts = false;  ///< lanes of host threads, too
};

/// One SVG document that needs nothing from elsewhere. Spans of all iterations; waits are thin, and an arrow leads from
/// what released a wait to it, if the timeline has flows.
std::string timeline_picture(const Timeline& timeline, const PictureOptions& options = {});

}  // namespace cortado::report
