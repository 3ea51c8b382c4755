#include "device/vkfd/aql_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "device/soft/memory_word.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr int kPacketsPerStep = 64;

std::uint16_t load_header(std::byte* packet) {
  return std::atomic_ref(*reinterpret_cast<std::uint16_t*>(packet)).load(std::memory_order_acquire);
}

template <class Packet>
Packet packet_at(const std::byte* packet) {
  Packet whole;
  std::memcpy(static_cast<void*>(&whole), packet, sizeof(whole));
  return whole;
}

bool compares(std::int64_t value, aql::Condition condition, std::int64_t reference) {
  switch (condition) {
    case aql::Condition::eq:
      return value == reference;
    case aql::Condition::ne:
      return value != reference;
    case aql::Condition::lt:
      return value < reference;
    case aql::Condition::ge:
      return value >= reference;
  }
  return false;
}

// A copy kernel, identified by the FNV-1a hash of the first bytes of its code. Its arguments are 64-bit words; these
// are the indices of the source begin, the destination begin and the source end.
struct CopyKernel {
  std::uint64_t hash;
  std::size_t source_begin;
  std::size_t destination_begin;
  std::size_t source_end;
};
constexpr std::uint64_t kHashedBytes = 256;
constexpr CopyKernel kCopyKernels[] = {
    {0xaef26b74f59c065f, 0, 1, 8},  // CopyAligned of ROCr 5.2.3 for gfx90a
};

std::uint64_t hash_of(const std::byte* code) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t i = 0; i < kHashedBytes; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(code[i])) * 0x100000001b3;
  }
  return hash;
}

/// The word of a signal that others wait for.
std::uint64_t value_address(std::uint64_t signal) {
  return signal + offsetof(aql::Signal, value);
}

}  // namespace

// A doorbell value of 0 announces the first packet.
AqlQueue::AqlQueue(AqlHost& host, const PageTable& pages, std::uint32_t gpu, std::uint32_t id, const RingPlace& place)
    : ProgramQueue(place.doorbell, ~std::uint64_t{0}), host_(host), pages_(pages), gpu_(gpu), id_(id), place_(place) {
  read_ = std::atomic_ref(*place_.read_pointer).load(std::memory_order_acquire);
}

soft::StepResult AqlQueue::step() {
  soft::StepResult result;
  for (int i = 0; i < kPacketsPerStep; ++i) {
    if (stopped_ || read_ >= std::atomic_ref(*place_.write_pointer).load(std::memory_order_acquire)) return result;
    std::byte* const packet = place_.ring + read_ * aql::kPacketBytes % place_.ring_bytes;
    switch (execute(packet)) {
      case Outcome::stopped:
        return {soft::Next::idle, true};
      case Outcome::hold:
        result.next = soft::Next::look_again;
        return result;
      case Outcome::done:
        break;
    }
    begun_ = 0;
    result.progressed = true;
    std::atomic_ref(*reinterpret_cast<std::uint16_t*>(packet))
        .store(static_cast<std::uint16_t>(aql::PacketType::invalid), std::memory_order_release);
    std::atomic_ref(*place_.read_pointer).store(++read_, std::memory_order_release);
  }
  result.next = soft::Next::again;
  return result;
}

soft::StepResult AqlQueue::random_step(Random& random) {
  if (random.chance(2)) return {soft::Next::again, false};
  soft::StepResult result = step();
  if (result.next == soft::Next::look_again) result.next = soft::Next::again;
  return result;
}

AqlQueue::Outcome AqlQueue::execute(std::byte* packet) {
  if (begun_ == 0) begun_ = host_.gpu_clock();
  seen_.clear();
  const auto type = static_cast<aql::PacketType>(load_header(packet) & 0xff);
  Outcome outcome = Outcome::hold;
  switch (type) {
    case aql::PacketType::invalid:
      return Outcome::hold;  // its slot is reserved, but it is not written yet
    case aql::PacketType::barrier_and:
      outcome = wait_all(packet_at<aql::Barrier>(packet));
      break;
    case aql::PacketType::barrier_or:
      outcome = wait_any(packet_at<aql::Barrier>(packet));
      break;
    case aql::PacketType::vendor: {
      const auto format = static_cast<aql::VendorFormat>(packet_at<aql::BarrierValue>(packet).format);
      if (format == aql::VendorFormat::barrier_value) {
        outcome = wait_value(packet_at<aql::BarrierValue>(packet));
      } else if (format == aql::VendorFormat::pm4) {
        outcome = run_commands(packet_at<aql::Pm4>(packet));
      } else {
        outcome = refuse(fmt::format("a packet of the vendor's format {}", static_cast<unsigned>(format)));
      }
      break;
    }
    case aql::PacketType::kernel_dispatch:
      outcome = run_kernel(packet_at<aql::KernelDispatch>(packet));
      break;
    case aql::PacketType::agent_dispatch:
      return refuse("a call of an agent");
    default:
      return refuse(fmt::format("a packet of type {}", static_cast<unsigned>(type)));
  }
  if (outcome != Outcome::done) return outcome;
  return complete(packet_at<aql::Barrier>(packet).completion);
}

AqlQueue::Outcome AqlQueue::wait_all(const aql::Barrier& barrier) {
  for (const std::uint64_t signal : barrier.dependencies) {
    if (signal == 0) continue;
    const auto value = value_of(signal);
    if (!value) return Outcome::stopped;
    if (*value != 0) return Outcome::hold;
    seen_.push_back(value_address(signal));
  }
  return Outcome::done;
}

AqlQueue::Outcome AqlQueue::wait_any(const aql::Barrier& barrier) {
  bool depends = false;
  for (const std::uint64_t signal : barrier.dependencies) {
    if (signal == 0) continue;
    depends = true;
    const auto value = value_of(signal);
    if (!value) return Outcome::stopped;
    if (*value == 0) seen_.push_back(value_address(signal));
  }
  return depends && seen_.empty() ? Outcome::hold : Outcome::done;
}

