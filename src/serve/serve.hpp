// A model behind a serving engine, under load: latencies, throughput and use of pool and links, for every way of
// obtaining the KV cache of prompts that were seen before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"
#include "cortado/timeline.hpp"

#include "serve/fetch_cost.hpp"
#include "serve/replica.hpp"
#include "serve/source.hpp"
#include "serve/step_costs.hpp"

namespace cortado::serve {

/// Every prompt is computed completely.
inline constexpr const char* kRecompute = "recompute";
/// Prefixes are found in the GPU's memory as long as they are there.
inline constexpr const char* kHbmOnly = "hbm-only";

struct ServeRequest {
  Model model;
  Layout layout{};  ///< of a replica
  DType dtype = DType::bf16;
  DType kv_dtype = DType::bf16;
  std::uint32_t replicas = 1;
  StepLimits limits{};
  std::uint32_t page = 16;                          ///< tokens per block of the pool
  double memory_share = 0.9;                        ///< of the GPU's memory that the engine may use
  std::variant<Generated, std::string> arrivals{};  ///< or the file of a trace
  std::optional<Bytes> host_tier{};                 ///< of all replicas together; none: no such tier
  bool shared_tier = false;                         ///< replicas find each other's blocks; otherwise each has its part
  std::vector<std::string> ways{kHbmOnly};          ///< to obtain prefixes: recompute, hbm-only, or a fetch strategy
  std::string kv_layout = "per-layer";              ///< of the fragments of a block (pipeline/kv)
  std::optional<double> slo_ttft{};                 ///< seconds
  std::optional<double> slo_tpot{};
};

struct ServeOptions {
  /// Called with (done, total) requests of all ways together; total 0: unknown; false stops (serve.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
  bool trace = false;  ///< keep steps and transfers of the last way
};

/// Results of one way.
struct ServeRow {
  std::string way;
  Tally tally{};
  Spread ttft{};  ///< seconds
  Spread tpot{};
  Spread latency{};
  std::optional<Overload> overload{};
  bool ends_early = false;  ///< too short a run to know what can be served

  double seconds() const { return static_cast<double>(tally.end_ns) * 1e-9; }
};

struct ServeReport {
  ServeRequest request{};
  std::string machine{};
  std::uint64_t pool_pages = 0;   ///< of a replica
  Bytes page_bytes{};             ///< per GPU
  std::uint64_t tier_blocks = 0;  ///< of a replica
  std::vector<ServeRow> rows{};
  std::optional<Timeline> timeline{};
  bool timeline_cut = false;  ///< it has only the beginning
  std::vector<std::string> notes{};
};

/// Studies on one machine; the costs of steps and transfers of a model are determined once.
class ServingStudy {
 public:
  /// The machine must outlive it.
  explicit ServingStudy(const Machine& machine) : machine_(machine) {}

  /// Rejects layouts and arrivals that make no sense, models that do not fit, unknown ways (serve.way), and machines
  /// that do not describe host memory (kv.machine).
  Outcome<ServeReport> run(const ServeRequest& request, const ServeOptions& options = {});
  /// The times of an engine's steps, also if its share of the memory has no room for a prompt of so many tokens.
  /// Rejects what does not fit in the whole memory. Valid as long as the study.
  Outcome<const StepCosts*> steps(const ServeRequest& request, std::uint64_t prompt);

 private:
  Outcome<const StepCosts*> step_costs(const ServeRequest& request);
  Outcome<ReplicaConfig> config_of(const std::string& way, const ServeRequest& request, const ServeReport& report);

  const Machine& machine_;
  std::map<std::string, StepCosts> steps_;
  std::map<std::string, FetchCost> fetches_;
};

report::Document serve_document(const ServeReport& report);

}  // namespace cortado::serve
