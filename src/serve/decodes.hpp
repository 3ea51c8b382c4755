// The sequences that decode, as numbers: how many, with how many tokens, and when they need pages. Nothing is counted
// sequence by sequence, so that many steps can be done at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cortado::serve {

class Decodes {
 public:
  explicit Decodes(std::uint32_t page) : page_(page), growing_(page) {}

  std::uint64_t count() const { return count_; }
  std::uint64_t step() const { return step_; }  ///< steps so far, of whoever decoded
  /// Tokens that attention of the next step sees, of each sequence on average; 0 of none.
  double context() const { return count_ == 0 ? 0 : static_cast<double>(tokens_) / static_cast<double>(count_) + 1; }

  /// That the next steps take. A sequence takes a page when it has filled all that it has: in step s if its tokens are
  /// a multiple of the page then.
  std::uint64_t pages_for(std::uint64_t steps) const {
    std::uint64_t pages = steps / page_ * count_;
    for (std::uint64_t i = 0; i < steps % page_; ++i) pages += growing_[(page_ - (step_ + i) % page_) % page_];
    return pages;
  }

  /// A sequence that has that number of tokens.
  void join(std::uint64_t tokens) {
    ++growing_[phase(tokens, step_)];
    ++count_;
    tokens_ += tokens;
  }
  /// One that joined with that number of tokens, in front of that step.
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
  /// Tokens less steps, which stays what it is while a sequence decodes.
  std::size_t phase(std::uint64_t tokens, std::uint64_t step) const {
    return (tokens + (page_ - step % page_)) % page_;
  }

  std::uint32_t page_;
  std::uint64_t step_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t tokens_ = 0;
  std::vector<std::uint64_t> growing_;  // sequences by phase
};

}  // namespace cortado::serve
