// Messages between two ranks, in pieces through the mailbox of the pair. Several can be in progress at a time, so that
// ranks that send to each other do not wait for each other's space.
#pragma once

#include <cstdint>
#include <functional>
#include <list>

#include "cortado/communicator.hpp"
#include "cortado/result.hpp"

#include "runtime/team.hpp"

namespace cortado::runtime {

class Letters {
 public:
  explicit Letters(Team& team) : team_(team) {}

  using Finish = std::function<void(Status)>;
  /// A send or recv with matching arguments; messages of a pair arrive in the order in which they were added.
  void add(const Operation& operation, Finish finish);
  bool empty() const { return under_way_.empty(); }

  /// Returns when a message is done, or when `more()` says that there are others to be added. On an error, all messages
  /// finish with it.
  Status advance(const std::function<bool()>& more);

 private:
  struct Message {
    Operation operation;
    Finish finish;
    std::uint64_t moved = 0;
    bool done = false;
    Status status{};
  };

  bool move(Message& message);
  bool move_all();
  bool finish_done();

  Team& team_;
  std::list<Message> under_way_;
};

}  // namespace cortado::runtime
