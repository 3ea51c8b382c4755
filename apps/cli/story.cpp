#include "story.hpp"

#include <fmt/format.h>

#include "cortado/verify/verify.hpp"

namespace cortado::cli {

using pipeline::fail_at;
using pipeline::Stage;

pipeline::Outcome<StoryPart> with_proof_and_run(StoryPart story, Result<Program> program, const Machine& machine,
                                                const std::string& what, const pipeline::Outcome<StoryPart>& run) {
  if (!program) return fail_at(Stage::plan, program.error());
  const auto verified = verify(*std::move(program), machine);
  if (!verified) return fail_at(Stage::verify, verified.error());
  std::size_t commands = 0;
  for (const Queue& queue : verified->program().queues) commands += queue.commands.size();
  if (!run) return run;
  story.text += fmt::format("  proved: {} queues, {} commands; {} of {} GPUs is right\n{}\n",
                            verified->program().queues.size(), commands, what, verified->program().ranks, run->text);
  story.wrong = run->wrong;
  return story;
}

pipeline::RunSettings story_settings() {
  pipeline::RunSettings settings;
  settings.run.iterations = 5;
  settings.warmup = 1;
  return settings;
}

pipeline::Outcome<StoryPart> not_run(const pipeline::Failure& failure) {
  if (failure.errors.front().about != About::machine) return tl::unexpected(failure);
  return StoryPart{"  not run here: this device runs no kernels\n", 0};
}

}  // namespace cortado::cli
