#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cortado/machine/machine.hpp"

#include "base/parse_toml.hpp"
#include "machine/embedded.hpp"
#include "machine/parse_sections.hpp"
#include "machine/reader.hpp"

namespace cortado {
namespace {

using internal::MachineReader;

// Bounds that no node reaches; they keep a mistyped file from asking for absurd amounts of memory.
constexpr std::int64_t kMaxEngines = 256;
constexpr std::uint64_t kMaxMemory = 1ULL << 48;

// Limits of the packet format and of the driver, which no machine can exceed.
constexpr std::uint64_t kMaxPacketBytes = 1ULL << 30;  // 30-bit count of bytes - 1
constexpr std::uint64_t kMinRing = 1024;
constexpr std::uint64_t kMaxRing = 1ULL << 31;
constexpr std::uint64_t kMaxAlignment = 1ULL << 21;
constexpr std::uint32_t kMaxPacketDwords = 64;

std::string describe(const std::vector<std::int64_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ", "));
}

void read_identity(MachineReader& in, Machine& machine) {
  machine.name = in.text("machine.name");
  machine.title = in.text("machine.title");
  if (in.has("machine.base")) in.text("machine.base");
  machine.gpu = in.label("machine.gpu");
  machine.gpus = in.small("machine.gpus", 1, internal::kMaxGpus);
  machine.compute_units = in.small("machine.compute_units", 1, 65536);
  machine.memory_bytes = in.bytes("machine.memory_bytes", 1, kMaxMemory);
  machine.allocation_alignment = in.bytes("machine.allocation_alignment", 256, kMaxAlignment);
  const bool plain = std::all_of(machine.name.begin(), machine.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+';
  });
  if (!plain) {
    in.refuse("machine.name", "machine.range", fmt::format("\"{}\" cannot be typed as a name", machine.name),
              "use a-z, 0-9, -, + and _");
  }
}

void read_engines(MachineReader& in, Machine& machine) {
  const auto host = in.list("engines.host", 0, kMaxEngines - 1);
  const auto peer = in.list("engines.peer", 0, kMaxEngines - 1);
  const auto absent = in.list("engines.absent", 0, kMaxEngines - 1);
  const auto add = [&](const std::vector<std::int64_t>& ids, EngineClass kind, std::string_view path) {
    for (const std::int64_t id : ids) {
      const EngineId engine{static_cast<std::uint32_t>(id)};
      if (machine.engine(engine) != nullptr) {
        in.refuse(path, "machine.engine", fmt::format("names engine {} a second time", id),
                  "an engine is either host or peer, once");
        return;
      }
      machine.engines.push_back({engine, kind, true});
    }
  };
  add(host, EngineClass::host, "engines.host");
  add(peer, EngineClass::peer, "engines.peer");
  std::sort(machine.engines.begin(), machine.engines.end(),
            [](const Engine& a, const Engine& b) { return a.id < b.id; });
  for (const std::int64_t id : absent) {
    const auto found = std::find_if(machine.engines.begin(), machine.engines.end(),
                                    [id](const Engine& e) { return e.id.value == static_cast<std::uint32_t>(id); });
    if (found == machine.engines.end()) {
      in.refuse("engines.absent", "machine.engine", fmt::format("names engine {}, which is neither host nor peer", id),
                fmt::format("host: {}; peer: {}", describe(host), describe(peer)));
      return;
    }
    found->present = false;
  }
  if (in.ok() && machine.gpus > 1 && machine.present_engines(EngineClass::peer).empty()) {
    in.refuse("engines.peer", "machine.engine",
              fmt::format("has no present engine, but there are {} GPUs", machine.gpus),
              "give at least one peer engine that is not absent");
  }
}

void read_dma(MachineReader& in, DmaLimits& dma) {
  dma.max_copy_bytes = in.bytes("dma.max_copy_bytes", 1, kMaxPacketBytes);
  dma.max_swap_bytes = in.bytes("dma.max_swap_bytes", 1, kMaxPacketBytes);
  dma.broadcast_alignment = in.bytes("dma.broadcast_alignment", 1, kMaxAlignment);
  dma.swap_alignment = in.bytes("dma.swap_alignment", 1, kMaxAlignment);
  dma.window_alignment = in.bytes("dma.window_alignment", 1, kMaxAlignment);
  dma.max_window_elements = in.count("dma.max_window_elements", 1, 1ULL << 32);
  dma.max_pitch_elements = in.count("dma.max_pitch_elements", 1, 1ULL << 32);
  dma.ring_bytes = in.bytes("dma.ring_bytes", kMinRing, kMaxRing);
  dma.queues_per_engine = in.small("dma.queues_per_engine", 1, 1024);
  const auto packet = [&in](std::string_view path) { return in.small(path, 1, kMaxPacketDwords); };
  dma.copy_dwords = packet("dma.copy_dwords");
  dma.broadcast_dwords = packet("dma.broadcast_dwords");
  dma.swap_dwords = packet("dma.swap_dwords");
  dma.window_dwords = packet("dma.window_dwords");
  dma.poll_dwords = packet("dma.poll_dwords");
  dma.atomic_dwords = packet("dma.atomic_dwords");
  dma.fence_dwords = packet("dma.fence_dwords");
  dma.timestamp_dwords = packet("dma.timestamp_dwords");
  dma.add_copy_dwords = packet("dma.add_copy_dwords");
}

