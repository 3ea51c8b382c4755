#include "device/soft/engine_queue.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "device/soft/memory_word.hpp"
#include "ir/visit.hpp"

namespace cortado::device::soft {
namespace {

// A step ends after this many bytes, so that no queue keeps a thread to itself and waiting callers check their own
// condition often enough. A packet also counts as some bytes, for steps of many small packets.
constexpr std::uint64_t kStepBytes = 1 << 20;
constexpr std::uint64_t kPacketCost = 1 << 11;
constexpr std::uint64_t kHeavyStep = 1 << 15;

constexpr std::uint64_t kTimestampSlot = 32;

}  // namespace

EngineQueue::EngineQueue(const EngineContext& context, const SdmaQueueRequest& request, std::uint32_t id,
                         const Pages& ring, EngineInjection* injection, std::uint64_t* read_pointer)
    : handle_{{request.gpu, request.engine, id, ring.data, request.ring_bytes.value, &host_.write_pointer,
               read_pointer != nullptr ? read_pointer : &engine_.read_pointer, &host_.doorbell},
              this},
      injection_(injection),
      context_(context),
      ring_(ring),
      stream_(ring.data, request.ring_bytes.value) {}

EngineQueue::~EngineQueue() {
  if (injection_ != nullptr) injection_->queue_destroyed(handle_.id);
  if (ring_.mapping != nullptr) unmap_pages(ring_.mapping, ring_.mapped_bytes);
}

bool EngineQueue::write_doorbell(std::uint64_t write_offset) {
  std::atomic_ref(host_.write_pointer).store(write_offset, std::memory_order_release);
  if (injection_ != nullptr) [[unlikely]] {
    if (injection_->drops_doorbell(host_.doorbells++)) return false;
  }
  std::atomic_ref(host_.doorbell).store(write_offset, std::memory_order_release);
  return true;
}

// --- Fetching --------------------------------------------------------------------------------------------------------

bool EngineQueue::doorbell_rang() const {
  auto& doorbell = const_cast<std::uint64_t&>(host_.doorbell);  // std::atomic_ref takes no const object
  return std::atomic_ref(doorbell).load(std::memory_order_acquire) != stream_.announced();
}

bool EngineQueue::notice_doorbell() {
  const std::uint64_t write_offset = std::atomic_ref(host_.doorbell).load(std::memory_order_acquire);
  if (write_offset == stream_.announced()) return false;
  if (auto fault = stream_.announce(write_offset, read_offset())) {
    stop(std::move(*fault), read_offset(), fetched_);
    return false;
  }
  return true;
}

EngineQueue::Fetched EngineQueue::fetch() {
  if (stream_.exhausted()) return Fetched::nothing;
  if (injection_ != nullptr) [[unlikely]] {
    stalled_ = injection_->stalls(handle_.id, fetched_);
    if (stalled_) return Fetched::nothing;
  }
  if (const auto& buffer = stream_.indirect();
      buffer && !host_address(buffer->base, buffer->dwords * sizeof(std::uint32_t))) {
    outside_memory(buffer->base, "indirect buffer");
    return Fetched::nothing;
  }
  switch (stream_.fetch()) {
    case PacketStream::Fetch::packet:
      break;
    case PacketStream::Fetch::empty:
    case PacketStream::Fetch::incomplete:
      return Fetched::nothing;
    case PacketStream::Fetch::fault:
      stop(stream_.fault(), stream_.packet_offset(), fetched_);
      return Fetched::nothing;
  }
  ++fetched_;
  if (context_.observer != nullptr) [[unlikely]] {
    context_.observer->fetched(handle_, stream_.packet(), {stream_.packet_offset(), fetched_ - 1});
  }
  const auto shape = transfer_shape(stream_.packet());
  held_ = !shape;
  if (!shape) return Fetched::control;
  shape_ = *shape;
  return Fetched::transfer;
}

bool EngineQueue::check(const sdma::Packet& packet, HostPlaces& places, std::uint64_t offset, std::uint64_t index) {
  auto fault = check_transfer(packet, context_.rules, context_.memory, ranges_, places);
  if (!fault) [[likely]]
    return true;
  stop(std::move(*fault), offset, index);
  return false;
}

bool EngineQueue::move(const sdma::Packet& packet, const HostPlaces& places, std::uint64_t first, std::uint64_t count,
                       std::uint64_t offset, std::uint64_t index) {
  const bool slow = injection_ != nullptr && injection_->slowness() > 1;
  const std::uint64_t begin = slow ? steady_nanoseconds() : 0;
  if (context_.trackers.idle()) [[likely]] {
    move_units(packet, places, first, count);
    if (slow) [[unlikely]] {
      const std::uint64_t end = steady_nanoseconds();
      slow_until_ = end + (end - begin) * (injection_->slowness() - 1);
    }
    return true;
  }
  auto fault = move_tracked_units(packet, first, count, context_.trackers);
  if (!fault) return true;
  stop(std::move(*fault), offset, index);
  return false;
}

void EngineQueue::start_transfer() {
  transfers_.push_back(
      {std::move(stream_.packet()), shape_, 0, shape_.units, stream_.packet_offset(), fetched_ - 1, places_});
}

StepResult EngineQueue::step() {
  std::uint64_t budget = kStepBytes;
  bool progressed = false;
  const auto end = [&](Next next) {
    if (next == Next::idle) notice_rest();
    return StepResult{next, progressed, kStepBytes - budget >= kHeavyStep};
  };
  while (!stopped_) {
    if (slow_until_ != 0) [[unlikely]] {
      if (steady_nanoseconds() < slow_until_) return end(Next::look_again);
      slow_until_ = 0;
    }
    if (!transfers_.empty()) {
      // A large transfer continues. It is checked again: its memory may have been released since the last step.
      Transfer& transfer = transfers_.front();
      if (!check(transfer.packet, transfer.places, transfer.offset, transfer.index)) break;
      const std::uint64_t piece =
          std::min(transfer.last - transfer.first, std::max<std::uint64_t>(budget / transfer.shape.unit_bytes, 1));
      if (!move(transfer.packet, transfer.places, transfer.first, piece, transfer.offset, transfer.index)) break;
      transfer.first += piece;
      progressed = true;
      budget -= std::min(budget, piece * transfer.shape.unit_bytes);
      if (!transfer.finished()) return end(Next::again);
      notice_finished(transfer.packet, transfer.offset, transfer.index);
      transfers_.clear();
      publish_read_offset();
    }
    if (held_) {
      const Outcome outcome = execute_control();
      if (outcome == Outcome::hold) return end(Next::look_again);
      if (outcome == Outcome::fault) break;
      held_ = false;
      progressed = true;
      notice_finished(stream_.packet(), stream_.packet_offset(), fetched_ - 1);
      publish_read_offset();
    }
    if (stream_.exhausted() && !notice_doorbell()) return end(Next::idle);
    if (budget < kPacketCost) return end(Next::again);
    budget -= kPacketCost;
    switch (fetch()) {
      case Fetched::control:
        break;
      case Fetched::transfer: {
        const sdma::Packet& packet = stream_.packet();
        if (!check(packet, places_, stream_.packet_offset(), fetched_ - 1)) return end(Next::idle);
        const std::uint64_t bytes = shape_.units * shape_.unit_bytes;
        if (bytes <= budget) {
          if (!move(packet, places_, 0, shape_.units, stream_.packet_offset(), fetched_ - 1)) return end(Next::idle);
          notice_finished(packet, stream_.packet_offset(), fetched_ - 1);
          budget -= bytes;
          progressed = true;
          publish_read_offset();
        } else {
          start_transfer();
        }
        break;
      }
      case Fetched::nothing:
        publish_read_offset();
        if (stopped_ || stalled_ || !notice_doorbell()) return end(Next::idle);
        break;
    }
  }
  return end(Next::idle);
}

// --- Packets that move no bytes --------------------------------------------------------------------------------------

EngineQueue::Outcome EngineQueue::execute_control() {
  if (context_.observer != nullptr) [[unlikely]] {
    if (!context_.observer->due(handle_, stream_.packet(), {stream_.packet_offset(), fetched_ - 1})) {
      return Outcome::hold;
    }
  }
  return std::visit([this](const auto& packet) { return run(packet); }, stream_.packet());
}

EngineQueue::SignalFate EngineQueue::signal_fate() {
  if (injection_ == nullptr) [[likely]]
    return SignalFate::write;
  if (!signal_met_) {
    signal_met_ = true;
    const std::uint64_t number = signals_++;
    signal_lost_ = injection_->loses_signal(number);
    const std::uint64_t delay = injection_->delays_signal(number);
    signal_due_ = delay == 0 ? 0 : context_.delays.now() + delay;
  }
  if (signal_due_ != 0 && context_.delays.now() < signal_due_) return SignalFate::hold;
  signal_met_ = false;
  signal_due_ = 0;
  return signal_lost_ ? SignalFate::lose : SignalFate::write;
}

EngineQueue::Outcome EngineQueue::run(const sdma::Fence& packet) {
  const auto address = host_address(packet.address, sizeof(std::uint32_t));
  if (!address) return outside_memory(packet.address, "fence");
  const SignalFate fate = signal_fate();
  if (fate == SignalFate::hold) return Outcome::hold;
  if (fate == SignalFate::write) store_half(*address, packet.value);
  return Outcome::done;
}

EngineQueue::Outcome EngineQueue::run(const sdma::Atomic& packet) {
  const auto form = atomic_form(packet.operation);
  if (!form) {
    return stop({FaultKind::unsupported, 0, fmt::format("unknown atomic operation {:#x}", packet.operation)});
  }
  const std::uint64_t bytes = form->wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
  const auto address = host_address(packet.address, bytes);
  if (!address) return outside_memory(packet.address, "atomic");
  const bool looping = packet.loop && form->function == kAtomicCompareSwap;
  if (looping) {
    const std::uint64_t seen = form->wide ? load_word(*address) : load_half(*address);
    const std::uint64_t wanted = form->wide ? packet.compare : static_cast<std::uint32_t>(packet.compare);
    if (seen != wanted) return Outcome::hold;
  }
  const SignalFate fate = signal_fate();
  if (fate == SignalFate::hold) return Outcome::hold;
  if (fate == SignalFate::lose) return Outcome::done;
  if (packet.operation == sdma::kAtomicAdd64) [[likely]] {
    add_to_word(*address, packet.data);
    return Outcome::done;
  }
  const bool matched = apply_atomic(*form, *address, packet.data, packet.compare);
  return matched || !looping ? Outcome::done : Outcome::hold;
}

EngineQueue::Outcome EngineQueue::run(const sdma::Trap& packet) {
  if (injection_ != nullptr && injection_->loses_interrupt(traps_++)) [[unlikely]]
    return Outcome::done;
  context_.host.trap(handle_, packet.context);
  return Outcome::done;
}

EngineQueue::Outcome EngineQueue::run(const sdma::PollRegmem& packet) {
  if (!packet.memory || packet.hdp_flush) {
    return stop({FaultKind::unsupported, 0, "this node has no registers to poll"});
  }
  const auto address = host_address(packet.address, sizeof(std::uint32_t));
  if (!address) return outside_memory(packet.address, "poll");
  // A finite retry count is treated as infinite: what engines do when it runs out is not known.
  const std::uint32_t value = load_half(*address) & packet.mask;
  return poll_holds(packet.function, value, packet.reference) ? Outcome::done : Outcome::hold;
}

EngineQueue::Outcome EngineQueue::run(const sdma::Timestamp& packet) {
  if (packet.operation == sdma::TimestampOp::set) return Outcome::done;  // the clock belongs to the host
  const std::uint64_t address = packet.address_or_value;
  if (address % kTimestampSlot != 0) {
    return stop({FaultKind::misaligned, address,
                 fmt::format("timestamp slot {:#x} is not {}-byte aligned", address, kTimestampSlot)});
  }
  const auto slot = host_address(address, sizeof(std::uint64_t));
  if (!slot) return outside_memory(address, "timestamp");
  store_word(*slot, context_.host.timestamp(handle_));
  return Outcome::done;
}

EngineQueue::Outcome EngineQueue::run(const sdma::CondExe& packet) {
  const auto address = host_address(packet.address, sizeof(std::uint32_t));
  if (!address) return outside_memory(packet.address, "condition");
  if (load_half(*address) != packet.reference) stream_.skip(packet.exec_count);
  return Outcome::done;
}

EngineQueue::Outcome EngineQueue::run(const sdma::Indirect& packet) {
  if (stream_.indirect()) {
    return stop({FaultKind::unsupported, packet.base, "an indirect buffer calls an indirect buffer"});
  }
  const std::uint64_t bytes = std::uint64_t{packet.dwords} * sizeof(std::uint32_t);
  const auto data = bytes == 0 ? packet.base : host_address(packet.base, bytes);
  if (!data) return outside_memory(packet.base, "indirect buffer");
  stream_.enter(packet.base, packet.dwords, *data - packet.base);
  return Outcome::done;
}

EngineQueue::Outcome EngineQueue::run(const sdma::CopyFused& packet) {
  if (!context_.rules.features.fused_packets) {
    return stop({FaultKind::unsupported, 0, "this machine's engines have no fused packets"});
  }
  std::vector<sdma::Packet> parts;
  if (packet.waits) parts.emplace_back(sdma::PollRegmem{.address = packet.wait, .reference = packet.reference});
  parts.emplace_back(sdma::CopyLinear{packet.bytes, packet.src, packet.dst});
  if (packet.signals) parts.emplace_back(sdma::Atomic{.address = packet.signal, .data = packet.value});
  stream_.expand(std::move(parts));
  return Outcome::done;
}

// --- Faults and state ------------------------------------------------------------------------------------------------

EngineQueue::Outcome EngineQueue::outside_memory(std::uint64_t address, const char* what) {
  return stop(
      {FaultKind::bad_address, address, fmt::format("{} address {:#x} is not inside an allocation", what, address)});
}

EngineQueue::Outcome EngineQueue::stop(PacketFault fault, std::uint64_t offset, std::uint64_t index) {
  stopped_ = true;
  held_ = false;
  transfers_.clear();
  fault_message_ = fault.message;
  context_.host.fault(
      {fault.kind, handle_.gpu, handle_.engine, handle_.id, index, offset, fault.address, std::move(fault.message)});
  // The read pointer stays at the packet that stopped the queue.
  std::atomic_ref(*handle_.read_pointer).store(offset, std::memory_order_release);
  return Outcome::fault;
}

std::uint64_t EngineQueue::read_offset() const {
  if (!transfers_.empty()) return transfers_.front().offset;
  return held_ ? stream_.packet_offset() : stream_.offset();
}

void EngineQueue::publish_read_offset() {
  if (stopped_) return;
  std::atomic_ref(*handle_.read_pointer).store(read_offset(), std::memory_order_release);
}

QueueState EngineQueue::state() const {
  auto& words = const_cast<EngineQueue&>(*this);  // std::atomic_ref takes no const object
  return {std::atomic_ref(*handle_.read_pointer).load(std::memory_order_acquire),
          std::atomic_ref(words.host_.doorbell).load(std::memory_order_acquire), doing()};
}

std::string EngineQueue::doing() const {
  static constexpr const char* kComparisons[] = {"anything", "<", "<=", "==", "!=", ">=", ">"};
  if (stopped_) return "stopped by a fault: " + fault_message_;
  if (stalled_) return "not fetching: the engine is stalled";
  const auto unfinished = std::ranges::count_if(transfers_, [](const Transfer& t) { return !t.finished(); });
  if (held_) {
    const sdma::Packet& packet = const_cast<EngineQueue*>(this)->stream_.packet();
    if (const auto* poll = std::get_if<sdma::PollRegmem>(&packet)) {
      const auto mapping = context_.memory.mapping(poll->address, sizeof(std::uint32_t));
      return fmt::format(
          "polling {:#x} {} {}, reads {}", poll->address, kComparisons[static_cast<std::size_t>(poll->function)],
          poll->reference,
          mapping ? std::to_string(load_half(poll->address + mapping->to_host) & poll->mask) : "nothing: not mapped");
    }
    if (unfinished == 0 && signal_due_ != 0) return "delaying a signal: " + sdma::to_string(packet);
    if (unfinished == 0) return "at " + sdma::to_string(packet);
  }
  if (unfinished > 0) return fmt::format("copies in flight: {}", unfinished);
  if (stream_.offset() == stream_.announced() && !doorbell_rang()) return "idle";
  if (doorbell_rang()) return "about to fetch";
  return "waiting for the rest of a packet";
}

}  // namespace cortado::device::soft
