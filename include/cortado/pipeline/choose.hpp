// The choice of a variant by simulation: candidates and times of collectives on one machine, kept on disk.
//
// The disk cache is a folder of JSON files, one for each machine and collective. It is found by content: the values of
// the machine's file and the sources of planner and simulator are part of the file's name, so an edited machine or
// another Cortado never meets old times. A cache that is missing, damaged or foreign is computed again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/plan/choose.hpp"

namespace cortado::pipeline {

class CostCache;

/// Plans, verifies and simulates. The machine must outlive it.
std::unique_ptr<CostModel> simulated_cost(const Machine& machine);

/// $XDG_CACHE_HOME/cortado or ~/.cache/cortado; none if neither variable is an absolute path.
std::optional<std::string> default_cache_folder();

struct ChooserOptions {
  std::uint32_t threads = 1;                  ///< candidates that are simulated at a time; no result depends on it
  std::optional<std::string> cache_folder{};  ///< none: nothing is kept on disk
};

/// Chooses for one machine. What it has simulated it knows for its lifetime; `save` keeps it for the next one.
class Chooser {
 public:
  /// Times come from the simulator. The machine, which has to be as its file says for the cache to be right, must
  /// outlive the chooser.
  Chooser(const Machine& machine, ChooserOptions options);

  /// Times come from `cost`.
  Chooser(const Machine& machine, ChooserOptions options, std::unique_ptr<CostModel> cost);
  ~Chooser();

  /// The candidates at the very size of the request.
  Result<ChoiceRow> row(const ChoiceRequest& request);

  /// Called, by one thread at a time, after each simulated candidate: so many are done of so many.
  using Progress = std::function<void(std::size_t done, std::size_t all)>;

  /// The rows of those sizes, given in ascending order, at which something fits.
  Result<ChoiceTable> table(const ChoiceRequest& request, const std::vector<Bytes>& sizes,
                            const Progress& progress = {});

  /// Writes what is new to the cache; an error says that it could not be kept, nothing else.
  Status save();

 private:
  CostCache& cache(Collective collective);
  std::vector<Result<Nanoseconds>> times(const std::vector<CollectiveRequest>& requests, const Progress& progress);

  const Machine& machine_;
  ChooserOptions options_;
  std::unique_ptr<CostModel> cost_;
  std::map<Collective, std::unique_ptr<CostCache>> caches_;  // by collective
};

}  // namespace cortado::pipeline
