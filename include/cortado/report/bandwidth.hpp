// Bandwidths as nccl-tests and rccl-tests define them, so that numbers can be laid beside theirs.
//
//   algbw = bytes of the whole buffer / time
//   busbw = algbw x factor, where the factor makes collectives and rank counts comparable with the speed of a link:
//     all-gather, reduce-scatter, all-to-all, gather, scatter   (n-1)/n
//     all-reduce                                                2(n-1)/n
//     broadcast, point-to-point                                 1
//
// Example: all-gather of 1 MiB on 8 ranks in 10 us: algbw = 1048576 B / 10000 ns = 104.9 GB/s, busbw = 7/8 of it
// = 91.8.
#pragma once

#include <string_view>

#include "cortado/base/units.hpp"
#include "cortado/ir/program.hpp"

namespace cortado::report {

/// busbw / algbw of a collective; 1 for names that are none of the above.
double bus_factor(std::string_view collective, std::uint32_t ranks);

/// Decimal GB/s, which is bytes per nanosecond; 0 if no time was measured.
double bandwidth_gbps(Bytes bytes, Nanoseconds time);

/// Decimal GB/s.
struct Bandwidths {
  double algorithm = 0;
  double bus = 0;
};
Bandwidths bandwidths(std::string_view collective, std::uint32_t ranks, Bytes bytes, Nanoseconds time);

/// Size of the whole buffer in the sense of nccl-tests, read off the contract: the most bytes that one rank's caller
/// gives or gets. (All-gather: the gathered output; reduce-scatter: the input; scatter: the root's input.)
Bytes whole_buffer(const Program& program);

}  // namespace cortado::report
