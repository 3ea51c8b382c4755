// The time of a step of a serving engine, from a table: modelled times on a grid of tokens, sequences and contexts,
// with linear interpolation. The grid of tokens has both sides of the places where GEMMs get another row of tiles.
//
//   step = body(tokens) + head(sequences that get a token) + attention of decodes + attention of prompts
//          + host between steps x sequences
//
// The body is everything that depends only on the number of tokens: embedding, matrices, norms, collectives.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

namespace cortado::serve {

/// A function on a grid with ascending axes. Beyond the grid it is extrapolated linearly.
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
    Grid prompt;               ///< seconds in addition to prompt_start, by tokens and context
    double prompt_start = 0;   ///< once per step that has prompts
    double host = 0;           ///< seconds between steps per sequence
  };
  explicit StepCosts(Tables tables) : tables_(std::move(tables)) {}

  double decode(std::uint64_t sequences, double context) const {
    return tables_.body[sequences] + tables_.head[sequences] +
           tables_.decode.at(static_cast<double>(sequences), context) + tables_.host * static_cast<double>(sequences);
  }
  /// `samples`: sequences that get a token, including decodes.
  double step(std::uint64_t decodes, double context, const std::vector<Chunk>& chunks, std::uint64_t samples) const;

 private:
  Tables tables_;
};

struct StepLimits {
  std::uint32_t max_tokens = 8192;  ///< of a step
  std::uint32_t max_sequences = 256;
};

/// With the system `serial`: collectives as in serving engines, without overlap.
Outcome<StepCosts> make_step_costs(const Model& model, const Layout& layout, const Phase& types,
                                   const StepLimits& limits, const Machine& machine);

}  // namespace cortado::serve
