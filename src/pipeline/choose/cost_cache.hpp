// Simulated times of collectives on one machine, in memory and optionally on disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/result.hpp"

#include "plan/ficco.hpp"
#include "sim/fast/fast.hpp"

namespace cortado::pipeline {

/// Several threads may use it.
class CostCache {
 public:
  /// Reads the file of the machine in the folder, if there is one; a damaged or foreign file counts as empty.
  CostCache(const Machine& machine, const std::optional<std::string>& folder);

  std::optional<sim::CollectiveProfile> find(const CollectiveRequest& request) const;
  void add(const CollectiveRequest& request, const sim::CollectiveProfile& profile);
  /// The known profile, or the result of `simulate`, which is then known. If several threads ask for the same request,
  /// one simulates it and the others wait.
  Result<sim::CollectiveProfile> find_or(const CollectiveRequest& request,
                                         const std::function<Result<sim::CollectiveProfile>()>& simulate);

  /// Writes the file if anything is new.
  Status save();

  /// Empty without a folder.
  const std::string& path() const { return path_; }

 private:
  void load();

  std::string machine_;
  std::uint32_t gpus_;
  std::string key_;
  std::string path_;
  mutable std::mutex lock_;
  bool changed_ = false;                                    // guarded by lock_
  std::map<std::string, sim::CollectiveProfile> profiles_;  // by request_key; guarded by lock_
  std::set<std::string> under_way_;                         // keys that a thread simulates; guarded by lock_
  std::condition_variable over_;                            // of one of these
};

/// Of all fields, so that requests with different times have different keys; 0 ranks are all GPUs.
std::string request_key(const CollectiveRequest& request, std::uint32_t gpus);
std::string request_key(const DependentRequest& request, std::uint32_t gpus);

}  // namespace cortado::pipeline
