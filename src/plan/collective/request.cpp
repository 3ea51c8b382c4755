#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "plan/collective/ring.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace {

// Sums of a few buffer sizes must not overflow, whatever memory a machine file claims.
constexpr Bytes kMostBytes{std::uint64_t{1} << 60};

Status check_machine(const Machine& machine) {
  const DmaLimits& dma = machine.dma;
  if (machine.present_engines(EngineClass::peer).empty()) {
    return fail(About::machine, "plan.engine",
                fmt::format("machine {} has no DMA engine that reaches other GPUs", machine.name),
                "use a machine with engines.peer");
  }
  const bool packets_ok = dma.max_copy_bytes.value >= 4 && dma.swap_alignment.value > 0 &&
                          dma.broadcast_alignment.value > 0 &&
                          (!machine.features.swap || dma.max_swap_bytes >= dma.swap_alignment);
  const bool alignment_ok = packets_ok && machine.allocation_alignment.value % dma.swap_alignment.value == 0 &&
                            machine.allocation_alignment.value % dma.broadcast_alignment.value == 0;
  if (!packets_ok || !alignment_ok) {
    return fail(
        About::machine, "plan.machine",
        fmt::format("the packet limits of machine {} leave no room for a copy", machine.name),
        "packets must hold 4 bytes (a swap: one aligned unit), and buffers must be aligned for swap and broadcast");
  }
  return {};
}

std::string possible_ranks(const Machine& machine) {
  return machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("use 2 to {} ranks", machine.gpus);
}

Status check_ranks(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  if (request.ranks < 2) {
    return fail("plan.ranks",
                fmt::format("{} on {} rank moves nothing between GPUs", request.collective, request.ranks),
                possible_ranks(machine));
  }
  if (request.ranks > machine.gpus) {
    return fail(
        "plan.ranks",
        fmt::format("{} ranks requested, but machine {} has {} GPUs", request.ranks, machine.name, machine.gpus),
        possible_ranks(machine));
  }
  if (request.root.value >= request.ranks) {
    return fail("plan.ranks", fmt::format("root {} is not one of {} ranks", request.root.value, request.ranks),
                fmt::format("use a root from 0 to {}", request.ranks - 1));
  }
  if (!variant.rooted && request.root.value != 0) {
    return fail("plan.ranks",
                fmt::format("{} has no root, but root {} was given", request.collective, request.root.value),
                "drop the root");
  }
  if (variant.paired && (request.peer.value >= request.ranks || request.peer == request.root)) {
    return fail("plan.ranks",
                fmt::format("{} from rank {} to rank {} of {} ranks", request.collective, request.root.value,
                            request.peer.value, request.ranks),
                fmt::format("use two different ranks from 0 to {} for --root and --peer", request.ranks - 1));
  }
  if (!variant.paired && request.peer != CollectiveRequest{}.peer) {
    return fail("plan.ranks",
                fmt::format("{} has no peer, but peer {} was given", request.collective, request.peer.value),
                "drop the peer");
  }
  return {};
}

Status check_placement(const CollectiveRequest& request, const Variant& variant) {
  if (request.in_place ? variant.info.in_place : variant.info.out_of_place) return {};
  const char* asked = request.in_place ? "in place" : "out of place";
  const char* possible = request.in_place ? "out of place" : "in place";
  std::vector<std::string> others;
  for (const VariantInfo& other : list_variants(request.collective)) {
    if (request.in_place ? other.in_place : other.out_of_place) others.push_back(other.variant);
  }
  std::string hint = fmt::format("plan it {}", possible);
  if (!others.empty()) hint += fmt::format(", or {} use variant {}", asked, join(others, " or "));
  return fail(About::strategy, "plan.in_place",
              fmt::format("{} {} works only {}", request.collective, request.variant, possible), hint);
}

