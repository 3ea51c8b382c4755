#include "auto_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"

namespace cortado::cli {

void AutoOptions::add_to(CLI::App& app) {
  options_ = {app.add_option("--among", among_,
                             "auto: choose among these, separated by commas: names, dma, cores (default: all)")
                  ->type_name("NAMES"),
              app.add_flag("--no-cache", no_cache_, "auto: neither use nor keep simulated times on disk")};
}

Status AutoOptions::check(bool automatic) const {
  if (automatic) return {};
  for (const CLI::Option* option : options_) {
    if (option->count() == 0) continue;
    return fail("usage.option", fmt::format("{} is for --variant auto", option->get_name()),
                "leave it out, or give --variant auto");
  }
  return {};
}

std::vector<std::string> AutoOptions::among() const {
  return among_ ? split_names(*among_) : std::vector<std::string>{};
}

pipeline::ChooserOptions AutoOptions::chooser_options() const {
  pipeline::ChooserOptions options;
  options.threads = available_cores();
  if (!no_cache_) options.cache_folder = pipeline::default_cache_folder();
  return options;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string name = text.substr(start, end - start);
    const std::size_t first = std::min(name.find_first_not_of(' '), name.size());
    names.push_back(name.substr(first, name.find_last_not_of(' ') + 1 - first));
    start = end + 1;
  }
  return names;
}

void keep_times(pipeline::Chooser& chooser, Console& console) {
  if (const Status saved = chooser.save(); !saved) {
    console.talk(fmt::format("simulated times are not kept: {}", to_string(saved.error())));
  }
}

}  // namespace cortado::cli
