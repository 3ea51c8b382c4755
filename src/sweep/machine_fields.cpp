#include "sweep/machine_fields.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/parse_toml.hpp"
#include "base/text.hpp"
#include "machine/write.hpp"

namespace cortado::sweep {
namespace {

constexpr const char* kSource = "a value of the sweep";

/// A value with its source: { value = ..., source = ..., confidence = ... }.
bool is_field(const toml::node& node) {
  return node.is_table() && node.as_table()->contains("value");
}

void collect(const toml::table& table, const std::string& path, std::vector<std::string>& fields) {
  for (const auto& [key, node] : table) {
    const std::string here = path.empty() ? std::string(key.str()) : fmt::format("{}.{}", path, key.str());
    if (is_field(node)) {
      fields.push_back(here);
    } else if (const toml::table* const inner = node.as_table()) {
      collect(*inner, here, fields);
    }
  }
}

std::vector<std::string> fields_of(const toml::table& root) {
  std::vector<std::string> fields{std::string(kEngineCount)};
  collect(root, "", fields);
  std::ranges::sort(fields);
  return fields;
}

toml::table* find(toml::table& root, std::string_view path) {
  const toml::node_view<toml::node> found = root.at_path(path);
  return found.is_table() && is_field(*found.node()) ? found.as_table() : nullptr;
}

Unexpected<Diagnostic> wrong_value(const Parameter& field, std::string_view wanted) {
  return fail("sweep.field", fmt::format("{} cannot be {}", field.name, field.text), fmt::format("use {}", wanted));
}

/// As the file has it: a number stays a number, a list a list.
Status put(toml::table& entry, const Parameter& field) {
  const toml::node& old = *entry.get("value");
  const auto set = [&](auto&& value) { entry.insert_or_assign("value", std::forward<decltype(value)>(value)); };
  if (old.is_string()) {
    set(field.text);
  } else if (old.is_boolean()) {
    if (field.text != "true" && field.text != "false") return wrong_value(field, "true or false");
    set(field.text == "true");
  } else if (old.is_array()) {
    toml::array list;
    for (const std::string& part : split(field.text, ',')) {
      if (const auto whole = parse_number<std::int64_t>(part)) {
        list.push_back(*whole);
      } else if (const auto real = parse_number<double>(part)) {
        list.push_back(*real);
      } else {
        return wrong_value(field, "numbers separated by commas");
      }
    }
    set(std::move(list));
  } else if (const auto whole = parse_number<std::int64_t>(field.text)) {
    set(*whole);
  } else if (const auto real = parse_number<double>(field.text)) {
    set(*real);
  } else {
    return wrong_value(field, "a number");
  }
  entry.insert_or_assign("source", kSource);
  entry.insert_or_assign("confidence", "assumption");
  return {};
}

/// Engines that the table of affinity names and the machine has no longer give way to those that it has.
Status set_engine_count(Machine& machine, const Parameter& count) {
  constexpr std::uint32_t kMost = 64;
  const auto wanted = parse_number<std::uint32_t>(count.text);
  if (!wanted || *wanted == 0 || *wanted > kMost) return wrong_value(count, fmt::format("1 to {} engines", kMost));
  std::vector<EngineId> before;
  std::uint32_t next = 0;
  for (const Engine& engine : machine.engines) {
    if (engine.kind == EngineClass::peer) before.push_back(engine.id);
    next = std::max(next, engine.id.value + 1);
  }
  std::erase_if(machine.engines, [](const Engine& engine) { return engine.kind == EngineClass::peer; });
  std::vector<EngineId> now;
  while (now.size() < *wanted) now.push_back(now.size() < before.size() ? before[now.size()] : EngineId{next++});
  for (const EngineId engine : now) machine.engines.push_back({engine, EngineClass::peer, true});
  for (auto& row : machine.affinity) {
    for (auto& engine : row) {
      if (engine) engine = now[static_cast<std::size_t>(std::ranges::find(before, *engine) - before.begin()) % *wanted];
    }
  }
  if (machine.timing && machine.timing->host_link) {
    HostLinkTiming& link = *machine.timing->host_link;
    for (std::vector<std::uint32_t>* list : {&link.engines_to_gpu, &link.engines_from_gpu, &link.slow_engines}) {
      std::erase_if(*list, [&](std::uint32_t engine) { return machine.engine({engine}) == nullptr; });
    }
  }
  return {};
}

}  // namespace

Result<Machine> with_fields(const Machine& machine, const std::vector<Parameter>& fields) {
  if (fields.empty()) return machine;
  Machine changed = machine;
  for (const Parameter& field : fields) {
    if (field.name == kEngineCount) CORTADO_RETURN_IF_ERROR(set_engine_count(changed, field));
  }
  CORTADO_ASSIGN_OR_RETURN(toml::table root,
                           internal::parse_toml(machine_text(changed), machine.name, "machine.syntax"));
  for (const Parameter& field : fields) {
    if (field.name == kEngineCount) continue;
    toml::table* const entry = find(root, field.name);
    if (entry == nullptr) {
      return fail("sweep.field", fmt::format("machine {} has no field {}", machine.name, field.name),
                  did_you_mean(field.name, fields_of(root), "see cortado show machine NAME for its fields"));
    }
    CORTADO_RETURN_IF_ERROR(put(*entry, field));
  }
  std::ostringstream text;
  text << toml::toml_formatter(root);
  auto made = parse_machine(text.str(), machine.name);
  if (!made) {  // lines are those of a text that nobody has seen
    made.error().place.file.clear();
    made.error().place.line = 0;
  }
  return made;
}

}  // namespace cortado::sweep
