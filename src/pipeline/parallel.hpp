// The same work on many items by several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/platform.hpp"

namespace cortado::pipeline {

/// Calls work(i) for i = 0 ... count-1 on `threads` threads, and done(finished) under a lock after each; `done`
/// returning false, or an exception, stops the rest: only work in progress is finished. Returns whether all were done.
/// The exception is rethrown here.
template <class Work, class Done>
bool for_each_in_parallel(std::size_t count, [[maybe_unused]] std::size_t threads, const Work& work, const Done& done) {
  std::atomic<std::size_t> next{0};
  std::size_t finished = 0;  // guarded by lock, as is `thrown`
  std::atomic<bool> stopped{false};
  std::exception_ptr thrown;
  std::mutex lock;
  const auto worker = [&] {
    for (std::size_t i = next++; i < count && !stopped; i = next++) {
      try {
        work(i);
        const std::scoped_lock guard(lock);
        if (!stopped) stopped = !done(++finished);
      } catch (...) {
        const std::scoped_lock guard(lock);
        if (!thrown) thrown = std::current_exception();
        stopped = true;
      }
    }
  };
  {
#if CORTADO_HOSTED
    std::vector<std::jthread> pool;
    try {
      for (std::size_t t = 1; t < threads && t < count; ++t) pool.emplace_back(worker);
    } catch (const std::system_error&) {  // no more threads: the existing ones do the work
    }
#endif
    worker();
  }
  if (thrown) std::rethrow_exception(thrown);
  return finished == count && !stopped;
}

}  // namespace cortado::pipeline
