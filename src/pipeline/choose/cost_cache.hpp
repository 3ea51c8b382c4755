// Times of one collective on one machine, in memory and in one file of the cache folder.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cortado/machine/machine.hpp"
#include "cortado/plan/collective.hpp"

namespace cortado::pipeline {

/// All that the time of a collective depends on beside machine and collective, in words. `gpus`: of the machine, which
/// a request for 0 ranks means.
std::string request_key(const CollectiveRequest& request, std::uint32_t gpus);

class CostCache {
 public:
  /// Reads the file if there is one that is right; anything else counts as empty. Without a folder nothing is read or
  /// written.
  CostCache(const Machine& machine, Collective collective, const std::optional<std::string>& folder);

  std::optional<Nanoseconds> find(const CollectiveRequest& request) const;
  void add(const CollectiveRequest& request, Nanoseconds time);

  /// Writes the file, and the folder if it is missing, when something was added since it was read or written.
  Status save();

  const std::string& path() const { return path_; }  ///< empty without a folder

 private:
  void load();

  std::string machine_;
  std::uint32_t gpus_;
  Collective collective_;
  std::string key_;  // hash of what times depend on beside the request
  std::string path_;
  std::map<std::string, std::int64_t> times_;
  bool changed_ = false;
};

}  // namespace cortado::pipeline
