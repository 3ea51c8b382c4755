#include "device/vkfd/page_table.hpp"

#include <iterator>
#include <mutex>

namespace cortado::device::vkfd {

const PageTable::Entry* PageTable::holding(std::uint64_t address, std::uint64_t bytes) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const Entry& found = std::prev(after)->second;
  return found.mapping.range.holds(address, bytes) ? &found : nullptr;
}

std::optional<soft::Mapping> PageTable::mapping(std::uint64_t address, std::uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const Entry* const found = holding(address, bytes);
  if (found == nullptr) return std::nullopt;
  return found->mapping;
}

std::uint32_t PageTable::home(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const Entry* const found = holding(address, 1);
  return found == nullptr ? kHostMemory : found->home;
}

std::optional<soft::Mapping> PageTable::mapping_at(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto found = mappings_.find(address);
  if (found == mappings_.end()) return std::nullopt;
  return found->second.mapping;
}

bool PageTable::add(const soft::Mapping& mapping, std::uint32_t home) {
  const std::unique_lock lock(mutex_);
  const auto after = mappings_.lower_bound(mapping.range.begin);
  if (after != mappings_.end() && after->first < mapping.range.end) return false;
  if (after != mappings_.begin() && std::prev(after)->second.mapping.range.end > mapping.range.begin) return false;
  mappings_.emplace(mapping.range.begin, Entry{mapping, home});
  return true;
}

bool PageTable::remove(std::uint64_t begin) {
  const std::unique_lock lock(mutex_);
  if (mappings_.erase(begin) == 0) return false;
  start_generation();
  return true;
}

}  // namespace cortado::device::vkfd
