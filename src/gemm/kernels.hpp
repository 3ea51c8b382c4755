// What kernels of a transformer take that are not GEMMs: attention, and those that read and write memory once.
//
//   attention   max(GEMMs + softmax, memory)
//     GEMMs  2 scores (key_dim + value_dim) / (rate of GEMMs in an endless tile at the sustained clock)
//     softmax   scores / (compute units x softmax_per_clock x that clock)
//     memory    bytes / (memory rate x attention_read_share)
//   backward    GEMMs x 2.5, five matrices in place of two, and softmax twice; all over attention_backward
//   unfused     scores go through memory: GEMMs + memory; softmax hides behind the latter
//   stream      bytes / (memory rate x stream_share)
//
// Softmax does not hide behind the GEMMs: with the rate of one head size the model then gives that of others, since
// the softmax of a score takes the same for all.
#pragma once

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado {

/// Attention of one GPU over all its heads and sequences.
struct AttentionShape {
  double scores = 0;  ///< pairs of a query and a key that it may see
  std::uint64_t key_dim = 0;
  std::uint64_t value_dim = 0;
  double bytes = 0;  ///< of queries, keys, values and results; unfused: and of scores
  DType dtype = DType::bf16;
  bool backward = false;
  bool fused = true;
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// Of the forward pass; the backward pass does 2.5 times as many.
double flops(const AttentionShape& shape);

/// Refuses machines without GEMMs or without [kernels] (model.machine).
Status check_kernels(const Machine& machine);

/// Seconds from the first load to the last store. The machine passed check_kernels, as for all that follows.
double attention_seconds(const AttentionShape& shape, const Machine& machine);
double stream_seconds(double bytes, const Machine& machine);

/// Of one GPU while such a kernel runs. The machine describes power.
double attention_watts(const AttentionShape& shape, const Machine& machine);
double stream_watts(double bytes, const Machine& machine);

/// From the end of a kernel to the first load of the next one, in the stream of a framework.
double kernel_gap_seconds(const Machine& machine);

}  // namespace cortado
