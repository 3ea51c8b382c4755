// What threads of the node run: a queue that makes progress in short steps.
#pragma once

#include "base/random.hpp"

namespace cortado::device::soft {

enum class Next {
  idle,        ///< nothing to do until the scheduler is notified
  again,       ///< more to do immediately
  look_again,  ///< waits for memory or time to change; nobody will notify
};

struct StepResult {
  Next next = Next::idle;
  bool progressed = false;
  bool heavy = false;  ///< took microseconds: more threads would help
};

/// Steps of one runnable never run concurrently.
class Runnable {
 public:
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;
  virtual ~Runnable() = default;

  /// Does what can be done, for a short while (well below a millisecond).
  virtual StepResult step() = 0;

  /// Does one small thing, or nothing, of what is currently allowed, as the random generator decides.
  virtual StepResult random_step(Random& random) = 0;
};

}  // namespace cortado::device::soft
