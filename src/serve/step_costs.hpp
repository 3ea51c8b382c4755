// What a step of a serving engine takes, from a table: model costs on a grid of tokens, sequences and contexts, with
// lines between the points.
//
//   step = body(tokens) + head(sequences that get a token) + attention of decodes + attention of prompts
//          + host between steps x sequences
//
// The body is everything that only knows how many tokens there are: embedding, matrices, norms, collectives.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::serve {

/// A function on a grid; both axes ascend. Beyond the grid the last lines go on.
class Grid {
 public:
  Grid() = default;
  Grid(std::vector<double> rows, std::vector<double> columns, std::vector<double> values)
      : rows_(std::move(rows)), columns_(std::move(columns)), values_(std::move(values)) {}
  double at(double row, double column) const;

 private:
  std::vector<double> rows_;
  std::vector<double> columns_;
  std::vector<double> values_;  ///< row by row
};

/// Part of a prompt in a step.
struct Chunk {
  std::uint32_t tokens = 0;
  std::uint32_t context = 0;  ///< tokens before it
};

class StepCosts {
 public:
  struct Tables {
    std::vector<double> body;  ///< seconds by tokens, from 0
    std::vector<double> head;  ///< seconds by sequences, from 0
    Grid decode;               ///< seconds by sequences and mean context
    Grid prompt;               ///< seconds beyond prompt_start by tokens and context
    double prompt_start = 0;   ///< once in a step that has prompts
    double host = 0;           ///< seconds between steps for each sequence
  };
  explicit StepCosts(Tables tables) : tables_(std::move(tables)) {}

  double decode(std::uint64_t sequences, double context) const {
    return tables_.body[sequences] + tables_.head[sequences] +
           tables_.decode.at(static_cast<double>(sequences), context) + tables_.host * static_cast<double>(sequences);
  }
  /// `samples`: sequences that get a token, decodes among them.
  double step(std::uint64_t decodes, double context, const std::vector<Chunk>& chunks, std::uint64_t samples) const;

 private:
  Tables tables_;
};

struct StepLimits {
  std::uint32_t max_tokens = 8192;  ///< of a step
  std::uint32_t max_sequences = 256;
};

/// By the system `serial`: collectives of serving engines, nothing at the same time.
Outcome<StepCosts> make_step_costs(const Model& model, const Layout& layout, const Phase& types,
                                   const StepLimits& limits, const Machine& machine);

}  // namespace cortado::serve
