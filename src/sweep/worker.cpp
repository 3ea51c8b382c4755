#include "sweep/worker.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "machine/write.hpp"
#include "sweep/machine_fields.hpp"

namespace cortado::sweep {
namespace {

/// What a worker remembers at most; a machine with the times of its collectives takes about a megabyte, an answer ten
/// kilobytes.
constexpr std::size_t kMostMachines = 32;
constexpr std::size_t kMostAnswers = 2048;

constexpr std::string_view kMachine = "machine";
constexpr const char* kMachineByDefault = "mi300x-8";

bool is_of_machine(const Parameter& parameter) {
  return parameter.name == kMachine || is_machine_field(parameter.name);
}

void append_to_key(std::string& key, const Parameter& parameter) {
  key += '\n';
  key += parameter.name;
  key += '=';
  key += parameter.text;
}

}  // namespace

Result<Machine> machine_of(const std::vector<Parameter>& parameters) {
  std::string name = kMachineByDefault;
  std::vector<Parameter> fields;
  for (const Parameter& parameter : parameters) {
    if (parameter.name == kMachine) name = parameter.text;
    if (is_machine_field(parameter.name)) fields.push_back(parameter);
  }
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
  return with_fields(machine, fields);
}

Batch Worker::work(const std::vector<Task>& tasks, const std::function<bool()>& stopped) {
  const auto begin = std::chrono::steady_clock::now();
  Batch batch;
  for (const Task& task : tasks) {
    if (stopped()) break;
    batch.points.push_back({task.point, answer(task.parameters, batch)});
  }
  batch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return batch;
}

Result<Worker::OnMachine*> Worker::on_machine(const std::vector<Parameter>& parameters, Batch& batch) {
  std::string key;
  for (const Parameter& parameter : parameters) {
    if (is_of_machine(parameter)) append_to_key(key, parameter);
  }
  auto& known = machines_[key];
  if (!known) {
    auto machine = machine_of(parameters);
    if (!machine) {
      machines_.erase(key);
      return fail(std::move(machine).error());
    }
    known = std::make_unique<OnMachine>();
    known->machine = *std::move(machine);
    const std::string content = machine_text(known->machine);
    known->hash = hash_of(content);
    known->asker = question_.asker(known->machine);
    if (!std::exchange(named_[known->hash], true))
      batch.machines.push_back({known->hash, known->machine.name, content});
    oldest_machines_.push_back(key);
    if (oldest_machines_.size() > kMostMachines) {
      machines_.erase(oldest_machines_.front());
      oldest_machines_.pop_front();
    }
  }
  return machines_[key].get();
}

std::shared_ptr<const Answer> Worker::answer(const std::vector<Parameter>& parameters, Batch& batch) {
  const auto on = on_machine(parameters, batch);
  if (!on) return std::make_shared<const Answer>(Answer{.tables = {}, .failure = on.error()});
  std::string key = (*on)->hash;
  for (const Parameter& parameter : parameters) {
    if (!is_of_machine(parameter)) append_to_key(key, parameter);
  }
  std::shared_ptr<const Answer>& known = answers_[key];
  if (known) return known;
  std::vector<Parameter> asked;
  std::ranges::remove_copy_if(parameters, std::back_inserter(asked), is_of_machine);
  const auto document = (*on)->asker->ask(asked);
  Answer answer;
  if (document) {
    answer = excerpts_.of(*document);
  } else {
    answer.failure = document.error().errors.front();
  }
  answer.machine_hash = (*on)->hash;
  known = std::make_shared<const Answer>(std::move(answer));
  if (answers_.size() < kMostAnswers) return known;
  std::shared_ptr<const Answer> last = known;
  answers_.clear();
  return last;
}

}  // namespace cortado::sweep
