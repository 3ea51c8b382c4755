// The sequences that decode, in aggregate: how many, with how many tokens, and when they need pages. Nothing is counted
// per sequence, so that many steps can be simulated at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cortado::serve {

class Decodes {
 public:
  explicit Decodes(std::uint32_t page) : page_(page), growing_(page) {}

  std::uint64_t count() const { return count_; }
  std::uint64_t step() const { return step_; }  ///< steps so far, whoever decoded
  /// Tokens that attention sees in the next step, per sequence on average; 0 if there are none.
  double context() const { return count_ == 0 ? 0 : static_cast<double>(tokens_) / static_cast<double>(count_) + 1; }

  /// Pages that the next steps take. A sequence takes a page when it has filled all that it has: in step s if its
  /// number of tokens is then a multiple of the page.
  std::uint64_t pages_for(std::uint64_t steps) const {
    std::uint64_t pages = steps / page_ * count_;
    for (std::uint64_t i = 0; i < steps % page_; ++i) pages += growing_[(page_ - (step_ + i) % page_) % page_];
    return pages;
  }

  /// Adds a sequence with this number of tokens.
  void join(std::uint64_t tokens) {
    ++growing_[phase(tokens, step_)];
    ++count_;
    tokens_ += tokens;
  }
  /// Removes a sequence that joined with this number of tokens before that step.
  void leave(std::uint64_t tokens, std::uint64_t joined) {
    --growing_[phase(tokens, joined)];
    --count_;
    tokens_ -= tokens + (step_ - joined);
  }
  void advance(std::uint64_t steps) {
    tokens_ += steps * count_;
    step_ += steps;
  }

 private:
  /// Tokens minus steps, modulo the page: constant while a sequence decodes.
  std::size_t phase(std::uint64_t tokens, std::uint64_t step) const {
    return (tokens + (page_ - step % page_)) % page_;
  }

  std::uint32_t page_;
  std::uint64_t step_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t tokens_ = 0;
  std::vector<std::uint64_t> growing_;  // number of sequences, by phase
};

}  // namespace cortado::serve
