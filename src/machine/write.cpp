#include "machine/write.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/fields.hpp"

namespace cortado {
namespace {

using internal::describe;
using internal::describe_file;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// One row per line, so that a table of GPUs is readable.
template <class Row>
std::string table(const std::vector<Row>& rows) {
  std::string out = "[\n";
  for (const Row& row : rows) out += fmt::format("  [{}],\n", fmt::join(row, ", "));
  return out + "]";
}

std::string engine_list(const Machine& machine, const auto& wanted) {
  std::vector<std::uint32_t> ids;
  for (const Engine& engine : machine.engines) {
    if (wanted(engine)) ids.push_back(engine.id.value);
  }
  return fmt::format("[{}]", fmt::join(ids, ", "));
}

/// A word if there is one, otherwise the peers of every GPU.
std::string topology(const Machine& machine) {
  if (machine.timing && machine.timing->link.shape == LinkShape::switched) return in_quotes("switch");
  std::vector<std::string> peers;
  bool all = true;
  for (std::size_t src = 0; src < machine.linked.size(); ++src) {
    std::vector<std::size_t> of_one;
    for (std::size_t dst = 0; dst < machine.linked.size(); ++dst) {
      if (dst != src && machine.linked[src][dst]) of_one.push_back(dst);
    }
    all = all && of_one.size() + 1 == machine.linked.size();
    peers.push_back(fmt::format("[{}]", fmt::join(of_one, ", ")));
  }
  return all ? in_quotes("full-mesh") : fmt::format("[{}]", fmt::join(peers, ", "));
}

/// The archive of machine/fields.hpp that writes.
class MachineWriter {
 public:
  explicit MachineWriter(const Machine& machine) : machine_(machine) {}

  const Machine& machine() const { return machine_; }

  template <class T>
  void section(std::string_view name, const T& part) {
    const std::string_view outer = std::exchange(section_, name);
    describe(*this, part);
    section_ = outer;
  }
  template <class T>
  void section(std::string_view name, const std::optional<T>& part) {
    if (part) section(name, *part);
  }
  void text(std::string_view key, const std::string& value) { line(key, in_quotes(value)); }
  template <class T, class... Limits>
  void field(std::string_view key, const T& value, Limits...) {
    entry(key, shown(value));
  }
  template <class T, class... Limits>
  void field_or(std::string_view key, const T& value, const T& fallback, Limits...) {
    if (value != fallback) field(key, value);
  }
  template <class T, class... Limits>
  void field_if(bool wanted, std::string_view, std::string_view key, const T& value, Limits...) {
    if (wanted) field(key, value);
  }
  /// 15 digits survive the conversion to fractions of the unit and back.
  void scaled(bool wanted, std::string_view, std::string_view key, double value, double parts, double, double) {
    if (wanted) entry(key, fmt::format("{:.15g}", value * parts));
  }
  void microseconds(std::string_view key, Nanoseconds value, double, double) {
    field(key, cortado::microseconds(value));
  }
  template <class Words, class T>
  void word(std::string_view key, const T& value, const Words& words) {
    const auto* found = std::ranges::find(words, value, [](const auto& entry) { return entry.second; });
    entry(key, in_quotes(found->first));
  }
  bool given(bool has_value, std::initializer_list<std::string_view>) { return has_value; }

  void engines(const Machine& machine) {
    const std::string_view outer = std::exchange(section_, "engines");
    entry("host", engine_list(machine, [](const Engine& e) { return e.kind == EngineClass::host; }));
    entry("peer", engine_list(machine, [](const Engine& e) { return e.kind == EngineClass::peer; }));
    entry("absent", engine_list(machine, [](const Engine& e) { return !e.present; }));
    section_ = outer;
  }
  void links(const Machine& machine) {
    const std::string_view outer = std::exchange(section_, "links");
    entry("topology", topology(machine));
    section_ = outer;
    if (!machine.link_counts.empty()) tall("links.counts", table(machine.link_counts));
  }
  void affinity(const Machine& machine) {
    if (machine.affinity.empty()) return;
    std::vector<std::vector<std::int64_t>> rows;
    for (const auto& engines : machine.affinity) {
      auto& row = rows.emplace_back();
      for (const auto& engine : engines) row.push_back(engine ? static_cast<std::int64_t>(engine->value) : -1);
    }
    tall("affinity", table(rows));
  }
  void timing(const std::optional<Timing>& timing) {
    if (timing) describe(*this, *timing);
  }

  std::string take() const {
    std::string text;
    for (const auto* sections : {&sections_, &tall_}) {
      for (const auto& [name, lines] : *sections)
        text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", name, lines);
    }
    return text;
  }

 private:
  static std::string shown(const std::string& text) { return in_quotes(text); }
  static std::string shown(Bytes bytes) { return shown(bytes.value); }
  static std::string shown(Nanoseconds time) { return shown(time.value); }
  static std::string shown(GBps rate) { return shown(rate.value); }
  template <class T>
  static std::string shown(const T& value) {
    return fmt::format("{}", value);
  }

  void line(std::string_view key, std::string_view value) {
    auto found = std::ranges::find(sections_, section_, [](const auto& section) { return section.first; });
    if (found == sections_.end()) found = sections_.insert(found, {std::string(section_), {}});
    found->second += fmt::format("{} = {}\n", key, value);
  }
  void entry(std::string_view key, std::string_view value) {
    const auto [source, confidence] = origin(fmt::format("{}.{}", section_, key));
    line(key, fmt::format("{{ value = {}, source = {}, confidence = {} }}", value, in_quotes(source),
                          in_quotes(confidence)));
  }
  /// A value of more than one line: an inline table cannot hold it, so it becomes a separate section.
  void tall(std::string_view section, std::string_view value) {
    const auto [source, confidence] = origin(section);
    tall_.emplace_back(section, fmt::format("value = {}\nsource = {}\nconfidence = {}\n", value, in_quotes(source),
                                            in_quotes(confidence)));
  }
  std::pair<std::string, std::string> origin(std::string_view path) const {
    const auto found = std::find_if(machine_.provenance.begin(), machine_.provenance.end(),
                                    [path](const Provenance& fact) { return fact.key == path; });
    if (found == machine_.provenance.end()) return {"not given", "assumption"};
    return {found->source, found->confidence};
  }

  const Machine& machine_;
  std::string_view section_;
  std::vector<std::pair<std::string, std::string>> sections_;  // name and lines
  std::vector<std::pair<std::string, std::string>> tall_;      // written after the others
};

}  // namespace

std::string machine_text(const Machine& machine) {
  MachineWriter out(machine);
  describe_file(out, machine);
  return out.take();
}

}  // namespace cortado