Status check_feature(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  if (variant.can_run_on(machine)) return {};
  return fail(About::machine, "plan.feature",
              fmt::format("{} {} needs {}, which machine {} does not have", request.collective, request.variant,
                          variant.needs, machine.name),
              "use variant pcpy, or a machine that has it");
}

Status check_ring(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  if (!variant.ring || !ring_order(request.ranks, machine).empty()) return {};
  return fail(About::machine, "plan.link",
              fmt::format("{} {} needs a ring, but the links of the first {} GPUs of {} do not form one",
                          request.collective, request.variant, request.ranks, machine.name),
              "every GPU needs a link to the next one, and the last to the first; on a ring, use all its GPUs");
}

Status check_size(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  if (request.bytes.value == 0) {
    return fail("plan.size", fmt::format("{} of 0 bytes", request.collective), "use 1 byte or more");
  }
  const Bytes most = std::min(machine.memory_bytes, kMostBytes);
  if (request.bytes > most) {
    return fail("plan.size",
                fmt::format("{} of {} does not fit in the memory of a GPU of {}: {}", request.collective,
                            format_bytes(request.bytes), machine.name, readable_bytes(machine.memory_bytes)),
                "use fewer bytes");
  }
  const Bytes element = size_of(request.dtype);
  if (variant.reduces && request.bytes.value % element.value != 0) {
    return fail("plan.size",
                fmt::format("{} bytes are not a whole number of {} elements of {} bytes", request.bytes.value,
                            to_string(request.dtype), element.value),
                nearest_multiples(request.bytes, element));
  }
  return {};
}

Status check_own_block(const CollectiveRequest& request) {
  if (request.own_block || request.collective == "all-to-all") return {};
  return fail(About::strategy, "plan.own_block",
              fmt::format("{} cannot skip the block that a rank sends to itself", request.collective),
              "only all-to-all can leave that block to the caller");
}

Status check_triggers(const CollectiveRequest& request) {
  if (request.prelaunch || request.trigger_words == TriggerWords::shared) return {};
  return fail(About::strategy, "plan.triggers", "per-queue trigger words, but nothing is prelaunched", "use prelaunch");
}

Status check_cores(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  const std::uint32_t units = request.compute_units;
  if (!variant.info.on_cores) {
    if (units == 0) return {};
    return fail(
        About::strategy, "plan.compute_units",
        fmt::format("{} {} moves data with DMA engines, not with compute units", request.collective, request.variant),
        "compute units only apply to the cores-* variants");
  }
  if (request.prelaunch) {
    return fail(About::strategy, "plan.prelaunch",
                fmt::format("{} {} cannot be prelaunched: a kernel would hold its compute units while it waits",
                            request.collective, request.variant),
                "do not prelaunch it");
  }
  const std::uint32_t parts = variant.ring || variant.library ? 1 : request.ranks;
  if (units == 0 || (units >= parts && units <= machine.compute_units)) return {};
  return fail(About::strategy, "plan.compute_units",
              fmt::format("{} compute units requested for a kernel of {} part{}, but GPUs have {}", units, parts,
                          parts == 1 ? "" : "s", machine.compute_units),
              parts > machine.compute_units
                  ? "leave it out: every part then gets one"
                  : fmt::format("use {} to {}, or leave it out", parts, machine.compute_units));
}

Status check_library(const CollectiveRequest& request, const Variant& variant, const Machine& machine) {
  if (!variant.library) return {};
  CORTADO_RETURN_IF_ERROR(library_variant(request, machine));
  const LibraryTiming& library = *machine.timing->library;
  const bool missing = (*variant.library == Protocol::ll128 && !library.ll128) ||
                       (*variant.library == Protocol::multicast && !library.multicast);
  if (!missing) return {};
  return fail(About::machine, "plan.feature",
              fmt::format("{} {} needs {}, which {} on machine {} does not have", request.collective, request.variant,
                          *variant.library == Protocol::ll128 ? "the protocol LL128" : "a switch that adds (NVLS)",
                          library.name, machine.name),
              "use variant library");
}

