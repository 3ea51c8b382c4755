// conccl: the collective on DMA engines, all compute units for the product.
//
// The flat algorithm of ConCCL: every GPU writes its block to all others in one step, each copy on an engine of its
// own, put into the queues by the host when it is time (nothing is prelaunched). The product is launched first: that
// costs the collective one launch; the other way round the product would wait for the submissions to all peers.
//
// Wins from tens of MiB up, most with products bound by their compute units: 66 % of the ideal gain on average in the
// published measurements. Loses with small collectives, whose time is the host's and the engines' start-up (about four
// times a library's below 32 MB), and cannot add: no reductions.
#include "plan/c3/policy.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_conccl(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest flat, flat_dma(question));
  return beside_engines(std::move(flat), 0, "pcpy on DMA engines, all compute units for the product");
}

}  // namespace

Policy conccl_policy() {
  return {.info = {.name = "conccl",
                   .summary = "the collective on DMA engines, all compute units for the product",
                   .wins = "large collectives, most beside products bound by their compute units",
                   .loses = "small collectives: host and engines take long to start; cannot reduce"},
          .decide = decide_conccl};
}

}  // namespace cortado::plan
