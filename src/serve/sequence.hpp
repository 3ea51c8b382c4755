// A request in a replica, and its state.
#pragma once

#include <cstdint>

#include "serve/request.hpp"

namespace cortado::serve {

struct Sequence {
  Request request{};
  std::uint32_t target = 0;     ///< tokens to compute before the next one can be sampled
  std::uint32_t computed = 0;   ///< of these, computed or found
  std::uint32_t generated = 0;  ///< tokens of the answer
  std::uint32_t kept = 0;       ///< leading blocks that are in the prefix cache and used by this sequence
  std::uint64_t pages = 0;      ///< of its own, in addition to these; pages taken by decoding are added when it ends
  std::uint32_t fetching = 0;   ///< blocks being fetched from host memory
  bool looked_up = false;       ///< whether its prefix was looked up
  bool early = false;           ///< started with the first layer of what is fetched
  bool counted = false;         ///< its prompt, and what was found of it, were counted
  std::uint32_t in_hbm = 0;     ///< blocks found
  std::uint32_t in_host = 0;
  std::uint64_t joined = 0;    ///< decode step before its first one
  std::int64_t first_ns = -1;  ///< time of the first token
  std::uint32_t life = 0;      ///< counts the successive users of the slot
};

/// A sequence at a certain time; its slot may have been reused since.
struct Ticket {
  std::uint32_t slot = 0;
  std::uint32_t life = 0;
};

/// The step after which it has all tokens.
struct Ending {
  std::uint64_t step = 0;
  Ticket ticket{};
  friend bool operator<(const Ending& a, const Ending& b) {  // the earliest on top
    return a.step != b.step ? a.step > b.step : a.ticket.slot > b.ticket.slot;
  }
};

}  // namespace cortado::serve
