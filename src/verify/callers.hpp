// The callers of all ranks (rule 4 of cortado/program.hpp), found in one pass over queues and contract.
#pragma once

#include <optional>
#include <vector>

#include "cortado/program.hpp"

namespace cortado::verifier {

/// What the callers on one host queue write before an iteration and read after it, in as few regions as
/// possible.
struct CallerRegions {
  std::vector<Region> inputs;
  std::vector<Region> outputs;
};

/// caller_queue() for every rank.
std::vector<std::optional<QueueId>> caller_queues(const Program& program);

/// Indexed by queue. Ranks without a caller are left out.
std::vector<CallerRegions> caller_regions(const Program& program);

}  // namespace cortado::verifier
