#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cortado/machine.hpp"

#include "base/parse_toml.hpp"
#include "machine/checks.hpp"
#include "machine/embedded.hpp"
#include "machine/fields.hpp"
#include "machine/reader.hpp"

namespace cortado {
namespace {

/// The file of a machine with a base contains only what differs: its keys replace those of the base. They are moved,
/// because a copy loses its line.
void lay_over(toml::table&& over, toml::table& base) {
  for (auto&& [key, value] : over) {
    toml::table* beneath = base[key.str()].as_table();
    toml::table* entries = value.as_table();
    const bool section = beneath != nullptr && entries != nullptr && !entries->contains("value");
    if (section) {
      lay_over(std::move(*entries), *beneath);
    } else {
      base.insert_or_assign(key, std::move(value));
    }
  }
}

/// The built-in machine that the file names as its base, without line numbers, which would be mistaken for those of the
/// file; nothing if it names none.
Result<std::optional<toml::table>> base_of(const toml::table& root, const std::string& file) {
  const toml::node* base = root["machine"]["base"].node();
  if (base == nullptr) return std::optional<toml::table>{};
  const std::string name = base->value_or(std::string{});
  for (const auto& [known, text] : internal::embedded_machines()) {
    if (known != name) continue;
    CORTADO_ASSIGN_OR_RETURN(const toml::table table, internal::parse_toml(text, "built in", "machine.toml"));
    if (!table["machine"]["base"]) return std::optional(toml::table(table));
  }
  Diagnostic diagnostic{"machine.base",
                        fmt::format("unknown machine \"{}\" as a base", name),
                        "use a built-in machine (see cortado list machines) that has no base itself",
                        {}};
  diagnostic.place.file = file;
  diagnostic.place.line = base->source().begin.line;
  diagnostic.place.key = "machine.base";
  return fail(std::move(diagnostic));
}

Result<Machine> read_machine(const toml::table& root, const std::string& file) {
  Machine machine;
  machine.file = file;
  internal::MachineReader in(root, machine);
  in.has("machine.base");  // base_of has already read it
  internal::describe_file(in, machine);
  if (in.ok()) internal::check_machine(in, machine);
  CORTADO_RETURN_IF_ERROR(in.finish());
  machine.provenance = in.take_provenance();
  return machine;
}

}  // namespace

Result<Machine> parse_machine(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(toml::table root, internal::parse_toml(text, file, "machine.toml"));
  CORTADO_ASSIGN_OR_RETURN(std::optional<toml::table> base, base_of(root, file));
  if (!base) return read_machine(root, file);
  lay_over(std::move(root), *base);
  return read_machine(*base, file);
}

}  // namespace cortado
