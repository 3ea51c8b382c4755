// cortado verify: proves a program, or says why it is wrong.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/verify/verify.hpp"

#include "json.hpp"
#include "program_input.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

/// The verifier checks so many iterations together (verify/verify.hpp).
constexpr int kCheckedIterations = 2;

std::size_t command_count(const Program& program) {
  std::size_t total = 0;
  for (const Queue& queue : program.queues) total += queue.commands.size();
  return total;
}

class VerifyCommand : public Subcommand {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view description() const override { return "Prove a program correct, or say what is wrong with it"; }
  std::vector<Example> examples() const override {
    return {
        {"cortado verify ag.json", "all rules, for the machine the program was planned for"},
        {"cortado plan all-to-all --variant b2b --bytes 1MiB | cortado verify - --json", "from a pipe, for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("file", file_, "Program file, or - for standard input")->required()->type_name("");
    app.add_option("--machine", machine_, "Check for this machine instead of the program's own")->type_name("NAME");
    app.add_option("--skip-rule", options_.skip_rules, "Leave out a rule (cortado list rules); may be repeated")
        ->type_name("CODE")
        ->expected(1)
        ->take_all();
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_rule_codes(options_.skip_rules));
    console.stage("reading");
    CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(file_, machine_));
    console.stage("proving");
    const auto verified = verify(input.program, input.machine, options_);
    if (json_) console.out(to_text(json(input, verified ? std::vector<Diagnostic>{} : verified.error())));
    if (!verified) {
      for (const Diagnostic& error : verified.error()) console.error(error);
      return Exit::failed;
    }
    if (!json_) console.out(text(input));
    return Exit::ok;
  }

 private:
  std::vector<RuleInfo> rules(bool skipped) const {
    std::vector<RuleInfo> all = verify_rules();
    std::erase_if(all, [&](const RuleInfo& rule) {
      const bool left_out =
          std::find(options_.skip_rules.begin(), options_.skip_rules.end(), rule.code) != options_.skip_rules.end();
      return left_out != skipped;
    });
    return all;
  }

  std::string text(const ProgramInput& input) const {
    const std::vector<RuleInfo> left_out = rules(true);
    std::string text =
        fmt::format("{} {} on {}\n", input.program.name,
                    left_out.empty() ? "is proved correct" : "passes the rules that were checked", input.machine.name);
    text +=
        fmt::format("  {} ranks, {} queues, {} commands; {} iterations in a row checked together\n",
                    input.program.ranks, input.program.queues.size(), command_count(input.program), kCheckedIterations);
    TextTable table({"rule", "proved"});
    for (const RuleInfo& rule : rules(false)) table.add_row({std::string(rule.code), std::string(rule.summary)});
    for (const RuleInfo& rule : left_out) table.add_row({std::string(rule.code), "NOT CHECKED (--skip-rule)"});
    return text + table.to_string("  ");
  }

  Json json(const ProgramInput& input, const std::vector<Diagnostic>& errors) const {
    Json proved = Json::array();
    if (errors.empty()) {
      for (const RuleInfo& rule : rules(false)) proved.push_back(rule.code);
    }
    return {{"verified", errors.empty()},
            {"program", input.program.name},
            {"machine", input.machine.name},
            {"ranks", input.program.ranks},
            {"queues", input.program.queues.size()},
            {"commands", command_count(input.program)},
            {"iterations", kCheckedIterations},
            {"proved_rules", std::move(proved)},
            {"skipped_rules", options_.skip_rules},
            {"errors", to_json_value(errors)}};
  }

  std::string file_;
  std::optional<std::string> machine_;
  VerifyOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_verify() {
  return std::make_unique<VerifyCommand>();
}

}  // namespace cortado::cli