/// The number of compute units if the caller does not specify it.
std::uint32_t units_of_library(const Variant& variant, const Machine& machine) {
  if (!machine.timing) return 0;
  if (variant.library) {
    const bool sends = *variant.library == Protocol::sends;
    return sends ? machine.timing->library->send_units : machine.timing->cores.collective_units;
  }
  return std::min(machine.compute_units,
                  machine.timing->cores.collective_units * (variant.info.both_directions ? 2 : 1));
}

Status check_runtime(const CollectiveRequest& request, const Variant& variant) {
  if (request.runtime == RuntimeMode::raw) return {};
  const char* other = variant.info.on_cores ? "moves data with compute units"
                      : request.prelaunch   ? "is prelaunched"
                                            : nullptr;
  if (other == nullptr) return {};
  return fail(About::strategy, "plan.runtime",
              fmt::format("{} {} {}: there is no runtime between it and the engines", request.collective,
                          request.variant, other),
              "use the raw mode, or another variant without prelaunch");
}

/// A thread drives the engines of its own computer only.
Status choose_hosts(CollectiveRequest& request, const Machine& machine) {
  const bool several = machine.spans_hosts(request.ranks);
  if (!request.host) request.host = several ? HostThreads::per_rank : HostThreads::single;
  if (!several || request.host == HostThreads::per_rank) return {};
  return fail(About::request, "plan.hosts",
              fmt::format("one host thread cannot drive {} GPUs of {}, which has {} per computer", request.ranks,
                          machine.name, machine.timing->host.gpus),
              "use --hosts per-rank, or leave it out");
}

Status check_ways(const CollectiveRequest& request, const Variant& variant) {
  if (request.ways == 0 || variant.takes_ways) return {};
  return fail(About::strategy, "plan.ways", fmt::format("{} {} has no ways", request.collective, request.variant),
              "ways sets how many copies share an engine in the b2b variants");
}

}  // namespace

std::string nearest_multiples(Bytes bytes, Bytes unit) {
  const std::uint64_t below = bytes.value / unit.value * unit.value;
  const std::string above = format_bytes(Bytes{below + unit.value});
  return below == 0 ? fmt::format("use {}", above) : fmt::format("use {} or {}", format_bytes(Bytes{below}), above);
}

Result<CollectiveRequest> check_request(const CollectiveRequest& request, const Variant& variant,
                                        const Machine& machine) {
  CollectiveRequest checked = request;
  if (checked.ranks == 0) checked.ranks = machine.gpus;
  CORTADO_RETURN_IF_ERROR(check_ranks(checked, variant, machine));
  CORTADO_RETURN_IF_ERROR(check_placement(checked, variant));
  CORTADO_RETURN_IF_ERROR(check_ways(checked, variant));
  CORTADO_RETURN_IF_ERROR(check_own_block(checked));
  CORTADO_RETURN_IF_ERROR(check_triggers(checked));
  CORTADO_RETURN_IF_ERROR(check_cores(checked, variant, machine));
  CORTADO_RETURN_IF_ERROR(check_library(checked, variant, machine));
  CORTADO_RETURN_IF_ERROR(check_runtime(checked, variant));
  if (checked.runtime != RuntimeMode::raw || variant.info.on_cores) checked.host = HostThreads::per_rank;
  CORTADO_RETURN_IF_ERROR(choose_hosts(checked, machine));
  if (variant.info.on_cores) {
    if (checked.compute_units == 0) checked.compute_units = units_of_library(variant, machine);
  } else {
    CORTADO_RETURN_IF_ERROR(check_machine(machine));
  }
  CORTADO_RETURN_IF_ERROR(check_feature(checked, variant, machine));
  CORTADO_RETURN_IF_ERROR(check_ring(checked, variant, machine));
  CORTADO_RETURN_IF_ERROR(check_size(checked, variant, machine));
  return checked;
}

}  // namespace cortado::plan
