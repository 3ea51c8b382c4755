// Words in memory through which queues wait for each other.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "cortado/packets.hpp"

namespace cortado::device::vkfd {

/// The word by which a packet releases others; none if it does not.
inline std::optional<std::uint64_t> released_word(const sdma::Packet& packet) {
  if (const auto* fence = std::get_if<sdma::Fence>(&packet)) return fence->address;
  if (const auto* atomic = std::get_if<sdma::Atomic>(&packet)) return atomic->address;
  return std::nullopt;
}

/// The word that a packet checks before it lets later ones proceed.
inline std::optional<std::uint64_t> acquired_word(const sdma::Packet& packet) {
  if (const auto* poll = std::get_if<sdma::PollRegmem>(&packet)) return poll->address;
  if (const auto* condition = std::get_if<sdma::CondExe>(&packet)) return condition->address;
  if (const auto* atomic = std::get_if<sdma::Atomic>(&packet)) return atomic->address;
  return std::nullopt;
}

}  // namespace cortado::device::vkfd
