// How the process of a command gets its memory.
#pragma once

#include <utility>
#include <vector>

namespace cortado::cli {

/// To be called before anything else allocates much. A program for hundreds of GPUs, its proof and its simulation fill
/// a hundred megabytes within a fraction of a second. Page by page, the kernel would need a sixth of that time to hand
/// them over: the heap therefore grows in one large step, of huge pages where the system has them, and keeps what is
/// freed.
void prepare_heap();

/// For a large result that is needed until the end: it is never destroyed, since freeing it piece by piece takes longer
/// than ending the process.
template <class T>
T& until_exit(T value) {
  static std::vector<void*>& kept = *new std::vector<void*>;  // so that leak checkers find them
  auto* const object = new T(std::move(value));
  kept.push_back(object);
  return *object;
}

}  // namespace cortado::cli
