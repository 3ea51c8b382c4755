#include "device/vkfd/page_table.hpp"

#include <iterator>
#include <mutex>

namespace cortado::device::vkfd {

std::optional<soft::Mapping> PageTable::mapping(std::uint64_t address, std::uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return std::nullopt;
  const soft::Mapping& found = std::prev(after)->second;
  if (!found.range.holds(address, bytes)) return std::nullopt;
  return found;
}

std::optional<soft::Mapping> PageTable::mapping_at(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto found = mappings_.find(address);
  if (found == mappings_.end()) return std::nullopt;
  return found->second;
}

bool PageTable::add(const soft::Mapping& mapping) {
  const std::unique_lock lock(mutex_);
  const auto after = mappings_.lower_bound(mapping.range.begin);
  if (after != mappings_.end() && after->second.range.begin < mapping.range.end) return false;
  if (after != mappings_.begin() && std::prev(after)->second.range.end > mapping.range.begin) return false;
  mappings_.emplace(mapping.range.begin, mapping);
  return true;
}

bool PageTable::remove(std::uint64_t begin) {
  const std::unique_lock lock(mutex_);
  if (mappings_.erase(begin) == 0) return false;
  start_generation();
  return true;
}

}  // namespace cortado::device::vkfd
