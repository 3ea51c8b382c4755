#include "cortado/result.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado {

std::string to_string(const Place& place) {
  std::vector<std::string> parts;
  if (!place.file.empty()) {
    parts.push_back(place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file);
  }
  if (!place.key.empty()) parts.push_back(fmt::format("key {}", place.key));
  if (place.rank) parts.push_back(fmt::format("rank {}", place.rank->value));
  if (!place.queue.empty()) parts.push_back(fmt::format("queue {}", place.queue));
  if (place.command) parts.push_back(fmt::format("command {}", *place.command));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Unexpected<Diagnostic> fail(Diagnostic&& diagnostic) {
  return Unexpected(std::move(diagnostic));
}

Unexpected<Diagnostic> fail(const Diagnostic& diagnostic) {
  return Unexpected(diagnostic);
}

Unexpected<Diagnostic> fail(std::string_view code, std::string_view message, std::string_view hint) {
  return fail(About::request, code, message, hint);
}

Unexpected<Diagnostic> fail(About about, std::string_view code, std::string_view message, std::string_view hint) {
  return Unexpected(Diagnostic{std::string(code), std::string(message), std::string(hint), {}, about});
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string line = diagnostic.code;
  if (const std::string place = to_string(diagnostic.place); !place.empty()) line += ": " + place;
  line += ": " + diagnostic.message;
  if (!diagnostic.hint.empty()) line += " (hint: " + diagnostic.hint + ")";
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void detail::no_value() {
  CORTADO_CHECK(false, "there is an error where a value is asked for");
  std::abort();
}

Diagnostic system_error(std::string code, const std::string& call, int errno_value, std::string hint) {
  return Diagnostic{std::move(code),
                    fmt::format("{}: {} (errno {})", call, std::strerror(errno_value), errno_value),
                    std::move(hint),
                    {},
                    About::environment};
}

}  // namespace cortado
