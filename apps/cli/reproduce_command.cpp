// cortado reproduce: published numbers next to ours.
#include <fmt/format.h>

#include "base/file.hpp"
#include "command.hpp"
#include "reproduce/machines.hpp"
#include "reproduce/reproduce.hpp"
#include "study_progress.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kReproduceExamples[] = {
    {"cortado reproduce dma-latte", "every published number, our prediction, and the error"},
    {"cortado reproduce dma-latte --json --html dma-latte.html", "rows as JSON for a script, and a page with charts"},
    {"cortado reproduce all --markdown accuracy.md", "all publications, as in docs/accuracy.md"}};

Result<Exit> run_reproduce(const Arguments& arguments, Console& console) {
  const TableOutput table(arguments);
  const std::string machine_file = arguments.or_empty("--machine");
  const auto markdown = arguments.find("--markdown");
  CORTADO_RETURN_IF_ERROR(table.check({machine_file, markdown.value_or("")}));
  if (markdown) CORTADO_RETURN_IF_ERROR(check_output_path(*markdown, {machine_file}));
  std::optional<Machine> machine;
  if (arguments.given("--machine")) {
    CORTADO_ASSIGN_OR_RETURN(machine, load_machine(machine_file));
  }
  std::vector<std::string> names{arguments.text("publication")};
  if (names.front() == "all") names = published::publication_names();
  pipeline::ReproduceOptions options;
  options.threads = threads_of(arguments);
  options.progress = show_progress(console, "simulating");
  std::vector<report::Reproduction> all;
  for (const std::string& name : names) {
    auto reproduction = pipeline::reproduce(name, machine, options);
    if (!reproduction) return study_failure(console, reproduction.error());
    console.clear_progress();
    if (machine && machine->name != published::load_publication(name)->machine) {
      console.talk(fmt::format("{} was measured on a machine other than {}: its accuracy goals do not apply", name,
                               machine->name));
    }
    all.push_back(*std::move(reproduction));
  }
  console.out(table.json() ? report::reproduction_json(all) : report::reproduction_text(all, table.text()));
  std::vector<report::Document> pages;
  for (const report::Reproduction& one : all) pages.push_back(report::reproduction_page(one));
  CORTADO_RETURN_IF_ERROR(table.write_html("Published and predicted", pages));
  if (markdown) {
    CORTADO_ASSIGN_OR_RETURN(const std::string machines, pipeline::machines_markdown());
    CORTADO_RETURN_IF_ERROR(write_file(*markdown, report::reproduction_markdown(all) + machines));
  }
  return Exit::ok;
}

}  // namespace

constinit const Subcommand kReproduceCommand{"reproduce", "Compare published results with simulated ones",
                                             kReproduceExamples, run_reproduce};

}  // namespace cortado::cli
