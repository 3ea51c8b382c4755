// Copies between host memory and one GPU, block by block: the rate by block size, direction and
// strategy; predicted or measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/target.hpp"

#include "plan/kv.hpp"

namespace cortado::pipeline {

struct HostCopyRequest {
  std::vector<Bytes> blocks{};            ///< sizes
  std::uint64_t count = 1000;             ///< blocks of one transfer
  std::vector<std::string> strategies{};  ///< of plan::kv_strategies, except those for replicated bytes
  std::vector<plan::KvDirection> directions{};
};

struct HostCopyRow {
  Bytes block;
  plan::KvDirection direction{};
  std::string strategy;
  std::uint64_t count = 0;
  double seconds = 0;
  double gbps = 0;  ///< of both directions together
  std::optional<std::uint64_t> wrong{};
};

std::string_view name_of(plan::KvDirection direction);  ///< "to-gpu", "from-gpu", "both"

/// One point on a target. Everything is proved first.
Outcome<HostCopyRow> host_copy(Bytes block, std::uint64_t count, const std::string& strategy,
                               plan::KvDirection direction, const Machine& machine, Target& target,
                               const RunOptions& options = {});

struct HostCopyReport {
  std::string machine;
  std::string where;
  bool predicted = false;
  std::vector<HostCopyRow> rows{};
};
Outcome<HostCopyReport> bench_host_copy(const HostCopyRequest& request, const Machine& machine, Target& target,
                                        const RunOptions& options = {});

report::Document host_copy_document(const HostCopyReport& report);

}  // namespace cortado::pipeline
