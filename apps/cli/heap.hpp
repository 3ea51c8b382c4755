// How the process of a command gets its memory.
#pragma once

namespace cortado::cli {

/// To be called before anything else allocates much. A program for hundreds of GPUs, its proof and its simulation fill
/// a hundred megabytes within a fraction of a second. Page by page, the kernel would need a sixth of that time to hand
/// them over: the heap therefore grows in one large step, of huge pages where the system has them, and keeps what is
/// freed.
void prepare_heap();

}  // namespace cortado::cli
