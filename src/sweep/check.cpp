#include "sweep/check.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/kept.hpp"
#include "sweep/machine_fields.hpp"
#include "sweep/store.hpp"
#include "sweep/worker.hpp"

namespace cortado::sweep {
namespace {

/// Of one axis; the others are found out at their points.
constexpr std::size_t kCheckedValues = 10'000;
constexpr double kSampleSeconds = 2;

class SpecCheck {
 public:
  SpecCheck(const Spec& spec, const Question& question)
      : spec_(spec), question_(question), known_(question.parameters()) {
    for (const Parameter& fixed : spec.fixed) {
      for (const std::string& name : names_in_braces(fixed.text)) used_.push_back(name);
    }
    for (const Axis* axis : spec.axes()) {
      for (const Value& value : axis->values) {
        if (value.index() != 2) continue;
        for (const std::string& name : names_in_braces(std::get<std::string>(value))) used_.push_back(name);
      }
    }
  }

  Status names() const {
    for (const Parameter& fixed : spec_.fixed) {
      if (!is_machine_field(fixed.name) && std::ranges::count(known_, fixed.name) == 0) {
        return unknown(fixed.name, 0, "fixed." + fixed.name, known_);
      }
    }
    const std::vector<const Axis*> axes = spec_.axes();
    for (const Axis* axis : axes) {
      if (is_machine_field(axis->name) || std::ranges::count(known_, axis->name) > 0 ||
          std::ranges::count(used_, axis->name) > 0 || std::ranges::count(spec_.labels, axis->name) > 0) {
        continue;
      }
      return unknown(axis->name, axis->line, axis->name, known_);
    }
    std::vector<std::string> names;
    for (const Axis* axis : axes) names.push_back(axis->name);
    for (const std::string& label : spec_.labels) {
      if (std::ranges::count(names, label) > 0) continue;
      return fail({"sweep.name", fmt::format("the label \"{}\" is not an axis of the spec", label),
                   suggestion(label, names, "axes: "), in_file(spec_.file, 0, "labels")});
    }
    for (const std::string& name : used_) {
      if (std::ranges::count(names, name) == 0) {
        return fail({"sweep.name", fmt::format("{{{}}} is not an axis of the spec", name),
                     suggestion(name, names, "axes: "), in_file(spec_.file)});
      }
    }
    return {};
  }

  Status values() {
    std::vector<std::string> first;
    for (const Value& value : spec_.values_at(0)) first.push_back(text_of(value));
    CORTADO_RETURN_IF_ERROR(point(first, nullptr));
    std::size_t at = 0;
    for (const AxisGroup& group : spec_.groups) {
      for (std::size_t i = 1; i < std::min(group.size(), kCheckedValues); ++i) {
        std::vector<std::string> values = first;
        for (std::size_t j = 0; j < group.axes.size(); ++j) values[at + j] = text_of(group.axes[j].values[i]);
        CORTADO_RETURN_IF_ERROR(point(values, &group.axes.front()));
      }
      at += group.axes.size();
    }
    return {};
  }

 private:
  Unexpected<Diagnostic> unknown(const std::string& name, std::uint32_t line, const std::string& key,
                                 const std::vector<std::string>& known) const {
    return fail({"sweep.name",
                 fmt::format("{} is not a flag of cortado {} that a sweep can set, a field of a machine or a label, "
                             "and is not used in braces",
                             name, question_.name()),
                 suggestion(name, known), in_file(spec_.file, line, key)});
  }

  Status point(const std::vector<std::string>& values, const Axis* axis) {
    const std::vector<Parameter> all = parameters_at(spec_, values, known_);
    std::string key;
    std::vector<Parameter> asked;
    for (const Parameter& parameter : all) {
      if (parameter.name == "machine" || is_machine_field(parameter.name)) {
        key += parameter.name + '=' + parameter.text + '\n';
      } else {
        asked.push_back(parameter);
      }
    }
    if (!machine_ || key != machine_key_) {
      auto made = sweep::machine_of(all);
      if (!made) return refuse(made.error(), axis);
      machine_ = *std::move(made);
      machine_key_ = key;
    }
    const Status checked = question_.check(asked, *machine_);
    return checked ? Status{} : refuse(checked.error(), axis);
  }

