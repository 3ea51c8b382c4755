#include "plan/ficco/exchange.hpp"

namespace cortado::plan {

Exchange::Exchange(const DependentRequest& request)
    : gathers_(request.collective == "all-gather"),
      reduces_(request.collective == "reduce-scatter"),
      held_(request.ranks, 0),
      received_(request.ranks, 0),
      given_(std::size_t{request.ranks} * request.ranks),
      placed_(std::size_t{request.ranks} * request.ranks) {
  const Span all{0, request.gemm.m};
  for (std::uint32_t from = 0; from < request.ranks; ++from) {
    const std::uint64_t share = part_of(all, request.ranks, from).count;
    for (std::uint32_t to = 0; to < request.ranks; ++to) {
      Span& given = given_[place(from, to)];
      if (gathers_) {
        given = {0, share};
      } else if (reduces_) {
        given = part_of(all, request.ranks, to);
      } else if (request.tokens.empty()) {
        given = part_of({0, share}, request.ranks, to);
      } else {
        given = {held_[from], request.tokens[from][to]};
      }
      std::uint64_t& placed = placed_[place(from, to)];
      placed = reduces_ ? 0 : received_[to];
      received_[to] = placed + given.count;
      held_[from] = given.end();
    }
  }
}

}  // namespace cortado::plan
