// A whole model on a machine: what a training step, a prefill, a decode step or a whole generation takes, by every
// system, and where communication stays exposed.
//
// A system is a rule for how collectives meet products:
//
//   serial     the library's collectives (small all-reduces of inference: direct kernels of serving engines) on
//              compute units, nothing at the same time
//   framework  as serial, but weights and gradients that fsdp and dp move run beside products, on compute units
//   c3         as framework, and collectives that some product need not wait for run beside it, on compute units
//   conccl     as c3 on DMA engines; all other collectives too
//   async-tp   as framework, and products are cut into one shard for each rank, as PyTorch does
//   ficco      as conccl, and products and the collectives that depend on each other are cut
//   t3         as framework, and products and reductions behind them are fused
//   t3-mca     the same with arbitration at the memory
//   auto       of every pair the best of all of them
//   ideal      everything hidden that products are long enough for: a bound
//
// Products beside or in front of a collective go through the one overlap study (overlap.hpp); a block of a step is then
//
//   time = max(operators + exposed + slow-down of products beside, collectives beside)
//
// since what FSDP gathers for the next layer may also run beside attention and norms. docs/models.md, "Whole models".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cortado/machine/machine.hpp"
#include "cortado/report/table.hpp"
#include "cortado/target/failure.hpp"
#include "cortado/timeline/timeline.hpp"
#include "cortado/workload/operators.hpp"

namespace cortado::pipeline {

/// In the order of tables.
const std::vector<std::string>& model_systems();

struct ModelRequest {
  Model model;
  Layout layout{};
  Phase phase{};
};

struct ModelOptions {
  std::vector<std::string> systems{};  ///< empty: all that the machine has the hardware for
  std::uint32_t threads = 1;           ///< overlap studies at the same time; no result depends on it
  /// Called with (done, total), never by two threads at once; false stops (model.interrupted).
  std::function<bool(std::size_t, std::size_t)> progress{};
};

/// By one system.
struct SystemRow {
  std::string system;
  bool bound = false;
  double seconds = 0;
  double speedup = 1;  ///< over serial
  double tokens_per_second = 0;
  double flops_per_gpu = 0;        ///< a second, that the model needs
  double mfu = 0;                  ///< of the peak of the products' type
  double compute = 0;              ///< seconds of products, attention and other kernels, each alone
  double exposed = 0;              ///< seconds beyond that: communication, and what it slows down
  double bubble = 0;               ///< seconds that a stage waits for others
  std::optional<double> joules{};  ///< of all GPUs
};

/// One kind of collective and the products it meets.
struct PairRow {
  std::string block;
  std::string collective;                  ///< "all-reduce of 16KiB"
  std::string with;                        ///< "behind output, 1x8192x1024 f8"
  double times = 0;                        ///< in a step
  double alone_us = 0;                     ///< as serial does it
  double product_us = 0;                   ///< 0: none
  std::string chosen;                      ///< by auto
  std::vector<double> exposed_us;          ///< of one, by the systems of the rows
  std::optional<double> prelaunched_us{};  ///< alone, by the best variant on DMA engines that are programmed ahead
};

/// One kind of operator.
struct OperatorRow {
  std::string block;
  std::string name;
  std::string what;  ///< "8192x1280x8192 bf16"
  double times = 0;  ///< in a step
  double us = 0;     ///< of one, alone
  double share = 0;  ///< of the time of serial
};

struct ModelReport {
  ModelRequest request;
  std::string machine;
  std::string clock{};  ///< what decides that of GEMMs, in words
  std::uint32_t gpus = 0;
  MemoryNeed memory{};
  ParameterCounts parameters{};
  double tokens = 0;
  std::vector<SystemRow> rows{};
  std::vector<PairRow> pairs{};
  std::vector<OperatorRow> operators{};
  std::vector<std::string> notes{};

  const SystemRow* row(std::string_view system) const;
  /// The fastest that is no bound.
  const SystemRow& best() const;
};

class ModelCosts;

/// Predicts steps of models on one machine; what products and collectives take is computed once for all of them.
class ModelStudy {
 public:
  /// The machine must outlive it.
  explicit ModelStudy(const Machine& machine);
  ~ModelStudy();

  /// Refuses what check_layout and check_kernels refuse, and unknown systems (model.system).
  Outcome<ModelReport> run(const ModelRequest& request, const ModelOptions& options = {});

  /// A layer by a system, all streams.
  Outcome<Timeline> layer_timeline(const ModelRequest& request, const std::string& system);

 private:
  Outcome<ModelReport> run_step(const ModelRequest& request, const ModelOptions& options);
  Outcome<ModelReport> run_generation(const ModelRequest& request, const ModelOptions& options);

  const Machine& machine_;
  std::unique_ptr<ModelCosts> costs_;
};

report::Document model_document(const ModelReport& report, bool by_operator);

}  // namespace cortado::pipeline
