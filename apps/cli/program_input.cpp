#include "program_input.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"

namespace cortado::cli {

Result<ProgramInput> read_program(const std::string& path, const std::optional<std::string>& machine) {
  CORTADO_ASSIGN_OR_RETURN(Program program, load_program(path));
  CORTADO_ASSIGN_OR_RETURN(Machine loaded, load_machine(machine.value_or(program.machine)));
  return ProgramInput{std::move(program), std::move(loaded)};
}

Status check_rule_codes(const std::vector<std::string>& codes) {
  std::vector<std::string> known;
  for (const RuleInfo& info : verify_rules()) known.emplace_back(info.code);
  for (const std::string& code : codes) {
    if (std::find(known.begin(), known.end(), code) != known.end()) continue;
    const std::string nearest = nearest_name(code, known);
    return fail("usage.rule", fmt::format("'{}' is not a verifier rule", code),
                (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) + "see cortado list rules");
  }
  return {};
}

}  // namespace cortado::cli
