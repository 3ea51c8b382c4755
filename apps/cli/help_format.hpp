// How --help looks: defaults stand behind the description, not inside the option's name.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace cortado::cli {

class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat() { column_width(30); }
  std::string make_description(const CLI::App* app) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace cortado::cli
