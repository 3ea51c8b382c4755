#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "serve/source.hpp"

namespace cortado::serve {
namespace {

/// Blocks that a conversation may have: their names never collide with those of another.
constexpr std::uint64_t kBlocksOfSession = std::uint64_t{1} << 24;

double unit_interval(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

std::uint32_t draw(const Length& length, Random& random) {
  return length.least + static_cast<std::uint32_t>(random.below(std::uint64_t{length.most} - length.least + 1));
}

/// Conversations of one or more turns. Each is started by a Poisson process, or by a user who has none; the next turn
/// comes after the answer.
///
/// There is one process for all replicas. Each of them makes all of it, and keeps every `of`-th conversation: the
/// lengths of first turns are part of the process. When later turns come, and when users ask, depends on the replica's
/// answers; their lengths are drawn by the replica itself, after the process if there is only one replica.
class Generator : public Source {
 public:
  Generator(const Generated& what, const Share& share)
      : what_(what), share_(share), process_(what.seed), own_(what.seed ^ ((std::uint64_t{share.index} + 1) << 32)) {
    if (what.users) {
      // Requests are dealt to users, and users to replicas, both in turn.
      left_ = what.requests / *what.users * dealt(*what.users) + dealt(what.requests % *what.users);
      for (std::uint64_t user = 0; user < dealt(*what.users); ++user) begin(0);
    } else {
      left_ = dealt(what.requests);
      advance();
      clock_ = 0;  // the first request of all arrives at time 0
      begin_own();
    }
  }

  Result<std::optional<std::int64_t>> next_ns() override {
    if (left_ == 0 || due_.empty()) return std::optional<std::int64_t>{};
    return std::optional<std::int64_t>{due_.top().at_ns};
  }

  Request take() override {
    const Due due = due_.top();
    due_.pop();
    --left_;
    const bool of_process = due.turn == 0 && !what_.users;
    if (of_process) advance();
    Random& random = of_process || share_.of == 1 ? process_ : own_;
    Request request{.arrival_ns = due.at_ns, .session = due.session, .turn = due.turn};
    const std::uint32_t fresh = draw(what_.input, random);
    request.input = due.context + fresh;
    request.output = draw(what_.output, random);
    if (of_process) begin_own();
    // Without a tier that stores every prompt, one that no other can share needs no names: nothing would ever be found
    // by them.
    if (what_.turns > 1 || what_.hit_rate > 0 || what_.named) {
      request.blocks = {.first = (due.session * share_.of + share_.index) * kBlocksOfSession,
                        .count = request.input / what_.block};
      if (due.turn == 0) {
        request.stored = static_cast<std::uint32_t>(what_.hit_rate * request.input / what_.block + 1e-9);
      }
    }
    return request;
  }

  void ended(const Request& request, std::int64_t at_ns) override {
    if (request.turn + 1 < what_.turns) {
      const auto think = static_cast<std::int64_t>(std::llround(what_.think_seconds * 1e9));
      due_.push({at_ns + think, request.session, request.turn + 1, request.input + request.output});
    } else if (what_.users) {
      begin(at_ns);
    }
  }

 private:
  struct Due {
    std::int64_t at_ns;
    std::uint64_t session;
    std::uint32_t turn;
    std::uint32_t context;  ///< tokens of all previous turns

    friend bool operator<(const Due& a, const Due& b) {  // the earliest on top
      return std::tie(a.at_ns, a.session) > std::tie(b.at_ns, b.session);
    }
  };

  /// How many of `all` this replica has if they are dealt in turn.
  std::uint64_t dealt(std::uint64_t all) const { return all / share_.of + (share_.index < all % share_.of ? 1 : 0); }

  void begin(std::int64_t at_ns) { due_.push({at_ns, sessions_++, 0, 0}); }

  /// To the time at which the next conversation of the process begins.
  void advance() {
    if (!what_.rate) return;
    const double mean = what_.turns / *what_.rate;
    clock_ += -std::log1p(-unit_interval(process_)) * mean;
  }

  /// The next conversation of the process, if it is this replica's; otherwise the first one after it that is.
  void begin_own() {
    while (begun_++ % share_.of != share_.index) {
      advance();
      draw(what_.input, process_);
      draw(what_.output, process_);
    }
    begin(static_cast<std::int64_t>(std::llround(clock_ * 1e9)));
  }

  Generated what_;
  Share share_;
  Random process_;
  Random own_;
  std::uint64_t left_ = 0;
  std::uint64_t sessions_ = 0;  // of this replica
  std::uint64_t begun_ = 0;     // of the process
  double clock_ = 0;            // seconds, of the process
  std::priority_queue<Due> due_;
};

Unexpected<Diagnostic> bad_arrivals(std::string_view message, std::string_view hint) {
  return fail("serve.arrivals", message, hint);
}

}  // namespace

Status check(const Generated& generated) {
  if (generated.requests == 0) return bad_arrivals("0 requests", "use --requests 1 or more");
  if (generated.rate && !(*generated.rate > 0 && std::isfinite(*generated.rate))) {
    return bad_arrivals(fmt::format("{} requests per second", *generated.rate), "use --rate above 0, or inf");
  }
  if (generated.users == 0U) return bad_arrivals("a closed loop of 0 users", "use --closed-loop 1 or more");
  for (const auto& [name, length] : {std::pair("--input", generated.input), {"--output", generated.output}}) {
    if (length.least == 0) return bad_arrivals(fmt::format("{} of 0 tokens", name), "use 1 or more");
    if (length.most < length.least) {
      return bad_arrivals(fmt::format("{} {}:{} ends before it begins", name, length.least, length.most),
                          "put the smaller number first");
    }
  }
  if (!(generated.hit_rate >= 0 && generated.hit_rate <= 1)) {
    return bad_arrivals(fmt::format("a hit rate of {}", generated.hit_rate), "use --hit-rate 0 to 1");
  }
  if (generated.turns == 0) return bad_arrivals("conversations of 0 turns", "use --turns 1 or more");
  if (!(generated.think_seconds >= 0 && generated.think_seconds < 1e6)) {
    return bad_arrivals(fmt::format("{} seconds between turns", generated.think_seconds), "use --think 0 or more");
  }
  const double longest =
      (static_cast<double>(generated.input.most) + generated.output.most) * static_cast<double>(generated.turns);
  if (longest > std::numeric_limits<std::int32_t>::max()) {
    return bad_arrivals(fmt::format("a conversation of {:.3g} tokens", longest), "use shorter or fewer turns");
  }
  // Nanoseconds are counted in 64 bits; requests of a Poisson process may need many times their mean.
  constexpr double kLongestSpan = 1e8;  // seconds
  const auto requests = static_cast<double>(generated.requests);
  if (const double span = generated.rate ? requests / *generated.rate : 0; span > kLongestSpan) {
    return bad_arrivals(fmt::format("{} requests take {:.3g} seconds to arrive, more than {:.0g}", generated.requests,
                                    span, kLongestSpan),
                        "use a higher --rate or fewer --requests");
  }
  if (const double span = generated.turns > 1 ? requests * generated.think_seconds : 0; span > kLongestSpan) {
    return bad_arrivals(fmt::format("{} turns wait {:.3g} seconds for their users, more than {:.0g}",
                                    generated.requests, span, kLongestSpan),
                        "use a shorter --think or fewer --requests");
  }
  return {};
}

std::unique_ptr<Source> generate(const Generated& generated, const Share& share) {
  return std::make_unique<Generator>(generated, share);
}

}  // namespace cortado::serve
