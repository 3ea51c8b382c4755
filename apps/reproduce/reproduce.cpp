#include "reproduce/reproduce.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "pipeline/parallel.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

struct Reproducer {
  std::string_view publication;
  Reproduce* reproduce;
};

constexpr std::array kReproducers{Reproducer{"comppow", reproduce_comppow},     Reproducer{"conccl", reproduce_conccl},
                                  Reproducer{"dma-latte", reproduce_dma_latte}, Reproducer{"ficco", reproduce_ficco},
                                  Reproducer{"gemm", reproduce_gemm},           Reproducer{"kraken", reproduce_kraken},
                                  Reproducer{"models", reproduce_models},       Reproducer{"nccl", reproduce_nccl},
                                  Reproducer{"rccl", reproduce_rccl},           Reproducer{"t3", reproduce_t3}};

}  // namespace

report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value) {
  report::Reproduction ours{publication.name, publication.title, publication.source, machine.name, {}, {}, {}};
  for (const published::Figure& figure : publication.figures) ours.figures.push_back({figure, value(figure.name)});
  return ours;
}

Outcome<void> run_all(std::size_t count, const ReproduceOptions& options,
                      const std::function<Outcome<void>(std::size_t)>& job) {
  std::vector<Outcome<void>> results(count);
  const bool done = for_each_in_parallel(
      count, options.threads, [&](std::size_t i) { results[i] = job(i); },
      [&](std::size_t finished) { return !options.progress || options.progress(finished, count); });
  for (const Outcome<void>& result : results) {
    if (!result) return result;
  }
  if (!done) return fail_at(Stage::run, {"reproduce.interrupted", "interrupted before all was simulated", ""});
  return {};
}

Outcome<report::Reproduction> reproduce(const std::string& name, const std::optional<Machine>& machine,
                                        const ReproduceOptions& options) {
  const auto publication = published::load_publication(name);
  if (!publication) return fail_at(Stage::plan, publication.error());
  Result<Machine> on = machine ? Result<Machine>(*machine) : load_machine(publication->machine);
  if (!on) return fail_at(Stage::plan, on.error());
  for (const Reproducer& reproducer : kReproducers) {
    if (reproducer.publication == name) return reproducer.reproduce(*publication, *on, options);
  }
  return fail_at(Stage::plan, {"reproduce.unknown", fmt::format("'{}' has data but nothing computes it again", name),
                               "add it to apps/reproduce"});
}

}  // namespace cortado::pipeline
