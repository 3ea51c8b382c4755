#include "serve/step_costs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
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

/// The same, and the first sizes beyond powers of two: protocols of collectives change there.
std::set<std::uint64_t> message_points_to(std::uint64_t end) {
  std::set<std::uint64_t> points;
  for (const double point : points_to(end)) points.insert(static_cast<std::uint64_t>(point));
  for (std::uint64_t point = 4; point < end; point *= 2) points.insert(point + 1);
  points.insert(end);
  return points;
}

/// Between two of these, most GEMMs of so many rows have the same number of tiles: both sides of multiples of 16, then
/// of 64 and 128. Beyond 8192 rows, one more row of tiles no longer matters much.
std::set<std::uint64_t> tile_points_to(std::uint64_t end) {
  std::set<std::uint64_t> points{end};
  for (std::uint64_t point = 1; point < std::min<std::uint64_t>(end, 16); ++point) points.insert(point);
  for (std::uint64_t point = 16; point < end;) {
    points.insert(point);
    points.insert(point + 1);
    point += point < 128 ? 16 : point < 2048 ? 64 : std::max<std::uint64_t>(128, point / 64 / 128 * 128);
  }
  return points;
}

/// Values at all points, and at more of them wherever the line between two misses the value in the middle by more than
/// 1 % of that of `whole` there.
Outcome<std::map<std::uint64_t, double>> refined(const std::set<std::uint64_t>& points,
                                                 const std::function<Outcome<double>(std::uint64_t)>& value,
                                                 const std::function<double(std::uint64_t)>& whole) {
  constexpr double kTolerance = 0.01;
  std::map<std::uint64_t, double> values;
  for (const std::uint64_t point : points) {
    const auto at = value(point);
    if (!at) return fail(at.error());
    values[point] = *at;
  }
  for (auto from = values.begin(); std::next(from) != values.end();) {
    const auto to = std::next(from);
    const std::uint64_t middle = from->first + (to->first - from->first) / 2;
    if (middle == from->first) {
      ++from;
      continue;
    }
    const auto at = value(middle);
    if (!at) return fail(at.error());
    const double way = static_cast<double>(middle - from->first) / static_cast<double>(to->first - from->first);
    const double line = from->second + way * (to->second - from->second);
    values[middle] = *at;
    if (std::abs(*at - line) <= kTolerance * (*at + whole(middle))) from = to;
  }
  return values;
}

/// Adds the values, with lines between them.
void add_lines(const std::map<std::uint64_t, double>& values, std::vector<double>& table) {
  auto to = values.begin();
  auto from = to;
  for (std::size_t i = 1; i < table.size(); ++i) {
    for (; to->first < i && std::next(to) != values.end(); ++to) from = to;
    const double way =
        to == from ? 0 : static_cast<double>(i - from->first) / static_cast<double>(to->first - from->first);
    table[i] += from->second + way * (to->second - from->second);
  }
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

  /// What depends on the number of tokens, or of sequences, only: collectives, and everything else.
  Outcome<StepParts> collectives(std::uint64_t tokens) { return parts_of(decode(tokens, 1), {.collectives = true}); }
  StepParts kernels(std::uint64_t tokens) { return *parts_of(decode(tokens, 1), {.kernels = true}); }

  double decode_attention(std::uint64_t sequences, std::uint64_t context) {
    return parts_of(decode(sequences, context), {.attention = true})->attention;
  }

  /// Attention, and what latent attention does with its whole context, for a part of one prompt.
  Outcome<double> prompt(std::uint64_t tokens, std::uint64_t context) {
    Phase phase = types_;
    phase.kind = PhaseKind::prefill;
    phase.tokens = tokens;
    phase.context = context;
    if (!model_.attention.latent) return parts_of(phase, {.attention = true})->attention;
    constexpr Wanted kAll{.attention = true, .kernels = true, .collectives = true};
    const auto parts = parts_of(phase, kAll);
    if (!parts) return fail(parts.error());
    const auto plain = parts_of(decode(tokens, 1), kAll);
    if (!plain) return fail(plain.error());
    return std::max(parts->attention, parts->attention + parts->body - plain->body);
  }

 private:
  struct Wanted {
    bool attention = false;
    bool kernels = false;  ///< except attention
    bool collectives = false;
  };

  Phase decode(std::uint64_t sequences, std::uint64_t context) const {
    Phase phase = types_;
    phase.kind = PhaseKind::decode;
    phase.batch = sequences;
    phase.context = context;
    return phase;
  }

  /// Fails only if collectives are wanted.
  Outcome<StepParts> parts_of(const Phase& phase, const Wanted& wanted) {
    const Step step = step_of(model_, layout_, phase);
    StepParts parts;
    for (const Block& block : step.blocks) {
      const bool head = &block == &step.blocks.back();
      for (const Operator& op : block.operators) {
        const CollectiveWork* work = op.collective();
        const bool attention = std::holds_alternative<AttentionShape>(op.work);
        if (!(work != nullptr ? wanted.collectives : attention ? wanted.attention : wanted.kernels)) continue;
        double seconds = 0;
        if (work != nullptr) {
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

/// By number of tokens, or of sequences: the sum of what kernels and collectives take.
Outcome<std::vector<double>> dense_part(Parts& parts, double StepParts::*part, std::uint64_t end) {
  std::vector<double> table(end + 1);
  const auto kernels = refined(
      tile_points_to(end), [&](std::uint64_t point) -> Outcome<double> { return parts.kernels(point).*part; },
      [](std::uint64_t) { return 0.0; });
  if (!kernels) return fail(kernels.error());
  add_lines(*kernels, table);
  const auto collectives = refined(
      message_points_to(end),
      [&](std::uint64_t point) {
        return parts.collectives(point).map([part](const StepParts& found) { return found.*part; });
      },
      [&](std::uint64_t point) { return table[point]; });
  if (!collectives) return fail(collectives.error());
  add_lines(*collectives, table);
  return table;
}

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
  auto body = dense_part(parts, &StepParts::body, most_tokens);
  if (!body) return fail(body.error());
  tables.body = *std::move(body);
  auto head = dense_part(parts, &StepParts::head, limits.max_sequences);
  if (!head) return fail(head.error());
  tables.head = *std::move(head);
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
