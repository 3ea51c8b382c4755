// Where requests come from: a generator or a trace. Both produce one request at a time and keep none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cortado/result.hpp"

#include "serve/request.hpp"

namespace cortado::serve {

/// One replica's share of all requests, which are dealt to replicas in turn: number `index`, and every `of`-th after
/// it. Of conversations, that is the conversation; of a closed loop, the user.
struct Share {
  std::uint32_t index = 0;
  std::uint32_t of = 1;
};

class Source {
 public:
  virtual ~Source() = default;
  /// When the next request arrives, counted from the first of all replicas; none: no more unless one in progress ends.
  virtual Result<std::optional<std::int64_t>> next_ns() = 0;
  /// The request that next_ns announced.
  virtual Request take() = 0;
  /// For a request that was taken: it was answered or rejected. Its user may then ask again.
  virtual void ended(const Request& request, std::int64_t at_ns) = 0;
};

/// Tokens from `least` to `most`, all equally likely.
struct Length {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

struct Generated {
  std::uint64_t requests = 0;
  std::optional<double> rate{};          ///< per second, Poisson; none: all at the beginning
  std::optional<std::uint32_t> users{};  ///< closed loop: this many requests at a time, instead of a rate
  Length input{};                        ///< new tokens of a prompt
  Length output{};
  double hit_rate = 0;       ///< fraction of a prompt that is already in host memory
  std::uint32_t turns = 1;   ///< of a conversation: each prompt includes everything before it
  double think_seconds = 0;  ///< between an answer and the next turn
  std::uint32_t block = 16;  ///< tokens of a block
  bool named = false;        ///< blocks have names even if no other prompt shares them: a tier stores all of them
  std::uint64_t seed = 1;
};

/// Rejects what cannot be generated (serve.arrivals).
Status check(const Generated& generated);
std::unique_ptr<Source> generate(const Generated& generated, const Share& share);

/// Tokens per block of a trace (Mooncake).
inline constexpr std::uint32_t kTraceBlock = 512;

/// A file with one JSON object per line: timestamp (ms), input_length, output_length, hash_ids (one for every 512
/// tokens of the prompt; may be omitted). Prompts have names of blocks of `block` tokens, which divide 512. Invalid
/// lines are reported when they are reached, with their number (serve.trace).
Result<std::unique_ptr<Source>> open_trace(const std::string& path, const Share& share, std::uint32_t block);

}  // namespace cortado::serve
