#include "number_option.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace cortado::cli {

CLI::Option* add_number(CLI::App& app, const std::string& name, const std::string& description, NumberRange range,
                        std::uint64_t greatest, std::function<void(std::uint64_t)> set,
                        std::function<std::string()> initial) {
  const CLI::callback_t parse = [name = name.substr(0, name.find(',')), range, greatest,
                                 set = std::move(set)](const CLI::results_t& given) {
    const std::string& text = given.front();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > greatest) {
      throw CLI::ValidationError(
          fmt::format("{} {}", name, text),
          fmt::format("give a whole number from {} to {}", range.least, std::min(range.most, greatest)));
    }
    set(number);
    return true;
  };
  return app.add_option(name, parse, description, false, std::move(initial));
}

}  // namespace cortado::cli
