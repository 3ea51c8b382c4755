// Which constants of a machine are taken from another machine.
#include <algorithm>
#include <cctype>
#include <set>

#include "cortado/machine.hpp"

namespace cortado {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// The machine that a source such as "as h100-8; not published" or "as MI300X, for planning" refers to, if any. Parts
/// such as MI300X stand for the machine with eight of them.
std::string machine_of(std::string_view source, const std::vector<std::string>& names) {
  constexpr std::string_view kAs = "as ";
  if (!source.starts_with(kAs)) return {};
  source.remove_prefix(kAs.size());
  const std::string word = lower_case(source.substr(0, source.find_first_of(" ,;:")));
  for (const std::string& name : {word, word + "-8"}) {
    if (std::ranges::find(names, name) != names.end()) return name;
  }
  return {};
}

}  // namespace

BorrowedConstants borrowed_constants(const Machine& machine) {
  const std::vector<std::string> names = machine_names();
  BorrowedConstants borrowed{.of = machine.provenance.size()};
  std::set<std::string> from;
  for (const Provenance& entry : machine.provenance) {
    const std::string other = machine_of(entry.source, names);
    if (other.empty() || other == machine.name) continue;
    ++borrowed.number;
    from.insert(other);
  }
  borrowed.from.assign(from.begin(), from.end());
  return borrowed;
}

}  // namespace cortado
