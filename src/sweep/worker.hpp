// Does points: makes the machine of a point, asks, and keeps what the sweep keeps.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"

#include "sweep/answer.hpp"
#include "sweep/question.hpp"

namespace cortado::sweep {

/// The machine that parameters speak of: "machine" and its fields.
Result<Machine> machine_of(const std::vector<Parameter>& parameters);

/// Used by one thread. Machines, what their askers have computed, and answers are remembered: a question that was asked
/// before is not asked again.
class Worker {
 public:
  /// The question outlives it.
  Worker(const Question& question, std::vector<std::string> tables, std::vector<std::string> columns)
      : question_(question), excerpts_(std::move(tables), std::move(columns)) {}

  /// All of the tasks, or those before `stopped` was true.
  Batch work(const std::vector<Task>& tasks, const std::function<bool()>& stopped);

 private:
  struct OnMachine {
    Machine machine;
    std::string hash;
    std::unique_ptr<Asker> asker;
  };

  std::shared_ptr<const Answer> answer(const std::vector<Parameter>& parameters, Batch& batch);
  Result<OnMachine*> on_machine(const std::vector<Parameter>& parameters, Batch& batch);

  const Question& question_;
  Excerpts excerpts_;
  std::map<std::string, std::unique_ptr<OnMachine>> machines_;  // by name and fields
  std::deque<std::string> oldest_machines_;
  std::map<std::string, bool> named_;                                       // hashes of machines that a batch had
  std::unordered_map<std::string, std::shared_ptr<const Answer>> answers_;  // by hash of the machine and parameters
};

}  // namespace cortado::sweep