AqlQueue::Outcome AqlQueue::wait_value(const aql::BarrierValue& barrier) {
  if (barrier.signal == 0) return Outcome::done;
  const auto value = value_of(barrier.signal);
  if (!value) return Outcome::stopped;
  if (!compares(*value & barrier.mask, static_cast<aql::Condition>(barrier.condition), barrier.value)) {
    return Outcome::hold;
  }
  seen_.push_back(value_address(barrier.signal));
  return Outcome::done;
}

/// Cache commands need no action here; all other commands could change memory.
AqlQueue::Outcome AqlQueue::run_commands(const aql::Pm4& packet) {
  const std::uint64_t base = std::uint64_t{packet.base_high} << 32 | packet.base_low;
  const std::uint32_t dwords = packet.dwords & aql::kPm4SizeMask;
  const auto at = host_address(base, dwords * sizeof(std::uint32_t));
  if (!at) return outside_memory(base);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(*at);
  for (std::uint32_t i = 0; i < dwords;) {
    constexpr std::uint32_t kType3 = 3;
    const std::uint32_t header = words[i];
    const std::uint32_t operation = header >> 8 & 0xff;
    if (header >> 30 != kType3 || (operation != aql::kPm4Nop && operation != aql::kPm4AcquireMem)) {
      return refuse(fmt::format("the command {:#x} of the command processor", header));
    }
    i += (header >> 16 & 0x3fff) + 2;
  }
  return Outcome::done;
}

AqlQueue::Outcome AqlQueue::run_kernel(const aql::KernelDispatch& packet) {
  constexpr std::uint64_t kOffsetPlace = 16;
  constexpr std::uint64_t kMostArguments = 16;
  std::int64_t offset = 0;
  const auto description = host_address(packet.kernel, kOffsetPlace + sizeof(offset));
  if (!description) return outside_memory(packet.kernel);
  std::memcpy(&offset, reinterpret_cast<const void*>(*description + kOffsetPlace), sizeof(offset));
  const std::uint64_t entry = packet.kernel + static_cast<std::uint64_t>(offset);
  const auto code = host_address(entry, kHashedBytes);
  const std::uint64_t hash = code ? hash_of(reinterpret_cast<const std::byte*>(*code)) : 0;
  const auto* const known = std::ranges::find(kCopyKernels, hash, &CopyKernel::hash);
  const auto words = host_address(packet.arguments, kMostArguments * sizeof(std::uint64_t));
  if (known == std::end(kCopyKernels) || !words) {
    return refuse(fmt::format("a kernel (code {:016x}, {} work-items)", hash,
                              std::uint64_t{packet.grid_size[0]} * packet.grid_size[1] * packet.grid_size[2]));
  }
  std::uint64_t arguments[kMostArguments];
  std::memcpy(arguments, reinterpret_cast<const void*>(*words), sizeof(arguments));
  const std::uint64_t begin = arguments[known->source_begin];
  return copy(begin, arguments[known->destination_begin], arguments[known->source_end] - begin);
}

AqlQueue::Outcome AqlQueue::copy(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  const auto source = host_address(from, bytes);
  if (!source) return outside_memory(from);
  const auto destination = host_address(to, bytes);
  if (!destination) return outside_memory(to);
  std::memmove(reinterpret_cast<void*>(*destination), reinterpret_cast<const void*>(*source), bytes);
  return Outcome::done;
}

AqlQueue::Outcome AqlQueue::complete(std::uint64_t address) {
  if (address == 0) {
    host_.passed(id_, seen_, 0);
    return Outcome::done;
  }
  aql::Signal* const signal = signal_at(address);
  if (signal == nullptr) return Outcome::stopped;
  signal->begin = begun_;
  signal->end = host_.gpu_clock();
  // Whoever sees the value may free the signal.
  const std::uint64_t mailbox = signal->mailbox;
  const std::uint32_t event = signal->event_id;
  host_.passed(id_, seen_, value_address(address));
  std::atomic_ref(signal->value).fetch_sub(1, std::memory_order_acq_rel);
  if (mailbox == 0) return Outcome::done;
  const auto word = host_address(mailbox, sizeof(std::uint64_t));
  if (!word) return outside_memory(mailbox);
  soft::store_word(*word, event);
  host_.interrupt(event);
  return Outcome::done;
}

AqlQueue::Outcome AqlQueue::refuse(const std::string& why) {
  stopped_ = true;
  host_.refused(gpu_, id_, read_, why);
  return Outcome::stopped;
}

AqlQueue::Outcome AqlQueue::outside_memory(std::uint64_t address) {
  stopped_ = true;
  host_.bad_address(gpu_, id_, read_, address);
  return Outcome::stopped;
}

std::optional<std::uint64_t> AqlQueue::host_address(std::uint64_t address, std::uint64_t bytes) {
  const soft::Mapping* const mapping = ranges_.find(pages_, address, bytes);
  if (mapping == nullptr) return std::nullopt;
  return address + mapping->to_host;
}

aql::Signal* AqlQueue::signal_at(std::uint64_t address) {
  const auto at = host_address(address, sizeof(aql::Signal));
  if (at) return reinterpret_cast<aql::Signal*>(*at);
  outside_memory(address);
  return nullptr;
}

std::optional<std::int64_t> AqlQueue::value_of(std::uint64_t signal) {
  aql::Signal* const found = signal_at(signal);
  if (found == nullptr) return std::nullopt;
  return std::atomic_ref(found->value).load(std::memory_order_acquire);
}

}  // namespace cortado::device::vkfd
