#include "device/vkfd/limit_reporter.hpp"

#include <fmt/format.h>

#include "device/soft/transfer.hpp"

namespace cortado::device::vkfd {

bool LimitReporter::first_of(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  return told_.insert(queue.id).second;
}

void LimitReporter::queue_gone(const SdmaQueue& queue) {
  const std::lock_guard lock(mutex_);
  told_.erase(queue.id);
}

void LimitReporter::fetched(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const Engine* const engine = machine_.engine(queue.engine);
  if (engine == nullptr || engine->kind != EngineClass::host) return;
  soft::for_each_access(packet, [&](std::uint64_t address, std::uint64_t, bool) {
    const std::uint32_t home = home_(queue.gpu.value, address);
    if (home == kHostMemory || home == queue.gpu.value || !first_of(queue)) return;
    log_(fmt::format(
        "GPU {} engine {} queue {}: packet {} at ring offset {:#x}: {:#x} is memory of GPU {}, but engine {} only "
        "serves the host: use an xGMI engine",
        queue.gpu.value, queue.engine.value, queue.id, place.index, place.offset, address, home, queue.engine.value));
  });
}

void LimitReporter::unheard(const SdmaQueue& queue, std::uint64_t offset) {
  if (!first_of(queue)) return;
  log_(
      fmt::format("GPU {} engine {} queue {}: packet 0 at ring offset 0x0 is never fetched: the silicon lacks this "
                  "engine (rung up to {:#x})",
                  queue.gpu.value, queue.engine.value, queue.id, offset));
}

}  // namespace cortado::device::vkfd
