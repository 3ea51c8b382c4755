#include "cortado/machine.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/file.hpp"
#include "base/small_vector.hpp"
#include "base/text.hpp"
#include "machine/embedded.hpp"

namespace cortado {

const Engine* Machine::engine(EngineId id) const {
  const auto found = std::find_if(engines.begin(), engines.end(), [id](const Engine& e) { return e.id == id; });
  return found == engines.end() ? nullptr : &*found;
}

EngineId Machine::engine_towards(RankId src, RankId dst) const {
  CORTADO_CHECK(src.value < gpus && dst.value < gpus, "both ranks are GPUs of the machine");
  if (src.value < affinity.size() && dst.value < affinity[src.value].size()) {
    if (const auto& best = affinity[src.value][dst.value]) return *best;
  }
  // The peers of src in ascending order are its peers 0, 1, ...; so gpus-1 engines serve gpus-1 peers one to one.
  const std::uint32_t peer = dst.value > src.value ? dst.value - 1 : dst.value;
  SmallVector<EngineId, 32> candidates;
  for (const EngineClass kind : {EngineClass::peer, EngineClass::host}) {
    if (!candidates.empty()) break;
    for (const Engine& e : engines) {
      if (e.kind == kind && e.present) candidates.push_back(e.id);
    }
  }
  std::ranges::sort(candidates);
  CORTADO_CHECK(!candidates.empty(), "a machine has at least one engine that is present");
  return candidates[peer % candidates.size()];
}

std::uint32_t Machine::link_count(RankId src, RankId dst) const {
  CORTADO_CHECK(src.value < gpus && dst.value < gpus, "both ranks are GPUs of the machine");
  if (src == dst || !linked[src.value][dst.value]) return 0;
  return link_counts.empty() ? 1 : link_counts[src.value][dst.value];
}

bool Machine::spans_hosts(std::uint32_t ranks) const {
  return timing && timing->host.gpus != 0 && ranks > timing->host.gpus;
}

std::vector<EngineId> Machine::present_engines(EngineClass kind) const {
  std::vector<EngineId> ids;
  for (const Engine& e : engines) {
    if (e.kind == kind && e.present) ids.push_back(e.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<ClockMode> parse_clock_mode(std::string_view name) {
  if (name == "by-power") return ClockMode::by_power;
  if (name == "bursts") return ClockMode::bursts;
  if (name == "fixed") return ClockMode::fixed;
  return fail("machine.clock", fmt::format("unknown clock mode '{}'", name), "use by-power, bursts or fixed");
}

// --- Power -----------------------------------------------------------------------------------------------------------

double VoltageCurve::volts_at(double clock_ghz) const {
  const auto above = std::ranges::lower_bound(ghz, clock_ghz);
  if (above == ghz.begin()) return volts.front();
  if (above == ghz.end()) return volts.back();
  const auto i = static_cast<std::size_t>(std::distance(ghz.begin(), above));
  const double share = (clock_ghz - ghz[i - 1]) / (ghz[i] - ghz[i - 1]);
  return volts[i - 1] + share * (volts[i] - volts[i - 1]);
}

const ComponentPower* Power::component(Component which) const {
  const auto address = [](const std::optional<ComponentPower>& power) { return power ? &*power : nullptr; };
  switch (which) {
    case Component::xcd:
      return address(xcd);
    case Component::iod:
      return address(iod);
    case Component::hbm:
      return address(hbm);
    case Component::rest:
      break;
  }
  return nullptr;
}

double Power::idle_w() const {
  double components = 0;
  for (const Component which : kComponents) {
    if (const ComponentPower* power = component(which)) components += power->idle_w;
  }
  return rest_idle_w + (1 + loss) * components;
}

// --- Loading ---------------------------------------------------------------------------------------------------------

namespace {

constexpr SizeLimit kMachineFiles{Bytes{4ULL << 20}, "machine files"};

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_machines()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Machine> load_machine(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(name_or_path, kMachineFiles));
    return parse_machine(text, name_or_path);
  }
  for (const auto& [name, text] : internal::embedded_machines()) {
    if (name == name_or_path) return parse_machine(std::string(text), "built in");
  }
  const std::vector<std::string> names = machine_names();
  return fail("machine.unknown", fmt::format("unknown machine \"{}\"", name_or_path),
              suggestion(name_or_path, names, "machines: ") + "; or use the path of a .toml file");
}

// --- Constants taken from other machines -----------------------------------------------------------------------------

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
