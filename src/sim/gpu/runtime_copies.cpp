#include "sim/gpu/runtime_copies.hpp"

#include <algorithm>
#include <cmath>

#include "ir/visit.hpp"
#include "sim/fluid/fluid.hpp"

namespace cortado::sim {
namespace {

SimTime times(std::uint64_t count, Nanoseconds each) {
  return to_sim_time({static_cast<std::int64_t>(count) * each.value});
}

}  // namespace

RuntimeCopies::RuntimeCopies(const Program& program, const Timing& timing) : program_(program), timing_(timing) {
  for (const Queue& queue : program.queues) {
    const bool called = queue.submission != Submission::ring;
    copies_.push_back(called ? static_cast<std::uint32_t>(std::ranges::count_if(queue.commands, moves_bytes)) : 0);
  }
}

std::optional<RuntimeCopies::Called> RuntimeCopies::copy(std::uint32_t queue, const Command& command, std::uint32_t k,
                                                         bool behind) const {
  if (copies_[queue] == 0) return std::nullopt;
  const RuntimeTiming& runtime = *timing_.runtime;
  const Accesses all = accesses(command);
  const Bytes bytes = all.front().region.bytes();
  const bool small = bytes < runtime.shader_bytes;
  const bool to_host = std::ranges::any_of(all, [&](const Access& access) {
    return access.kind != AccessKind::read && program_.buffer(access.region.buffer).host.has_value();
  });
  if (by_calls(queue)) {
    const Nanoseconds start = small ? runtime.shader_copy : to_host ? runtime.copy_from_gpu : runtime.copy_to_gpu;
    return Called{times(std::uint64_t{k} + 1, runtime.call), to_sim_time(start), true};
  }
  if (!to_host && !behind && bytes < runtime.small_batch_bytes) {
    const double seconds = static_cast<double>(bytes.value) *
                           (1 / runtime.small_batch_rate.bytes_per_second() - 1 / runtime.rate.bytes_per_second());
    const std::uint64_t ahead = std::min<std::uint64_t>(std::uint64_t{k} + 1, runtime.batch);
    const Nanoseconds listing = k < runtime.batch ? Nanoseconds{} : runtime.descriptor;
    return Called{times(ahead, runtime.descriptor), to_sim_time({std::llround(seconds * 1e9) + listing.value}), true};
  }
  const std::uint64_t pieces = k / runtime.batch + std::uint64_t{1};
  const std::uint64_t with = std::min<std::uint64_t>(pieces * runtime.batch, copies_[queue]);
  const SimTime handed = times(with, runtime.descriptor);
  const Nanoseconds start = small ? runtime.shader_batch_copy : runtime.batch_copy;
  const bool alone = start.value > 0;
  return Called{handed, to_sim_time(alone ? start : timing_.engine.copy_start), alone};
}

SimTime RuntimeCopies::host_time(std::uint32_t queue) const {
  return times(copies_[queue], by_calls(queue) ? timing_.runtime->call : timing_.runtime->descriptor);
}

double RuntimeCopies::rate(std::uint32_t queue) const {
  return copies_[queue] == 0 ? kUnlimited : timing_.runtime->rate.bytes_per_second();
}

SimTime kernel_list_time(const Program& program, const Queue& queue, const Timing& timing) {
  if (!timing.runtime) return {};
  if (std::ranges::none_of(program.buffers, [](const Buffer& buffer) { return buffer.host.has_value(); })) return {};
  const auto of_host = [&](const Command& command) {
    return std::ranges::any_of(
        accesses(command), [&](const Access& access) { return program.buffer(access.region.buffer).host.has_value(); });
  };
  std::uint64_t copies = 0;
  for (const Queue& part : program.queues) {
    const bool same =
        &part == &queue || (!queue.kernel.empty() && part.kernel == queue.kernel && part.rank == queue.rank);
    if (same) copies += static_cast<std::uint64_t>(std::ranges::count_if(part.commands, of_host));
  }
  return times(copies, timing.runtime->kernel_copy);
}

}  // namespace cortado::sim