  Unexpected<Diagnostic> refuse(Diagnostic error, const Axis* axis) const {
    if (error.place.file.empty()) {
      const std::string key = !error.place.key.empty() ? error.place.key : axis != nullptr ? axis->name : "";
      error.place = in_file(spec_.file, axis != nullptr ? axis->line : 0, key);
    }
    return fail(std::move(error));
  }

  const Spec& spec_;
  const Question& question_;
  std::vector<std::string> known_;
  std::vector<std::string> used_;  // in braces
  std::optional<Machine> machine_;
  std::string machine_key_;
};

}  // namespace

Result<std::uint64_t> check_spec(const Spec& spec, const Question& question, std::uint64_t most) {
  SpecCheck check(spec, question);
  CORTADO_RETURN_IF_ERROR(check.names());
  CORTADO_RETURN_IF_ERROR(check_kept(spec, question));
  if (spec.size() > most) {
    return fail({"sweep.points", fmt::format("the axes have {} combinations, more than {}", spec.size(), most),
                 fmt::format("remove values, or allow them with --max-points {}", spec.size()), in_file(spec.file)});
  }
  CORTADO_RETURN_IF_ERROR(PointFilter::of(spec));
  CORTADO_RETURN_IF_ERROR(check.values());
  std::uint64_t points = 0;
  CORTADO_RETURN_IF_ERROR(for_each_point(spec, [&](const std::vector<Value>&) -> Status {
    ++points;
    return {};
  }));
  if (points == 0) {
    return fail({"sweep.filter", fmt::format("no point of {} passes the filters", spec.size()),
                 "the filters contradict each other or the axes", in_file(spec.file, 0, "filters")});
  }
  return points;
}

Result<Sample> sample_points(const Spec& spec, const Question& question, std::uint64_t points, std::uint64_t most) {
  const std::uint64_t wanted = std::min(points, most);
  const std::vector<std::string> known = question.parameters();
  std::vector<Task> tasks;
  std::uint64_t at = 0;
  CORTADO_RETURN_IF_ERROR(for_each_point(spec, [&](const std::vector<Value>& values) -> Status {
    // The k-th of `wanted` points is at k * points / wanted.
    if (tasks.size() < wanted && at++ == tasks.size() * points / wanted) {
      std::vector<std::string> texts;
      for (const Value& value : values) texts.push_back(text_of(value));
      tasks.push_back({static_cast<std::int64_t>(at), parameters_at(spec, texts, known)});
    }
    return {};
  }));
  Worker worker(question, spec.tables, spec.columns);
  Sample sample;
  for (const Task& task : tasks) {
    const Batch batch = worker.work({task}, [] { return false; });
    ++sample.points;
    sample.seconds += batch.seconds;
    for (const AnswerTable& table : batch.points.front().answer->tables) {
      // A number takes up to nine bytes, a text its length; what stands beside them is small.
      for (const report::Cell::Value& cell : table.cells) {
        const auto* const text = std::get_if<std::string>(&cell);
        sample.bytes += text != nullptr ? static_cast<double>(text->size()) + 1 : 9;
      }
    }
    if (const auto& failure = batch.points.front().answer->failure) {
      if (sample.failed++ == 0) {
        sample.first_failure = fmt::format("the first, point {}: {}: {}", task.point, failure->code, failure->message);
      }
    }
    if (sample.seconds > kSampleSeconds) break;
  }
  sample.seconds /= static_cast<double>(std::max<std::uint64_t>(sample.points, 1));
  sample.bytes /= static_cast<double>(std::max<std::uint64_t>(sample.points, 1));
  return sample;
}

}  // namespace cortado::sweep
