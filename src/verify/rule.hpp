// What a rule of the verifier sees and how it reports.
//
// A rule is one function in one file. It gets a Subject, adds an error to Findings for every mistake, and returns. The
// ordered list of all rules is in rules.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"

namespace cortado::verifier {

class Unrolled;
class HappensBefore;
struct Execution;

/// The program under test, with facts that several rules share, each computed on first use. The facts need known ids
/// and a sound structure (verify.ids, verify.structure); happens_before() needs an execution that finishes.
class Subject {
 public:
  Subject(const Program& program, const Machine& machine);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  ~Subject();

  const Program& program() const { return program_; }
  const Machine& machine() const { return machine_; }
  const Unrolled& unrolled();
  const Execution& execution();
  const HappensBefore& happens_before();

 private:
  const Program& program_;
  const Machine& machine_;
  std::unique_ptr<Unrolled> unrolled_;
  std::unique_ptr<Execution> execution_;
  std::unique_ptr<HappensBefore> happens_before_;
};

/// The errors of one rule, up to a limit.
class Findings {
 public:
  Findings(std::string_view code, std::size_t limit, About about = About::request)
      : code_(code), limit_(limit), about_(about) {}

  /// No more errors will be kept, so a rule may stop.
  bool full() const { return errors_.size() >= limit_; }
  bool empty() const { return errors_.empty(); }
  void add(Place place, std::string message, std::string hint = {});
  std::vector<Diagnostic> take() && { return std::move(errors_); }

 private:
  std::string_view code_;
  std::size_t limit_;
  About about_;
  std::vector<Diagnostic> errors_;
};

struct Rule {
  std::string_view code;
  std::string_view summary;
  /// Rules that must hold before this one can safely examine the program.
  std::vector<std::string_view> needs;
  void (*check)(Subject&, Findings&);
  About about = About::request;  ///< what its errors are about
};

/// All rules in the order in which they run; a rule comes after those it needs.
std::span<const Rule> rules();

}  // namespace cortado::verifier
