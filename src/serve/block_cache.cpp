#include "serve/block_cache.hpp"

#include "base/check.hpp"

namespace cortado::serve {

void BlockCache::unlink(std::uint32_t entry) {
  const Entry& e = entries_[entry];
  (e.before == kNone ? oldest_ : entries_[e.before].after) = e.after;
  (e.after == kNone ? newest_ : entries_[e.after].before) = e.before;
  --idle_;
}

void BlockCache::append(std::uint32_t entry) {
  Entry& e = entries_[entry];
  e.before = newest_;
  e.after = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].after) = entry;
  newest_ = entry;
  ++idle_;
}

void BlockCache::use(std::uint64_t name) {
  const std::uint32_t entry = index_.at(name);
  if (entries_[entry].users++ == 0) unlink(entry);
}

void BlockCache::release(std::uint64_t name) {
  const std::uint32_t entry = index_.at(name);
  CORTADO_CHECK(entries_[entry].users > 0, "a block that is released is in use");
  if (--entries_[entry].users == 0) append(entry);
}

void BlockCache::insert(std::uint64_t name, bool in_use) {
  std::uint32_t entry = static_cast<std::uint32_t>(entries_.size());
  if (unused_.empty()) {
    entries_.emplace_back();
  } else {
    entry = unused_.back();
    unused_.pop_back();
  }
  entries_[entry] = {.name = name, .users = in_use ? 1U : 0U};
  const bool fresh = index_.emplace(name, entry).second;
  CORTADO_CHECK(fresh, "a block is inserted once");
  if (!in_use) append(entry);
}

void BlockCache::touch(std::uint64_t name) {
  const std::uint32_t entry = index_.at(name);
  if (entries_[entry].users > 0) return;
  unlink(entry);
  append(entry);
}

std::uint64_t BlockCache::evict() {
  CORTADO_CHECK(oldest_ != kNone, "there is an idle block");
  const std::uint32_t entry = oldest_;
  unlink(entry);
  const std::uint64_t name = entries_[entry].name;
  index_.erase(name);
  unused_.push_back(entry);
  return name;
}

}  // namespace cortado::serve
