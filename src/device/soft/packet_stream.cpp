#include "device/soft/packet_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace cortado::device::soft {
namespace {

constexpr std::uint64_t kDword = sizeof(std::uint32_t);

std::span<const std::uint32_t> dwords_at(const std::byte* data, std::uint64_t bytes) {
  return {reinterpret_cast<const std::uint32_t*>(data), bytes / kDword};
}

}  // namespace

PacketStream::PacketStream(const std::byte* ring, std::uint64_t ring_bytes) : ring_(ring), ring_bytes_(ring_bytes) {}

std::optional<PacketFault> PacketStream::announce(std::uint64_t write_offset, std::uint64_t read_offset) {
  const auto refuse = [](std::string message) { return PacketFault{FaultKind::ring_overrun, 0, std::move(message)}; };
  if (write_offset % kDword != 0)
    return refuse(fmt::format("doorbell {} is not a whole number of dwords", write_offset));
  if (write_offset < announced_) {
    return refuse(fmt::format("doorbell {} is before the previous one, {}", write_offset, announced_));
  }
  if (write_offset - read_offset > ring_bytes_) {
    return refuse(fmt::format("doorbell {} is more than the {} bytes of the ring ahead of the read pointer {}",
                              write_offset, ring_bytes_, read_offset));
  }
  announced_ = write_offset;
  return std::nullopt;
}

void PacketStream::expand(std::vector<sdma::Packet> parts) {
  std::ranges::reverse(parts);
  parts_ = std::move(parts);
}

PacketStream::Fetch PacketStream::fetch() {
  if (!parts_.empty()) [[unlikely]] {
    packet_ = std::move(parts_.back());
    parts_.pop_back();
    return Fetch::packet;
  }
  return indirect_ ? fetch_from_indirect() : fetch_from_ring();
}

PacketStream::Fetch PacketStream::refuse(const sdma::DecodeError& error) {
  const bool misaligned = error.kind == sdma::DecodeErrorKind::misaligned;
  fault_ = {misaligned ? FaultKind::misaligned : FaultKind::unknown_packet, error.address, error.message};
  return Fetch::fault;
}

PacketStream::Fetch PacketStream::fetch_from_ring() {
  if (skip_ > 0) {
    const std::uint64_t skipped = std::min(skip_, (announced_ - offset_) / kDword);
    offset_ += skipped * kDword;
    skip_ -= skipped;
  }
  packet_offset_ = offset_;
  const std::uint64_t available = announced_ - offset_;
  if (available == 0) return Fetch::empty;

  const std::uint64_t place = offset_ & (ring_bytes_ - 1);
  const std::uint64_t before_end = std::min(available, ring_bytes_ - place);
  auto decoded = sdma::decode(dwords_at(ring_ + place, before_end));
  if (!decoded && decoded.error().kind == sdma::DecodeErrorKind::truncated && before_end < available) {
    // The packet continues at the start of the ring.
    const std::uint64_t wanted = std::min<std::uint64_t>(available, decoded.error().needed_dwords * kDword);
    unwrapped_.resize(wanted / kDword);
    std::memcpy(unwrapped_.data(), ring_ + place, before_end);
    std::memcpy(unwrapped_.data() + before_end / kDword, ring_, wanted - before_end);
    decoded = sdma::decode(unwrapped_);
  }
  if (!decoded) {
    const sdma::DecodeError& error = decoded.error();
    if (error.kind != sdma::DecodeErrorKind::truncated) return refuse(error);
    if (error.needed_dwords * kDword <= ring_bytes_) return Fetch::incomplete;
    return refuse(error);  // can never be announced completely
  }
  packet_ = std::move(decoded->packet);
  offset_ += decoded->dwords * kDword;
  return Fetch::packet;
}

void PacketStream::enter(std::uint64_t base, std::uint32_t dwords, std::uint64_t to_host) {
  if (dwords > 0) indirect_ = IndirectBuffer{base, dwords, 0, to_host};
}

PacketStream::Fetch PacketStream::fetch_from_indirect() {
  IndirectBuffer& buffer = *indirect_;
  const std::uint64_t skipped = std::min(skip_, buffer.dwords - buffer.next);
  buffer.next += skipped;
  skip_ = 0;  // a skip inside an indirect buffer does not reach the packets of its caller
  if (buffer.next == buffer.dwords) {
    indirect_.reset();
    return fetch_from_ring();
  }
  const auto* data = reinterpret_cast<const std::byte*>(buffer.base + buffer.to_host);
  auto decoded = sdma::decode(dwords_at(data, buffer.dwords * kDword).subspan(buffer.next));
  if (!decoded) return refuse(decoded.error());
  packet_ = std::move(decoded->packet);
  buffer.next += decoded->dwords;
  return Fetch::packet;
}

}  // namespace cortado::device::soft
