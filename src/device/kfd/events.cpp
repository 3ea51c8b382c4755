#include "device/kfd/events.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cortado::device {
namespace {

constexpr std::uint32_t kUnknown = 0xffffffff;

const char* cause(const kfd::MemoryException& what) {
  if (what.error_type != 0) return "memory error";
  if (what.not_present != 0) return "page not present";
  if (what.read_only != 0) return "write to a read-only page";
  if (what.no_execute != 0) return "page may not be executed";
  return "unknown cause";
}

}  // namespace

Expected<KfdEvents::Created, int> KfdEvents::create_locked(kfd::EventType type) {
  kfd::CreateEvent request;
  request.type = static_cast<std::uint32_t>(type);
  request.auto_reset = 1;
  if (page_ && !page_known_) request.page_offset = page_->handle;
  if (const int error = system_.call(files_.kfd, kfd::Call::create_event, request); error != 0) {
    return Unexpected(error);
  }
  if (page_) page_known_ = true;
  return Created{request.event_id, request.slot};
}

void KfdEvents::destroy_id(std::uint32_t id) {
  kfd::EventId request{id, 0};
  system_.call(files_.kfd, kfd::Call::destroy_event, request);
}

void KfdEvents::watch_exceptions() {
  const std::lock_guard lock(mutex_);
  if (const auto created = create_locked(kfd::EventType::memory)) exception_ = created->id;
}

Result<Event> KfdEvents::create() {
  const std::lock_guard lock(mutex_);
  if (!page_) {
    constexpr std::uint64_t kPageBytes = kfd::kMostSignals * sizeof(std::uint64_t);
    CORTADO_ASSIGN_OR_RETURN(page_, memory_.allocate_exactly(kPageBytes));
  }
  const auto created = create_locked(kfd::EventType::signal);
  if (!created) return fail(system_error("device.event", "AMDKFD_IOC_CREATE_EVENT", created.error()));
  live_.push_back(created->id);
  // A FENCE writes the event id there, before the TRAP with that id.
  return Event{created->id, reinterpret_cast<std::uint64_t*>(page_->memory.data) + created->slot % kfd::kMostSignals};
}

void KfdEvents::destroy(const Event& event) {
  const std::lock_guard lock(mutex_);
  CORTADO_CHECK(std::ranges::find(live_, event.id) != live_.end(), "an event was created by this driver");
  destroy_id(event.id);
  std::erase(live_, event.id);
}

void KfdEvents::destroy_all() {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t id : live_) destroy_id(id);
  if (exception_) destroy_id(*exception_);
  live_.clear();
  exception_.reset();
}

bool KfdEvents::wait(const Event& event, std::chrono::nanoseconds timeout) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  // The largest 32-bit number means for ever; one day is long enough for any caller.
  constexpr std::int64_t kDay = 86'400'000;
  kfd::EventData data;
  data.event_id = event.id;
  kfd::WaitEvents request;
  request.events = reinterpret_cast<std::uintptr_t>(&data);
  request.count = 1;
  request.all = 1;
  request.timeout_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, 0, kDay));
  return system_.call(files_.kfd, kfd::Call::wait_events, request) == 0 &&
         request.result == static_cast<std::uint32_t>(kfd::WaitResult::complete);
}

std::vector<EngineFault> KfdEvents::faults() {
  const std::lock_guard lock(mutex_);
  if (!faults_.empty() || !exception_) return faults_;
  kfd::EventData data;
  data.event_id = *exception_;
  kfd::WaitEvents request;
  request.events = reinterpret_cast<std::uintptr_t>(&data);
  request.count = 1;
  const int error = system_.call(files_.kfd, kfd::Call::wait_events, request);
  if (error != 0 || request.result != static_cast<std::uint32_t>(kfd::WaitResult::complete)) return faults_;
  const auto gpu = std::ranges::find(discovery_.gpus, data.memory.gpu_id, &KfdGpu::id);
  EngineFault fault;
  fault.kind = FaultKind::bad_address;
  fault.gpu =
      RankId{gpu == discovery_.gpus.end() ? kUnknown : static_cast<std::uint32_t>(gpu - discovery_.gpus.begin())};
  fault.engine = EngineId{kUnknown};
  fault.queue = kUnknown;
  fault.address = data.memory.va;
  fault.message = fmt::format("memory exception at {:#x}: {}; the driver does not report the engine", fault.address,
                              cause(data.memory));
  faults_.push_back(std::move(fault));
  return faults_;
}

}  // namespace cortado::device
