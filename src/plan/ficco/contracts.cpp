#include "plan/ficco/contracts.hpp"

#include <utility>

#include <fmt/format.h>

namespace cortado::plan {

Contract collective_first_contract(const DependentRequest& request, const Exchange& exchange,
                                   const std::function<RankMatrices(std::uint32_t)>& of_rank) {
  Contract contract{fmt::format("{} -> product", request.collective), {}};
  for (std::uint32_t to = 0; to < exchange.ranks(); ++to) {
    const std::uint64_t rows = exchange.rows_for(to);
    if (rows == 0) continue;
    Product product{{}, of_rank(to).b.rows({0, request.gemm.k})};
    for (std::uint32_t from = 0; from < exchange.ranks(); ++from) {
      const Span& given = exchange.given(from, to);
      if (!given.empty()) product.a.push_back(of_rank(from).a.rows(given));
    }
    contract.products.push_back({of_rank(to).c.rows({0, rows}), {std::move(product)}, request.gemm.dtype});
  }
  return contract;
}

Contract product_first_contract(const DependentRequest& request, const Exchange& exchange,
                                const std::function<RankMatrices(std::uint32_t)>& of_rank) {
  Contract contract{fmt::format("product -> {}", request.collective), {}};
  for (std::uint32_t to = 0; to < exchange.ranks(); ++to) {
    std::vector<Product> sum;
    for (std::uint32_t from = 0; from < exchange.ranks(); ++from) {
      const Span& given = exchange.given(from, to);
      if (given.empty()) continue;
      sum.push_back({{of_rank(from).a.rows(given)}, of_rank(from).b.rows({0, request.gemm.k})});
      if (exchange.reduces()) continue;
      contract.products.push_back(
          {of_rank(to).c.rows(exchange.placed(from, to)), std::exchange(sum, {}), request.gemm.dtype});
    }
    if (sum.empty()) continue;
    contract.products.push_back({of_rank(to).c.rows({0, exchange.rows_for(to)}), std::move(sum), request.gemm.dtype});
  }
  return contract;
}

}  // namespace cortado::plan
