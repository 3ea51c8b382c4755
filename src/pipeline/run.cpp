#include "cortado/pipeline/run.hpp"

#include "cortado/base/file.hpp"
#include "cortado/ir/text.hpp"

namespace cortado::pipeline {
namespace {

constexpr SizeLimit kPrograms{Bytes{1ULL << 30}, "programs"};  // one for 512 ranks has 90 MB

}  // namespace

Outcome<RunReport> run_collective(const CollectiveRequest& request, const Machine& machine, device::Driver& driver,
                                  const RunSettings& settings) {
  auto program = plan_collective(request, machine);
  if (!program) return fail_at(Stage::plan, program.error());
  return run_program(*std::move(program), machine, driver, settings);
}

Outcome<RunReport> run_program(Program program, const Machine& machine, device::Driver& driver,
                               const RunSettings& settings) {
  if (settings.on_stage) settings.on_stage(Stage::verify);
  const auto verified = verify(std::move(program), machine);
  if (!verified) return fail_at(Stage::verify, verified.error());
  return run_verified(*verified, driver, settings);
}

Outcome<RunReport> run_verified(const VerifiedProgram& program, device::Driver& driver, const RunSettings& settings) {
  if (settings.on_stage) settings.on_stage(Stage::prepare);
  auto prepared = device::PreparedProgram::prepare(program, driver, settings.prepare);
  if (!prepared) return fail_at(Stage::prepare, prepared.error());
  if (settings.on_stage) settings.on_stage(Stage::run);
  if (settings.warmup > 0) {
    device::RunOptions warmup = settings.run;
    warmup.iterations = settings.warmup;
    warmup.check = device::CheckOutputs::none;
    if (const auto warmed = prepared->run(warmup); !warmed) return fail_at(Stage::run, warmed.error());
  }
  auto result = prepared->run(settings.run);
  if (!result) return fail_at(Stage::run, result.error());
  return RunReport{figures_of(program.program(), result->timeline), program, *std::move(result)};
}

Result<Program> load_program(const std::string& path) {
  CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(path, kPrograms));
  return parse_program(text, path == "-" ? "standard input" : path);
}

Result<Machine> machine_for(const Program& program, const std::optional<std::string>& name) {
  return load_machine(name.value_or(program.machine));
}

}  // namespace cortado::pipeline
