#include "device/executor/binding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ir/visit.hpp"
#include "verify/packet_space.hpp"

namespace cortado::device {
namespace {

/// Ranges that stay mapped although nothing is bound to them any more: programs cycle through a few buffers.
constexpr std::size_t kMostMapped = 64;

[[gnu::cold]] Unexpected<Diagnostic> bad_binding(const Buffer& buffer, std::string message, std::string hint) {
  Diagnostic diagnostic{"device.binding", fmt::format("buffer {}: {}", buffer.name, message), std::move(hint)};
  diagnostic.place.rank = buffer.rank;
  return fail(std::move(diagnostic));
}

Status check_disjoint(const Program& program, std::span<const Binding> bindings) {
  // There are few buffers: checking all pairs beats sorting a copy, and allocates nothing.
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].empty()) continue;
    const std::byte* const begin = bindings[i].data();
    const std::byte* const end = begin + program.buffers[i].size.value;
    for (std::size_t j = i + 1; j < bindings.size(); ++j) {
      if (bindings[j].empty()) continue;
      const std::byte* const other = bindings[j].data();
      if (other >= end || other + program.buffers[j].size.value <= begin) continue;
      return bad_binding(program.buffers[j], fmt::format("its memory overlaps that of {}", program.buffers[i].name),
                         "the proof assumes that buffers do not overlap; plan it in place, or bind other memory");
    }
  }
  return {};
}

}  // namespace

Bytes needed_alignment(const Program& program, const Machine& machine) {
  std::uint64_t alignment = 1;
  const auto need = [&](std::uint64_t bytes) { alignment = std::max(alignment, bytes); };
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      match(
          command,
          [&](const Copy& copy) {
            if (copy.src.rows > 1) need(machine.dma.window_alignment.value);
            if (copy.op == CopyOp::add) need(size_of(copy.dtype).value);
          },
          [&](const Broadcast&) { need(machine.dma.broadcast_alignment.value); },
          [&](const Swap&) { need(machine.dma.swap_alignment.value); },
          [&](const Kernel& kernel) { need(size_of(kernel.dtype).value); },
          [&](const Gemm& gemm) { need(size_of(gemm.dtype).value); }, [&](const Call&) { need(sizeof(float)); },
          [](const auto&) {});
    }
  }
  return {alignment};
}

Status check_bindings(const Program& program, Bytes alignment, std::span<const Binding> bindings) {
  if (bindings.size() != program.buffers.size()) {
    return fail(
        "device.binding",
        fmt::format("{} bindings for the {} buffers of {}", bindings.size(), program.buffers.size(), program.name),
        "pass one for each buffer; for an empty one, the program uses its own memory");
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (bindings[i].empty()) continue;
    if (bindings[i].size() < buffer.size.value) {
      return bad_binding(buffer, fmt::format("{} bytes passed for {}", bindings[i].size(), buffer.size.value),
                         "bind memory of at least its size");
    }
    if (reinterpret_cast<std::uint64_t>(bindings[i].data()) % alignment.value != 0) {
      return bad_binding(buffer,
                         fmt::format("its memory is not {}-byte aligned, which its packets need", alignment.value),
                         "bind aligned memory, or use a variant of plain copies");
    }
  }
  return check_disjoint(program, bindings);
}

Status rebind(Preparation& prepared, std::span<const Binding> bindings) {
  const Program& program = prepared.program();
  if (!program.trackers.empty()) {
    return fail("device.binding", "trackers watch the memory that a program was prepared with", "prepare it again");
  }
  CORTADO_RETURN_IF_ERROR(check_bindings(program, prepared.binding_alignment, bindings));
  bool changes = false;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (prepared.bindings.empty() || bindings[i].empty() != prepared.bindings[i].empty()) {
      return bad_binding(program.buffers[i], "it was bound before and is not now, or vice versa",
                         "prepare the program again");
    }
    changes = changes || bindings[i].data() != prepared.bindings[i].data();
  }
  if (!changes) return {};
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    Binding& bound = prepared.bindings[i];
    if (bindings[i].data() == bound.data()) continue;
    const Bytes size = program.buffers[i].size;
    CORTADO_RETURN_IF_ERROR(prepared.resources.map_host({bindings[i].data(), size}));
    bound = bindings[i];
    prepared.addresses.buffers[i] = reinterpret_cast<std::uint64_t>(bound.data());
  }
  if (prepared.resources.mapped() > kMostMapped + bindings.size()) {
    prepared.resources.unmap_host_except([&](const std::byte* data) {
      return std::ranges::any_of(bindings, [&](const Binding& binding) { return binding.data() == data; });
    });
  }
  for (RingWriter& writer : prepared.dma) {
    CORTADO_RETURN_IF_ERROR(lower_again(program, writer.id(), prepared.addresses, prepared.advances, writer.frame(),
                                        packing_limits(prepared.verified.machine().features)));
  }
  for (ComputeStream& stream : prepared.compute) stream.resolve_again(program, prepared.addresses);
  return {};
}

}  // namespace cortado::device
