#include "schedule_tree_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/pipeline/dependent.hpp"

namespace cortado::cli {
namespace {

std::string schedule_of(const ScheduleTreeNode& leaf) {
  return name_of(guessed_schedules()[leaf.choice]);
}

std::string merits(const ScheduleTreeNode& leaf) {
  return fmt::format("fastest for {:.1f} % of {} training shapes, mean loss {:.1f} %", 100 * leaf.share, leaf.shapes,
                     100 * leaf.loss);
}

/// What `auto` takes, and how it came to it.
std::string choice_text(const ScheduleChoice& choice) {
  std::string text = fmt::format("auto: {}, by {}, {:.1f} us predicted", pipeline::full_name(choice.schedule),
                                 pipeline::name_of(choice.by), microseconds(choice.time));
  if (choice.by == ChosenBy::heuristic) return text + "; everything else is several times as slow by rough times\n";
  const SearchWork& work = choice.work;
  text += fmt::format("; of {} candidates {} were estimated and {} simulated", work.candidates, work.estimated,
                      work.simulated);
  if (choice.runner_up) {
    text += fmt::format(", next {}: {:.1f} us", pipeline::full_name(choice.runner_up->schedule),
                        microseconds(choice.runner_up->time));
  }
  return text + "\n";
}

Json choice_json(const ScheduleChoice& choice) {
  Json json{{"schedule", pipeline::full_name(choice.schedule)},
            {"by", pipeline::name_of(choice.by)},
            {"time_us", microseconds(choice.time)},
            {"candidates", choice.work.candidates},
            {"estimated", choice.work.estimated},
            {"simulated", choice.work.simulated},
            {"next", nullptr}};
  if (choice.runner_up) {
    json["next"] = {{"schedule", pipeline::full_name(choice.runner_up->schedule)},
                    {"time_us", microseconds(choice.runner_up->time)}};
  }
  return json;
}

class Text {
 public:
  explicit Text(const std::optional<ExplainedSchedule>& product) : product_(product) {
    if (product) path_ = schedule_path(product->features);
  }

  std::string all() {
    text_ =
        "How to cut a product and its collective, from shapes alone. A / B: rough times of schedules "
        "(docs/models.md).\n\n";
    add(0, 0);
    if (!product_) return std::move(text_);
    const ScheduleTreeNode& leaf = schedule_tree()[path_.back()];
    return fmt::format("{}\nguess: {}, {}\n{}", text_, schedule_of(leaf), merits(leaf), choice_text(product_->choice));
  }

 private:
  void add(std::uint32_t index, std::size_t depth) {
    const ScheduleTreeNode& node = schedule_tree()[index];
    const bool taken = std::find(path_.begin(), path_.end(), index) != path_.end();
    if (node.leaf) {
      line(taken, depth, fmt::format("{}: {}", schedule_of(node), merits(node)));
      return;
    }
    std::string test = fmt::format("if {} < {:g}", name_of(node.feature), node.threshold);
    if (taken) test += fmt::format("   (is {:.4g})", product_->features[static_cast<std::size_t>(node.feature)]);
    line(taken, depth, test);
    add(node.below, depth + 1);
    line(false, depth, "else");
    add(node.above, depth + 1);
  }

  void line(bool taken, std::size_t depth, const std::string& what) {
    text_ += fmt::format("{} {:{}}{}\n", taken ? '*' : ' ', "", 2 * depth, what);
  }

  const std::optional<ExplainedSchedule>& product_;
  std::vector<std::uint32_t> path_;
  std::string text_;
};

}  // namespace

std::string schedule_tree_text(const std::optional<ExplainedSchedule>& product) {
  return Text(product).all();
}

Json schedule_tree_json(const std::optional<ExplainedSchedule>& product) {
  Json nodes = Json::array();
  for (const ScheduleTreeNode& node : schedule_tree()) {
    if (node.leaf) {
      nodes.push_back({{"schedule", schedule_of(node)},
                       {"training_shapes", node.shapes},
                       {"share_fastest", node.share},
                       {"mean_loss", node.loss}});
    } else {
      nodes.push_back({{"feature", name_of(node.feature)},
                       {"threshold", node.threshold},
                       {"below", node.below},
                       {"above", node.above}});
    }
  }
  Json json{{"schema", "cortado.schedule_tree"}, {"version", 1}, {"nodes", std::move(nodes)}};
  if (!product) return json;
  const std::vector<std::uint32_t> path = schedule_path(product->features);
  for (std::size_t i = 0; i < kScheduleFeatures; ++i) {
    json["features"][std::string(name_of(static_cast<ScheduleFeature>(i)))] = product->features[i];
  }
  json["path"] = path;
  json["guess"] = schedule_of(schedule_tree()[path.back()]);
  json["auto"] = choice_json(product->choice);
  return json;
}

}  // namespace cortado::cli
