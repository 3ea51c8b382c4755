// What a sweep asks at every point. Commands of cortado are questions: their flags are the parameters, their tables the
// answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "sweep/spec.hpp"

namespace cortado::sweep {

/// Asks about one machine; used by one thread. What it has computed it may remember.
class Asker {
 public:
  Asker() = default;
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  virtual ~Asker() = default;

  virtual Outcome<report::Document> ask(const std::vector<Parameter>& parameters) = 0;
};

class Question {
 public:
  Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;

  virtual std::string_view name() const = 0;
  virtual std::vector<std::string> parameters() const = 0;  ///< names; "machine" is one of every question
  virtual const Ranking& ranking() const = 0;
  virtual report::Document answer() const = 0;  ///< without rows: the facts, tables and columns that answers can have

  /// Whether all of it can be understood; nothing is computed.
  virtual Status check(const std::vector<Parameter>& parameters, const Machine& machine) const = 0;

  /// The machine outlives the asker.
  virtual std::unique_ptr<Asker> asker(const Machine& machine) const = 0;
};

/// That of the spec. Which rows of a table compete the question says, if the spec does not.
inline Ranking ranking_of(const Spec& spec, const Question& question) {
  const Ranking& usual = question.ranking();
  if (!spec.ranking) return usual;
  Ranking ranking = *spec.ranking;
  if (ranking.table != usual.table) return ranking;
  if (ranking.within.empty()) ranking.within = usual.within;
  if (ranking.condition.empty()) ranking.condition = usual.condition;
  return ranking;
}

}  // namespace cortado::sweep
