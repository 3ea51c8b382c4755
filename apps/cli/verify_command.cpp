// cortado verify: proves a program, or says why it is wrong.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cortado/target.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "ir/visit.hpp"
#include "json.hpp"
#include "program_input.hpp"

namespace cortado::cli {
namespace {

/// The verifier checks this many iterations together (cortado/target.hpp).
constexpr int kCheckedIterations = 2;

std::size_t command_count(const Program& program) {
  std::size_t total = 0;
  for (const Queue& queue : program.queues) total += queue.commands.size();
  return total;
}

constexpr Example kVerifyExamples[] = {
    {"cortado verify ag.json", "all rules, for the machine the program was planned for"},
    {"cortado plan all-to-all --variant b2b --bytes 1MiB | cortado verify - --json", "from a pipe, for a script"}};

using Checked = Expected<CheckedProgram, std::vector<Diagnostic>>;

bool contains(const std::vector<std::string>& codes, std::string_view code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string verify_text(const CheckedProgram& verified, const VerifyOptions& options) {
  const Program& program = verified.program();
  const std::vector<std::string>& skipped = verified.skipped_rules();
  std::string text = fmt::format("{} {} on {}\n", program.name,
                                 skipped.empty() ? "is proved correct" : "passes the rules that were checked",
                                 verified.machine().name);
  text += fmt::format("  {} ranks, {} queues, {} commands; {} consecutive iterations checked together\n", program.ranks,
                      program.queues.size(), command_count(program), kCheckedIterations);
  if (const auto coverage = output_coverage(verified)) {
    text += fmt::format(
        "  the contract covers {} of {} output bytes{}\n", coverage->covered.value, coverage->whole.value,
        coverage->covered == coverage->whole ? "" : "; it says nothing about the others, which are in inout buffers");
  }
  TextTable table({"rule", "proved"});
  for (const RuleInfo& rule : verify_rules()) {
    if (!contains(skipped, rule.code)) table.add_row({std::string(rule.code), std::string(rule.summary)});
  }
  for (const std::string& code : skipped) {
    const bool asked = contains(options.skip_rules, code);
    table.add_row({code, asked ? "NOT CHECKED (--skip-rule)" : "NOT CHECKED (needs a rule that was skipped)"});
  }
  return text + table.to_string("  ");
}

Json verify_json(const ProgramInput& input, const Checked& verified, const VerifyOptions& options) {
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
               {"skipped_rules", verified ? verified->skipped_rules() : options.skip_rules},
               {"errors", to_json_value(verified ? std::vector<Diagnostic>{} : verified.error())}});
  return json;
}

Result<Exit> run_verify(const Arguments& arguments, Console& console) {
  VerifyOptions options;
  options.skip_rules = arguments.all("--skip-rule");
  CORTADO_RETURN_IF_ERROR(check_rule_codes(options.skip_rules));
  console.stage("reading");
  CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(arguments.text("file"), arguments.find("--machine")));
  console.stage("proving");
  const Checked verified = check_program(input.program, input.machine, options);
  const bool json = arguments.given("--json");
  if (json) console.out(to_text(verify_json(input, verified, options)));
  if (!verified) {
    for (const Diagnostic& error : verified.error()) console.error(error);
    return Exit::failed;
  }
  if (!json) console.out(verify_text(*verified, options));
  return Exit::ok;
}

}  // namespace

constinit const Subcommand kVerifyCommand{"verify", "Prove a program correct, or say what is wrong with it",
                                          kVerifyExamples, run_verify};

}  // namespace cortado::cli
