// Really running a small model on a device: a checkpoint of seeded random numbers, a prompt, and the tokens that
// follow, by tensor-parallel programs with any overlap strategy, each proved before it runs and checked while it does.
//
//   prefill  embedding, every layer, head        of all tokens of the prompts
//   decode   the same for one token per sequence, repeatedly
//
// One program is planned and proved for the embedding and the layer of each of the two, and for the head; all layers
// run the same program with their own weights and caches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/report.hpp"
#include "cortado/target.hpp"

namespace cortado::pipeline {

struct ModelRunRequest {
  Model model;
  std::uint32_t tp = 1;
  std::string strategy = "serial";  ///< of every GEMM with its collective
  std::uint64_t sequences = 16;
  std::uint64_t prompt = 4;  ///< tokens of a sequence
  std::uint64_t output = 8;  ///< tokens that are generated for it
  std::uint64_t seed = 1;    ///< of checkpoint and prompts
  std::optional<std::uint64_t> adversarial_seed{};
  std::chrono::milliseconds timeout{10'000};  ///< of a program, without any progress
};

/// A program of the run.
struct ModelProgram {
  std::string name;   ///< "prefill layer"
  std::string pairs;  ///< how its GEMMs and collectives were planned
  std::uint64_t runs = 0;
  Nanoseconds time{};  ///< measured, all runs
  std::uint64_t commands = 0;
};

struct ModelRun {
  ModelRunRequest request;
  std::string where;
  std::vector<std::vector<std::uint32_t>> tokens;  ///< generated, by sequence
  /// For each of these: how far its logit is above the next best, relative to the largest logit.
  std::vector<std::vector<double>> margins;
  std::vector<float> hidden;  ///< after the last layer of the prefill: rows x hidden
  std::vector<ModelProgram> programs;
  std::vector<std::string> notes;  ///< pairs to which the strategy does not apply
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Diagnostic> first_wrong{};

  std::uint64_t close_tokens() const;  ///< whose margin is below kCloseLogits
};

/// Two logits this close, relative to the largest, may swap with the order of sums: the tolerance of the check.
inline constexpr double kCloseLogits = 1e-4;

/// Refuses models that are not dense and Llama-shaped, or too large (model.run), shapes that the ranks do not divide
/// (layer.shape), no tokens or more than the context has (model.tokens), unknown strategies (overlap.strategy), and the
/// simulator (model.target).
Outcome<ModelRun> run_model(const ModelRunRequest& request, const Machine& machine, Target& target);

report::Document model_run_document(const ModelRun& run);

}  // namespace cortado::pipeline
