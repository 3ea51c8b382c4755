// What programs of a GEMM and a dependent collective must compute, however they are cut.
#pragma once

#include <functional>

#include "cortado/program.hpp"

#include "plan/ficco/exchange.hpp"
#include "plan/ficco/matrix.hpp"

namespace cortado::plan {

/// Operands and result of every rank.
struct RankMatrices {
  Matrix a;  ///< the rows that the rank has
  Matrix b;
  Matrix c;
};

/// The GEMM of all rows that a rank receives from others, in the order of the senders.
Contract collective_first_contract(const DependentRequest& request, const Exchange& exchange,
                                   const std::function<RankMatrices(std::uint32_t)>& of_rank);
/// What each rank receives of all GEMMs: their sum, or their rows in the order of the senders.
Contract product_first_contract(const DependentRequest& request, const Exchange& exchange,
                                const std::function<RankMatrices(std::uint32_t)>& of_rank);

}  // namespace cortado::plan
