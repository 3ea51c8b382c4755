// How long strategies take to fetch a prefix, by its number of complete blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "pipeline/kv/transfer.hpp"
#include "plan/kv.hpp"

namespace cortado::pipeline {

class FetchTimes {
 public:
  /// Of the blocks that the request describes, however many. Both must outlive it.
  FetchTimes(const plan::KvRequest& request, const Machine& machine) : request_(request), machine_(machine) {}

  struct Fastest {
    std::size_t way = 0;
    KvTransfer transfer{};
  };

  /// Adds a way for each name of a strategy that applies; for the others, which keep no place, says why not. Times of
  /// `blocks` blocks are known afterwards.
  std::vector<Outcome<void>> add(const std::vector<std::string>& names, std::uint64_t blocks, std::uint32_t threads);

  std::size_t size() const { return ways_.size(); }
  const std::string& name(std::size_t way) const { return ways_[way].name; }
  const plan::NamedKvStrategy& strategy(std::size_t way) const { return ways_[way].strategy; }
  const KvLine& line(std::size_t way) const { return ways_[way].line; }

  /// As kv_transfer; simulated once.
  Outcome<KvTransfer> at(std::size_t way, std::uint64_t blocks);
  /// The least alone_seconds() of all ways, of which there must be one; the first of equals.
  Outcome<Fastest> fastest(std::uint64_t blocks);
  /// Seconds that it takes at least, by what is known: more blocks never take less time, except with lists.
  double at_least(std::size_t way, std::uint64_t blocks) const;
  /// The same of all ways.
  double at_least(std::uint64_t blocks) const;

 private:
  struct Way {
    std::string name;
    plan::NamedKvStrategy strategy{};
    KvLine line{};
    std::map<std::uint64_t, KvTransfer> known{};  ///< by blocks, where the line has not begun
  };
  Outcome<Way> way_of(const std::string& name, std::uint64_t blocks) const;

  plan::KvRequest request_;
  const Machine& machine_;
  std::vector<Way> ways_;
};

}  // namespace cortado::pipeline