void check_sizes(MachineReader& in, const Machine& machine) {
  const auto power_of_two = [&in](std::string_view path, Bytes value) {
    if (std::has_single_bit(value.value)) return;
    in.refuse(path, "machine.contradiction", fmt::format("is {}, which is not a power of two", value.value),
              fmt::format("{} or {} would be", std::bit_floor(value.value), std::bit_ceil(value.value)));
  };
  const DmaLimits& dma = machine.dma;
  power_of_two("machine.allocation_alignment", machine.allocation_alignment);
  power_of_two("dma.broadcast_alignment", dma.broadcast_alignment);
  power_of_two("dma.swap_alignment", dma.swap_alignment);
  power_of_two("dma.window_alignment", dma.window_alignment);
  power_of_two("dma.ring_bytes", dma.ring_bytes);
  if (!in.ok()) return;
  if (dma.max_swap_bytes.value % dma.swap_alignment.value != 0) {
    in.refuse(
        "dma.max_swap_bytes", "machine.contradiction",
        fmt::format("is {}, not a multiple of dma.swap_alignment, {}", dma.max_swap_bytes.value,
                    dma.swap_alignment.value),
        fmt::format("{} would be", dma.max_swap_bytes.value / dma.swap_alignment.value * dma.swap_alignment.value));
  }
  const auto within_allocation = [&](std::string_view path, Bytes alignment) {
    if (alignment <= machine.allocation_alignment) return;
    in.refuse(path, "machine.contradiction",
              fmt::format("is {}, more than machine.allocation_alignment, {}: no buffer could meet it", alignment.value,
                          machine.allocation_alignment.value));
  };
  within_allocation("dma.broadcast_alignment", dma.broadcast_alignment);
  within_allocation("dma.swap_alignment", dma.swap_alignment);
  within_allocation("dma.window_alignment", dma.window_alignment);
  if (machine.memory_bytes < machine.allocation_alignment) {
    in.refuse("machine.memory_bytes", "machine.contradiction",
              fmt::format("is {}, less than one allocation, {}", machine.memory_bytes.value,
                          machine.allocation_alignment.value));
  }
}

/// Why GPU src cannot use the engine towards GPU dst; empty if it can.
std::string affinity_fault(const Machine& machine, std::size_t src, std::size_t dst, std::int64_t id) {
  if (src == dst) return "a GPU needs no engine towards itself";
  if (!machine.linked[src][dst]) return "the two GPUs are not linked";
  const Engine* engine = machine.engine({static_cast<std::uint32_t>(id)});
  if (engine == nullptr) return "there is no such engine";
  if (engine->kind == EngineClass::host) return "it is a host engine, which does not reach peers";
  if (!engine->present) return "that engine is absent";
  return {};
}

void read_affinity(MachineReader& in, Machine& machine) {
  if (!in.has("affinity")) return;
  const auto table = in.square("affinity", machine.gpus, -1, kMaxEngines - 1, "-1 for none");
  if (!in.ok()) return;
  for (std::size_t src = 0; src < table.size(); ++src) {
    auto& best = machine.affinity.emplace_back(table.size());
    for (std::size_t dst = 0; dst < table.size(); ++dst) {
      const std::int64_t id = table[src].numbers[dst];
      if (id < 0) continue;
      if (const std::string fault = affinity_fault(machine, src, dst, id); !fault.empty()) {
        in.refuse_at(table[src].line, "affinity", "machine.contradiction",
                     fmt::format("engine {} from GPU {} to GPU {}: {}", id, src, dst, fault), "-1 stands for none");
        return;
      }
      best[dst] = EngineId{static_cast<std::uint32_t>(id)};
    }
  }
}

/// The file of a machine with a base holds only what differs: its keys take the place of those of the base. They are
/// moved, because a copy forgets its line.
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

/// The built-in machine that the file names as its base, without lines, which would be taken for those of the file;
/// nothing if it names none.
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
                        fmt::format("there is no machine \"{}\" to build on", name),
                        "name a built-in machine (cortado list machines) that has no base itself",
                        {}};
  diagnostic.place.file = file;
  diagnostic.place.line = base->source().begin.line;
  diagnostic.place.key = "machine.base";
  return fail(std::move(diagnostic));
}

Result<Machine> read_machine(const toml::table& root, const std::string& file) {
  MachineReader in(root, file);
  Machine machine;
  machine.file = file;
  read_identity(in, machine);
  read_engines(in, machine);
  read_dma(in, machine.dma);
  machine.features.broadcast = in.flag("features.broadcast");
  machine.features.swap = in.flag("features.swap");
  machine.features.near_memory_compute = in.flag("features.near_memory_compute");
  if (in.has("tracker")) {
    TrackerLimits& tracker = machine.features.tracker.emplace();
    tracker.entries = in.small("tracker.entries", 1, 1U << 20);
    tracker.granularity = in.bytes("tracker.granularity_bytes", 1, machine.memory_bytes.value);
  }
  if (in.ok()) check_sizes(in, machine);
  const std::string_view topology = internal::read_topology(in, machine);
  read_affinity(in, machine);
  internal::read_timing(in, machine, topology == internal::kSwitch ? LinkShape::switched : LinkShape::mesh);
  internal::read_power(in, machine);
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
