#include "help_format.hpp"

#include <fmt/format.h>

namespace cortado::cli {

std::string HelpFormat::make_description(const CLI::App* app) const {
  return app->get_description() + "\n\n";
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0 || option->get_type_name().empty()) return "";
  return " " + option->get_type_name();
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  const std::string value = option->get_default_str();
  return value.empty() ? option->get_description() : fmt::format("{} (default: {})", option->get_description(), value);
}

}  // namespace cortado::cli
