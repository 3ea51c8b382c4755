#include "reproduce/reproduce.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pipeline/parallel.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

struct Reproducer {
  std::string_view publication;
  Reproduce* reproduce;
};

constexpr std::array kReproducers{Reproducer{"comppow", reproduce_comppow},
                                  Reproducer{"conccl", reproduce_conccl},
                                  Reproducer{"dma-latte", reproduce_dma_latte},
                                  Reproducer{"ficco", reproduce_ficco},
                                  Reproducer{"gemm", reproduce_gemm},
                                  Reproducer{"kraken", reproduce_kraken},
                                  Reproducer{"kv-fetch", reproduce_kv_fetch},
                                  Reproducer{"models", reproduce_models},
                                  Reproducer{"nccl", reproduce_nccl},
                                  Reproducer{"rccl", reproduce_rccl},
                                  Reproducer{"t3", reproduce_t3}};

}  // namespace

report::Reproduction with_figures(const published::Publication& publication, const Machine& machine,
                                  const std::function<double(const std::string&)>& value) {
  report::Reproduction ours{publication.name, publication.title, publication.source, machine.name, {}, {}, {}};
  for (const published::Figure& figure : publication.figures) ours.figures.push_back({figure, value(figure.name)});
  return ours;
}

std::string machine_of_table(const published::Publication& publication, const published::Table& table) {
  // The last word of a table's name, if it is a GPU or a machine.
  if (table.name.ends_with(" gb200-nvl72")) return "gb200-nvl72";
  for (const char* gpu : {"mi300x", "mi355x", "b200"}) {
    if (table.name.ends_with(fmt::format(" {}", gpu))) return fmt::format("{}-8", gpu);
  }
  return publication.machine;
}

Result<Machine> machine_of_row(const std::string& name, const Machine& given) {
  return name == given.name ? Result<Machine>(given) : load_machine(name);
}

Result<std::string> machines_of_rows(const std::set<std::string>& names, const std::string& publication,
                                     const Machine& given) {
  std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (names.contains(given.name)) return all;
  return fail("reproduce.machine", fmt::format("no result of {} was measured on {}", publication, given.name),
              fmt::format("drop --machine, or use a file for one of {}", all));
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
  if (!done) return fail_at(Stage::run, {"reproduce.interrupted", "interrupted before it was finished", ""});
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
