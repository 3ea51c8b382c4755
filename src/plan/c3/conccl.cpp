// conccl: the collective on DMA engines, all compute units for the GEMM.
//
// The flat algorithm of ConCCL: every GPU writes its block to all others in one step, each copy on an engine of its
// own, put into the queues by the host when it is time (nothing is prelaunched). The GEMM is launched first: that
// costs the collective one launch; the other way round the GEMM would wait for the submissions to all peers.
//
// Wins from tens of MiB up, most with GEMMs bound by their compute units: 66 % of the ideal gain on average in the
// published measurements. Loses with small collectives, whose time is the host's and the engines' start-up (about four
// times a library's below 32 MB). Engines cannot add: a kernel on some CUs sums up what they bring.
#include "plan/c3/way.hpp"

namespace cortado::plan {
namespace {

Result<OverlapWay> decide_conccl(const Question& question) {
  CORTADO_ASSIGN_OR_RETURN(std::vector<CollectiveRequest> flat, on_engines(question, "pcpy", false));
  return beside_engines(std::move(flat), 0, "pcpy on DMA engines, all CUs for the GEMM");
}

}  // namespace

WayStrategy conccl_strategy() {
  return {.name = "conccl",
          .family = "ConCCL",
          .summary = "the collective on DMA engines, all CUs for the GEMM",
          .wins = "large collectives, especially next to compute-bound GEMMs",
          .loses = "small collectives: host and engines are slow to start",
          .decide = decide_conccl};
}

}  // namespace cortado::plan
