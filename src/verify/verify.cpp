#include <algorithm>
#include <iterator>

#include "cortado/target.hpp"

#include "base/text.hpp"
#include "verify/rule.hpp"

namespace cortado {
namespace {

using verifier::Findings;
using verifier::Rule;
using verifier::Subject;

bool contains(const std::vector<std::string>& codes, std::string_view code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::vector<Diagnostic> unknown_skips(const std::vector<std::string>& skips) {
  std::vector<std::string> known;
  for (const Rule& rule : verifier::rules()) known.emplace_back(rule.code);
  std::vector<Diagnostic> errors;
  for (const std::string& code : skips) {
    if (contains(known, code)) continue;
    errors.push_back({"verify.skip", "there is no rule '" + code + "' to skip",
                      did_you_mean(code, known, "the rules are " + join(known))});
  }
  return errors;
}

/// Runs the rules in order. A skipped rule that others need is still run, silently, because the others could fail on
/// what it would have rejected. Rules that cannot run for that reason also count as skipped.
class RuleRun {
 public:
  RuleRun(const Program& program, const Machine& machine, const VerifyOptions& options)
      : subject_(program, machine), options_(options) {}

  void all() {
    for (const Rule& rule : verifier::rules()) {
      if (!can_run(rule)) {
        unfit_.push_back(rule.code);
        if (errors_.empty()) skipped_.emplace_back(rule.code);
      } else if (contains(options_.skip_rules, rule.code)) {
        skipped_.emplace_back(rule.code);
        if (is_needed(rule) && !holds(rule, 1)) unfit_.push_back(rule.code);
      } else {
        Findings findings(rule.code, std::max<std::size_t>(options_.max_errors_per_rule, 1), rule.about);
        rule.check(subject_, findings);
        if (!findings.empty()) unfit_.push_back(rule.code);
        std::ranges::move(std::move(findings).take(), std::back_inserter(errors_));
      }
    }
  }

  std::vector<Diagnostic>& errors() { return errors_; }
  std::vector<std::string>& skipped() { return skipped_; }

 private:
  bool can_run(const Rule& rule) const {
    return std::ranges::none_of(rule.needs,
                                [&](std::string_view need) { return std::ranges::find(unfit_, need) != unfit_.end(); });
  }

  bool is_needed(const Rule& rule) const {
    return std::ranges::any_of(verifier::rules(), [&](const Rule& other) {
      return std::ranges::find(other.needs, rule.code) != other.needs.end() &&
             !contains(options_.skip_rules, other.code);
    });
  }

  bool holds(const Rule& rule, std::size_t limit) {
    Findings findings(rule.code, limit);
    rule.check(subject_, findings);
    return findings.empty();
  }

  Subject subject_;
  const VerifyOptions& options_;
  std::vector<std::string_view> unfit_;  // rules that failed or could not run
  std::vector<Diagnostic> errors_;
  std::vector<std::string> skipped_;
};

}  // namespace

std::vector<RuleInfo> verify_rules() {
  std::vector<RuleInfo> infos;
  for (const Rule& rule : verifier::rules()) infos.push_back({rule.code, rule.summary});
  return infos;
}

Expected<VerifiedProgram, std::vector<Diagnostic>> verify(Program program, const Machine& machine) {
  auto checked = check_program(std::move(program), machine, {});
  if (!checked) return fail(std::move(checked).error());
  return VerifiedProgram(*std::move(checked));
}

Expected<CheckedProgram, std::vector<Diagnostic>> check_program(Program program, const Machine& machine,
                                                                const VerifyOptions& options) {
  if (auto errors = unknown_skips(options.skip_rules); !errors.empty()) return fail(std::move(errors));
  auto shared = std::make_shared<const Program>(std::move(program));
  RuleRun run(*shared, machine, options);
  run.all();
  if (!run.errors().empty()) return fail(std::move(run.errors()));
  return CheckedProgram(std::move(shared), std::make_shared<const Machine>(machine), std::move(run.skipped()));
}

CheckedProgram unproved(Program program, const Machine& machine) {
  std::vector<std::string> skipped;
  for (const Rule& rule : verifier::rules()) skipped.emplace_back(rule.code);
  return CheckedProgram(std::make_shared<const Program>(std::move(program)), std::make_shared<const Machine>(machine),
                        std::move(skipped));
}

}  // namespace cortado
