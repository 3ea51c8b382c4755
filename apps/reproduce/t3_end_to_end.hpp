// T3 end to end: what the gains of sub-layers mean for a whole transformer layer.
//
// The paper scaled the all-reduced sub-layers of a measured breakdown by their simulated speed-ups and left the rest as
// it was; here the speed-ups are ours. Of the breakdown the shares of attention, which was not fused, and of
// all-reduces are published; GEMMs have the rest, in proportion to their operations. With fused attention nothing
// was measured: the whole layer is then ours, the other GEMMs at the rate of FC-2's, attention and norms by the
// kernel model (gemm/kernels.hpp).
#pragma once

#include <string_view>

#include "cortado/machine.hpp"
#include "cortado/study.hpp"

namespace cortado::pipeline {

/// One model with its degree of tensor parallelism; reports of its four sub-layers.
struct T3Layer {
  const OverlapReport* op = nullptr;
  const OverlapReport* fc2 = nullptr;
  const OverlapReport* fc1 = nullptr;
  const OverlapReport* ip = nullptr;
  const Machine* machine = nullptr;
};

/// Of a layer, sequential over `way`; training: forward and backward, else forward only (prompts).
double t3_end_to_end(const T3Layer& layer, std::string_view way, bool training, bool fused);

}  // namespace cortado::pipeline
