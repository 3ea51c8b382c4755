// The maps of the usual collectives. Rank r stands before rank r+1 in every ring, the last one before rank 0.
#pragma once

#include <cstdint>
#include <vector>

#include "cortado/plan/t3.hpp"

namespace cortado::plan {

std::vector<T3Map> ring_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> direct_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> engines_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> ring_all_gather(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> direct_all_gather(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> direct_all_to_all(std::uint32_t ranks, std::uint64_t split_k);
std::vector<T3Map> engines_all_to_all(std::uint32_t ranks, std::uint64_t split_k);

}  // namespace cortado::plan
