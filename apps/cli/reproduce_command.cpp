// cortado reproduce: published numbers beside ours.
#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/file.hpp"
#include "cortado/pipeline/reproduce.hpp"

#include "interrupt.hpp"
#include "number_option.hpp"
#include "output_file.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

class ReproduceCommand : public Subcommand {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view description() const override { return "Lay published results beside simulated ones"; }
  std::vector<Example> examples() const override {
    return {{"cortado reproduce dma-latte", "every published number, ours, and the error"},
            {"cortado reproduce dma-latte --json --html dma-latte.html", "rows for a script, a picture for people"},
            {"cortado reproduce all --markdown accuracy.md", "all publications, as docs/accuracy.md has them"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("publication", publication_, "Which one (cortado list publications), or all")
        ->required()
        ->type_name("");
    app.add_option("--machine", machine_, "Machine by name or .toml file (default: the one it was measured on)")
        ->type_name("NAME");
    add_number(app, "--threads", threads_, "Simulations at the same time (default: one a core)", {.least = 1})
        ->type_name("N");
    app.add_option("--markdown", markdown_, "Write the tables as Markdown, too")->type_name("FILE");
    table_.add_to(app, {.html = true});
  }

  Result<Exit> run(Console& console) override {
    if (threads_ == 0U) return fail("usage.threads", "--threads 0 simulates nothing", "give 1 or more");
    const std::string machine_file = machine_.value_or("");
    CORTADO_RETURN_IF_ERROR(table_.check({machine_file, markdown_.value_or("")}));
    if (markdown_) CORTADO_RETURN_IF_ERROR(check_output_path(*markdown_, {machine_file}));
    std::optional<Machine> machine;
    if (machine_) {
      CORTADO_ASSIGN_OR_RETURN(machine, load_machine(*machine_));
    }
    watch_for_interrupt();
    std::vector<std::string> names{publication_};
    if (publication_ == "all") names = published::publication_names();
    pipeline::ReproduceOptions options;
    options.threads = threads_.value_or(available_cores());
    options.progress = [&](std::size_t done, std::size_t total) {
      console.progress(fmt::format("{} of {} simulations", done, total));
      return !interrupted();
    };
    std::vector<report::Reproduction> all;
    for (const std::string& name : names) {
      auto reproduction = pipeline::reproduce(name, machine, options);
      console.clear_progress();
      if (!reproduction && interrupted()) {
        console.talk("interrupted before all was simulated");
        return Exit::interrupted;
      }
      if (!reproduction) return console.failure(reproduction.error());
      if (machine && machine->name != published::load_publication(name)->machine) {
        console.talk(fmt::format("{} was measured on another machine than {}: the goals are not meant for it", name,
                                 machine->name));
      }
      all.push_back(*std::move(reproduction));
    }
    console.out(table_.json() ? report::reproduction_json(all) : report::reproduction_text(all, table_.text()));
    if (table_.wants_html()) CORTADO_RETURN_IF_ERROR(table_.write_html(report::reproduction_html(all)));
    if (markdown_) CORTADO_RETURN_IF_ERROR(write_file(*markdown_, report::reproduction_markdown(all)));
    return Exit::ok;
  }

 private:
  std::string publication_;
  std::optional<std::string> machine_;
  std::optional<std::uint32_t> threads_;
  std::optional<std::string> markdown_;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_reproduce() {
  return std::make_unique<ReproduceCommand>();
}

}  // namespace cortado::cli
