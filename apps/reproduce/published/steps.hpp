// Measured steps of whole models (published/steps/*.toml): which model, layout and phase, and which quantity the
// figure of the same name gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::published {

struct ModelStep {
  std::string name;  ///< of the figure
  std::string model;
  std::string machine;
  std::string phase;  ///< train, prefill, generate; serve: `requests` at once, at most `batch` of them in a step
  /// seconds, tokens_per_s, tokens_per_s_per_gpu, requests_per_s, tflops_per_gpu, tflops_6n_per_gpu (six operations a
  /// parameter, embeddings too, and attention without its mask), gain, relative
  std::string metric;
  std::string system;  ///< that ran it
  std::string
      over;  ///< gain: the system that it is compared with; relative: the step of whose tokens_per_s it is a multiple
  std::string dtype;
  std::string kv_dtype;
  std::string recompute;
  std::string schedule;
  std::uint32_t tp = 1;
  std::uint32_t ep = 1;
  std::uint32_t fsdp = 1;
  std::uint32_t dp = 1;
  std::uint32_t pp = 1;
  std::uint32_t stages = 2;
  std::uint32_t micro_batches = 1;
  bool sp = false;
  std::uint64_t batch = 1;
  std::uint64_t tokens = 0;
  std::uint64_t output = 0;
  std::uint64_t requests = 0;                 ///< serve
  std::optional<std::uint64_t> max_tokens{};  ///< serve: of a step, if not the engine's default
  std::optional<std::uint64_t> layers{};      ///< of a proxy that has fewer than the model
  /// Up to this size, the serving engine of that time had its own all-reduce kernels, if not as the machine says.
  std::optional<std::uint64_t> all_reduce_bytes{};
  std::optional<double> cap_w{};         ///< of the boards, if not the machine's
  std::optional<double> memory_gb{};     ///< of a GPU, if not the machine's
  std::optional<double> memory_share{};  ///< rate of its memory over the machine's, if it has another memory
};

Result<std::vector<ModelStep>> load_steps(const std::string& name);

/// Refuses files with mistakes (published.syntax, published.value).
Result<std::vector<ModelStep>> parse_steps(const std::string& text, const std::string& file);

}  // namespace cortado::published
