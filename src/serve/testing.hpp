// Costs and requests for which tests can calculate the results.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "serve/replica.hpp"

namespace cortado::serve {

/// Seconds of a step: 1 ms, plus 10 us per token, nothing else.
inline StepCosts plain_costs(std::uint64_t max_tokens = 8192) {
  StepCosts::Tables tables;
  for (std::uint64_t i = 0; i <= max_tokens; ++i) tables.body.push_back(1e-3 + 1e-5 * static_cast<double>(i));
  tables.head.assign(max_tokens + 1, 0);
  tables.decode = Grid({1}, {1}, {0});
  tables.prompt = Grid({1}, {1}, {0});
  return StepCosts(std::move(tables));
}

/// Requests of a list.
class ListSource : public Source {
 public:
  explicit ListSource(std::deque<Request> requests) : requests_(std::move(requests)) {}

  Result<std::optional<std::int64_t>> next_ns() override {
    return requests_.empty() ? std::nullopt : std::optional(requests_.front().arrival_ns);
  }
  Request take() override {
    Request request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }
  void ended(const Request&, std::int64_t) override { ++ended_; }
  std::uint64_t ended_count() const { return ended_; }

 private:
  std::deque<Request> requests_;
  std::uint64_t ended_ = 0;
};

inline Request request_of(std::uint32_t input, std::uint32_t output, std::int64_t arrival_ns = 0) {
  Request request;
  request.arrival_ns = arrival_ns;
  request.input = input;
  request.output = output;
  return request;
}

}  // namespace cortado::serve
