#include "serve/step_costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "pipeline/model/costs.hpp"
#include "workload/operators.hpp"

namespace cortado::serve {
namespace {

/// The last point not above the value, and the fraction of the way to the next one.
std::pair<std::size_t, double> place(const std::vector<double>& points, double value) {
  if (points.size() == 1) return {0, 0};
  const auto above = std::ranges::upper_bound(points, value);
  const auto last = static_cast<std::ptrdiff_t>(points.size()) - 2;
  const std::ptrdiff_t index = std::clamp(above - points.begin() - 1, std::ptrdiff_t{0}, last);
  const auto i = static_cast<std::size_t>(index);
  return {i, (value - points[i]) / (points[i + 1] - points[i])};
}

/// 1, 2, 3, 4, 6, 8, 12, ... and the end.
std::vector<double> points_to(std::uint64_t end) {
  std::vector<double> points;
  for (std::uint64_t point = 1; point < end; point *= 2) {
    points.push_back(static_cast<double>(point));
    const std::uint64_t between = point + point / 2;
    if (point > 1 && between < end) points.push_back(static_cast<double>(between));
  }
  points.push_back(static_cast<double>(end));
  return points;
}

std::vector<double> dense(const std::vector<double>& points, const std::vector<double>& values) {
  std::vector<double> table(static_cast<std::size_t>(points.back()) + 1);
  for (std::size_t i = 1; i < table.size(); ++i) {
    const auto [at, share] = place(points, static_cast<double>(i));
    table[i] = points.size() == 1 ? values[0] : values[at] + share * (values[at + 1] - values[at]);
  }
  return table;
}

struct StepParts {
  double body = 0;
  double attention = 0;
  double head = 0;
};

/// Seconds of one step.
class Parts {
 public:
  Parts(const Model& model, const Layout& layout, const Phase& types, const Machine& machine)
      : model_(model), layout_(layout), types_(types), costs_(machine) {}

  Outcome<StepParts> decode(std::uint64_t sequences, std::uint64_t context) {
    Phase phase = types_;
    phase.kind = PhaseKind::decode;
    phase.batch = sequences;
    phase.context = context;
    return parts_of(phase, true);
  }

  double decode_attention(std::uint64_t sequences, std::uint64_t context) {
    Phase phase = types_;
    phase.kind = PhaseKind::decode;
    phase.batch = sequences;
    phase.context = context;
    return parts_of(phase, false)->attention;
  }

  /// Attention, and what latent attention does with its whole context, for a part of one prompt.
  Outcome<double> prompt(std::uint64_t tokens, std::uint64_t context) {
    Phase phase = types_;
    phase.kind = PhaseKind::prefill;
    phase.tokens = tokens;
    phase.context = context;
    const bool latent = model_.attention.latent.has_value();
    const auto parts = parts_of(phase, latent);
    if (!parts || !latent) return parts.map([](const StepParts& p) { return p.attention; });
    const auto plain = decode(tokens, 1);
    if (!plain) return fail(plain.error());
    return std::max(parts->attention, parts->attention + parts->body - plain->body);
  }

 private:
  /// Without `all`, only attention.
  Outcome<StepParts> parts_of(const Phase& phase, bool all) {
    const Step step = step_of(model_, layout_, phase);
    StepParts parts;
    for (const Block& block : step.blocks) {
      const bool head = &block == &step.blocks.back();
      for (const Operator& op : block.operators) {
        const bool attention = std::holds_alternative<AttentionShape>(op.work);
        if (!attention && !all) continue;
        double seconds = 0;
        if (const CollectiveWork* work = op.collective()) {
          const auto way = costs_.serial(*work, pipeline::ranks_of(work->group, layout_, costs_.machine()), true);
          if (!way) return fail(way.error());
          seconds = way->exposed;
        } else {
          seconds = costs_.kernel(op).seconds;
        }
        (attention ? parts.attention : head ? parts.head : parts.body) += seconds * block.times;
      }
    }
    return parts;
  }

  const Model& model_;
  const Layout& layout_;
  Phase types_;
  pipeline::ModelCosts costs_;
};

}  // namespace

double Grid::at(double row, double column) const {
  const auto [r, down] = place(rows_, row);
  const auto [c, right] = place(columns_, column);
  const std::size_t width = columns_.size();
  const auto along = [&](std::size_t i) {
    const double* const line = values_.data() + i * width;
    return width == 1 ? line[0] : line[c] + right * (line[c + 1] - line[c]);
  };
  if (rows_.size() == 1) return along(0);
  const double first = along(r);
  return first + down * (along(r + 1) - first);
}

double StepCosts::step(std::uint64_t decodes, double context, const std::vector<Chunk>& chunks,
                       std::uint64_t samples) const {
  std::uint64_t tokens = decodes;
  double attention = decodes > 0 ? tables_.decode.at(static_cast<double>(decodes), context) : 0;
  if (!chunks.empty()) attention += tables_.prompt_start;
  for (const Chunk& chunk : chunks) {
    tokens += chunk.tokens;
    attention += std::max(0.0, tables_.prompt.at(chunk.tokens, chunk.context));
  }
  const auto sequences = static_cast<double>(decodes + chunks.size());
  return tables_.body[tokens] + tables_.head[samples] + attention + tables_.host * sequences;
}

Outcome<StepCosts> make_step_costs(const Model& model, const Layout& layout, const Phase& types,
                                   const StepLimits& limits, const Machine& machine) {
  Parts parts(model, layout, types, machine);
  StepCosts::Tables tables;
  if (machine.timing->serving) tables.host = to_seconds(machine.timing->serving->sequence);
  const std::uint64_t most_tokens = std::max(limits.max_tokens, limits.max_sequences);
  const std::vector<double> tokens = points_to(most_tokens);
  const std::vector<double> sequences = points_to(limits.max_sequences);
  std::vector<double> body;
  for (const double point : tokens) {
    const auto step = parts.decode(static_cast<std::uint64_t>(point), 1);
    if (!step) return fail(step.error());
    body.push_back(step->body);
  }
  tables.body = dense(tokens, body);
  std::vector<double> head;
  for (const double point : sequences) {
    const auto step = parts.decode(static_cast<std::uint64_t>(point), 1);
    if (!step) return fail(step.error());
    head.push_back(step->head);
  }
  tables.head = dense(sequences, head);
  std::vector<double> contexts = points_to(model.context);
  std::vector<double> values;
  for (const double batch : sequences) {
    for (const double context : contexts) {
      values.push_back(parts.decode_attention(static_cast<std::uint64_t>(batch), static_cast<std::uint64_t>(context)));
    }
  }
  tables.decode = Grid(sequences, contexts, std::move(values));
  const auto start = parts.prompt(1, 0);
  if (!start) return fail(start.error());
  tables.prompt_start = *start;
  contexts.insert(contexts.begin(), 0);
  values.clear();
  for (const double chunk : tokens) {
    for (const double context : contexts) {
      const auto seconds = parts.prompt(static_cast<std::uint64_t>(chunk), static_cast<std::uint64_t>(context));
      if (!seconds) return fail(seconds.error());
      values.push_back(*seconds - *start);
    }
  }
  tables.prompt = Grid(tokens, contexts, std::move(values));
  return StepCosts(std::move(tables));
}

}  // namespace cortado::serve
