// Where requests come from: a generator or a trace. Both give one request at a time and keep none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cortado/result.hpp"

#include "serve/request.hpp"

namespace cortado::serve {

/// One replica's share of all requests.
struct Share {
  std::uint32_t index = 0;
  std::uint32_t of = 1;
};

class Source {
 public:
  virtual ~Source() = default;
  /// When the next request comes; none: no more unless one that is under way ends.
  virtual Result<std::optional<std::int64_t>> next_ns() = 0;
  /// The one that next_ns told of.
  virtual Request take() = 0;
  /// Of a request that was taken: answered or refused. Its user may then ask again.
  virtual void ended(const Request& request, std::int64_t at_ns) = 0;
};

/// Tokens from `least` to `most`, all equally likely.
struct Length {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

struct Generated {
  std::uint64_t requests = 0;
  std::optional<double> rate{};          ///< a second, Poisson; none: all at the begin
  std::optional<std::uint32_t> users{};  ///< closed loop: as many requests at a time, instead of a rate
  Length input{};                        ///< new tokens of a prompt
  Length output{};
  double hit_rate = 0;       ///< share of a prompt that is in host memory from before
  std::uint32_t turns = 1;   ///< of a conversation: the prompt of each has all before it
  double think_seconds = 0;  ///< between an answer and the next turn
  std::uint32_t block = 16;  ///< tokens of a block
  std::uint64_t seed = 1;
};

/// Refuses what cannot be generated (serve.arrivals).
Status check(const Generated& generated);
std::unique_ptr<Source> generate(const Generated& generated, const Share& share);

/// Tokens of a block of a trace (Mooncake).
inline constexpr std::uint32_t kTraceBlock = 512;

/// A file with a JSON object a line: timestamp (ms), input_length, output_length, hash_ids (one for every 512 tokens of
/// the prompt; may be left out). Lines that are wrong are refused as they are reached, with their number (serve.trace).
Result<std::unique_ptr<Source>> open_trace(const std::string& path, const Share& share);

}  // namespace cortado::serve
