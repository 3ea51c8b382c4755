// A Timeline as a Perfetto / Chrome JSON trace: open it at https://ui.perfetto.dev or chrome://tracing.
//
// One process per rank and one for the host, one thread per queue, named and in the order of the program. Slices carry
// bytes, command and iteration; arrows lead from a signal to the wait it released; bytes moved by DMA engines have the
// category "communication". Spans of one track that overlap (copies of a DMA queue may) are laid on further threads of
// the same name, because slices of one thread must not cross. Counters, such as watts by component, are tracks of their
// rank, or of the host if they have none.
#pragma once

#include <string>

#include "cortado/ir/program.hpp"
#include "cortado/timeline/timeline.hpp"

namespace cortado::report {

/// The tracks of the timeline are matched with the program's queues by name, for the text of each command.
std::string perfetto_trace(const Timeline& timeline, const Program& program);

/// Timelines of one program in one trace: first all ranks of the one, then all ranks of the other. Processes are named
/// "measured rank 0", "simulated rank 0", ...
std::string side_by_side_trace(const Timeline& first, const Timeline& second, const Program& program);

}  // namespace cortado::report
