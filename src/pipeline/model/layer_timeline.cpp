// A layer as a timeline: its blocks as programs, simulated one after another; or composed of operators if a
// block is not a program of one node.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pipeline/model/block_program.hpp"

namespace cortado::pipeline {
namespace {

bool is_layer(const Block& block) {
  return block.name.starts_with("layer") || block.name.starts_with("backward of a layer");
}

Nanoseconds at(double seconds) {
  return Nanoseconds{std::llround(seconds * 1e9)};
}

/// The blocks that come before have ended at `begin`.
void append_simulated(Timeline& timeline, Timeline block, const std::string& name, Nanoseconds begin) {
  const auto first_track = static_cast<std::uint32_t>(timeline.tracks.size());
  const auto first_span = static_cast<std::uint32_t>(timeline.spans.size());
  for (Track& track : block.tracks) {
    track.name = name + track.name;
    timeline.tracks.push_back(std::move(track));
  }
  for (Span& span : block.spans) {
    span.track += first_track;
    span.start = span.start + begin;
    span.end = span.end + begin;
    timeline.spans.push_back(std::move(span));
  }
  for (const Flow& flow : block.flows) {
    timeline.flows.push_back({flow.from_span + first_span, flow.to_span + first_span});
  }
  timeline.bytes_moved += block.bytes_moved;
}

/// Kernels in one lane and collectives in another, of one GPU.
class ComposedTimeline {
 public:
  explicit ComposedTimeline(Timeline& timeline) : timeline_(timeline) {
    track_ = static_cast<std::uint32_t>(timeline.tracks.size());
    timeline.tracks.push_back({.name = "kernels", .rank = RankId{0}});
    timeline.tracks.push_back({.name = "collectives", .rank = RankId{0}});
  }

  /// Returns the end of the block.
  double add(const CostedBlock& costed, std::string_view system, double begin) {
    const Block& block = *costed.block;
    const BlockTime time = block_time(costed, system);
    double now = begin;
    std::size_t meeting = 0;
    for (std::size_t i = 0; i < block.operators.size(); ++i) {
      const Operator& op = block.operators[i];
      if (op.collective() == nullptr) {
        span(0, fmt::format("{} ({})", op.name, text_of(op)), SpanKind::kernel, now, now + costed.kernels[i].seconds);
        now += costed.kernels[i].seconds;
        continue;
      }
      const Way& way = *time.chosen[meeting];
      const double alone = costed.meetings[meeting].ways.front().exposed;
      const double hidden = std::min(std::max(0.0, alone - way.exposed), now - begin);
      span(1, fmt::format("{} ({}, {})", op.name, text_of(op), way.name), SpanKind::copy, now - hidden,
           now + way.exposed);
      now += way.exposed;
      ++meeting;
    }
    if (block.beside.empty()) return now;
    const double end = begin + time.seconds;
    span(1, fmt::format("{} beside the block", time.beside), SpanKind::copy, begin,
         std::min(end, begin + costed.beside_alone));
    return std::max(now, end);
  }

 private:
  void span(std::uint32_t track, const std::string& name, SpanKind kind, double from, double to) {
    timeline_.spans.push_back({.track = track_ + track, .name = name, .kind = kind, .start = at(from), .end = at(to)});
  }

  Timeline& timeline_;
  std::uint32_t track_ = 0;
};

}  // namespace

Outcome<Timeline> ModelStudy::layer_timeline(const ModelRequest& request, const std::string& system) {
  // For a generation, a decode step: they are the most frequent.
  const auto steps = steps_of(request);
  const ModelRequest& part = steps.size() > 1 ? steps[1].first : request;
  const Step step = step_of(part.model, part.layout, part.phase);
  std::vector<CostedBlock> layers;
  std::vector<BlockProgram> programs;
  std::optional<Failure> no_program;
  for (const Block& block : step.blocks) {
    if (!is_layer(block)) continue;
    auto costed = cost_block(block, part.layout, !part.phase.trains(), *costs_);
    if (!costed) return fail(costed.error());
    layers.push_back(*std::move(costed));
    auto program = plan_block(layers.back(), system, part.layout, *costs_);
    if (program) {
      programs.push_back(*std::move(program));
    } else {
      no_program = program.error();
    }
  }
  if (no_program && no_program->errors.front().code != "model.program") return fail(*no_program);
  Timeline timeline;
  timeline.simulated = true;
  timeline.where = fmt::format("simulated {}, {}", machine_.name, system);
  double now = 0;
  if (no_program) {
    ComposedTimeline composed(timeline);
    for (const CostedBlock& layer : layers) now = composed.add(layer, system, now);
  } else {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto run = simulate_block(programs[i], costs_->roomy(), {.trace = true, .sim = {.energy = false}});
      if (!run) return fail(run.error());
      name_spans(run->timeline, programs[i]);
      const std::string pass = layers[i].block->name.starts_with("backward") ? "backward" : "forward";
      const std::string name = layers.size() > 2 ? fmt::format("{} {}", pass, i + 1) : pass;
      append_simulated(timeline, std::move(run->timeline), layers.size() > 1 ? name + ": " : "", at(now));
      now += to_seconds(run->time);
    }
  }
  timeline.iteration_times = {at(now)};
  return timeline;
}

}  // namespace cortado::pipeline
