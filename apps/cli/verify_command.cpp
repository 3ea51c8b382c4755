// cortado verify: proves a program, or says why it is wrong.
#include <algorithm>
#include <optional>

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
    const Checked verified = check_program(input.program, input.machine, options_);
    if (json_) console.out(to_text(json(input, verified)));
    if (!verified) {
      for (const Diagnostic& error : verified.error()) console.error(error);
      return Exit::failed;
    }
    if (!json_) console.out(text(*verified));
    return Exit::ok;
  }

 private:
  using Checked = tl::expected<CheckedProgram, std::vector<Diagnostic>>;

  static bool contains(const std::vector<std::string>& codes, std::string_view code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  }

  std::string text(const CheckedProgram& verified) const {
    const Program& program = verified.program();
    const std::vector<std::string>& skipped = verified.skipped_rules();
    std::string text = fmt::format("{} {} on {}\n", program.name,
                                   skipped.empty() ? "is proved correct" : "passes the rules that were checked",
                                   verified.machine().name);
    text += fmt::format("  {} ranks, {} queues, {} commands; {} iterations in a row checked together\n", program.ranks,
                        program.queues.size(), command_count(program), kCheckedIterations);
    if (const auto coverage = output_coverage(verified)) {
      text += fmt::format(
          "  the contract covers {} of {} output bytes{}\n", coverage->covered.value, coverage->whole.value,
          coverage->covered == coverage->whole ? "" : "; it says nothing of the others, which are in inout buffers");
    }
    TextTable table({"rule", "proved"});
    for (const RuleInfo& rule : verify_rules()) {
      if (!contains(skipped, rule.code)) table.add_row({std::string(rule.code), std::string(rule.summary)});
    }
    for (const std::string& code : skipped) {
      const bool asked = contains(options_.skip_rules, code);
      table.add_row({code, asked ? "NOT CHECKED (--skip-rule)" : "NOT CHECKED (needs a rule that was skipped)"});
    }
    return text + table.to_string("  ");
  }

  Json json(const ProgramInput& input, const Checked& verified) const {
    Json proved = Json::array();
    std::optional<OutputCoverage> coverage;
    if (verified) {
      for (const RuleInfo& rule : verify_rules()) {
        if (!contains(verified->skipped_rules(), rule.code)) proved.push_back(rule.code);
      }
      coverage = output_coverage(*verified);
    }
    Json json = document("cortado.verify");
    json.update({{"verified", verified.has_value()},
                 {"program", input.program.name},
                 {"machine", input.machine.name},
                 {"ranks", input.program.ranks},
                 {"queues", input.program.queues.size()},
                 {"commands", command_count(input.program)},
                 {"iterations", kCheckedIterations},
                 {"covered_bytes", coverage ? Json(coverage->covered.value) : Json()},
                 {"output_bytes", coverage ? Json(coverage->whole.value) : Json()},
                 {"proved_rules", std::move(proved)},
                 {"skipped_rules", verified ? verified->skipped_rules() : options_.skip_rules},
                 {"errors", to_json_value(verified ? std::vector<Diagnostic>{} : verified.error())}});
    return json;
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
