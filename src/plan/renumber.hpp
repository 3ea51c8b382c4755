// Ids of a program that becomes part of another.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::plan {

/// Ids of the program that is added become ids of the whole. Host queues, which nobody names, may have moved into those
/// of the whole: `queues` has the new id of every queue.
class Renumber {
 public:
  Renumber(const Program& into, std::vector<std::uint32_t> queues)
      : buffers_(static_cast<std::uint32_t>(into.buffers.size())),
        signals_(static_cast<std::uint32_t>(into.signals.size())),
        queues_(std::move(queues)) {}

  void operator()(Region& region) const { region.buffer.value += buffers_; }
  void operator()(SignalId& signal) const { signal.value += signals_; }
  void operator()(QueueId& queue) const { queue.value = queues_[queue.value]; }

  void operator()(Command& command) const {
    match(
        command, [this](Copy& copy) { all(copy.src, copy.dst); },
        [this](Broadcast& copy) { all(copy.src, copy.dst1, copy.dst2); }, [this](Swap& swap) { all(swap.a, swap.b); },
        [this](Wait& wait) { all(wait.signal); }, [this](Signal& signal) { all(signal.signal); },
        [this](Gemm& gemm) {
          all(gemm.a, gemm.b);
          if (gemm.outputs.empty()) all(gemm.c);
          for (OutputBlock& block : gemm.outputs) all(block.to);
          for (TileSignal& raise : gemm.raises) all(raise.signal);
          for (TileWait& wait : gemm.waits) all(wait.signal);
        },
        [this](Kernel& kernel) {
          for (Region& source : kernel.sources) all(source);
          all(kernel.dst);
          for (Region& also : kernel.also) all(also);
        },
        [this](Call& call) {
          for (Region& operand : call.operands) all(operand);
          all(call.result);
        },
        [this](Submit& submit) { all(submit.queue); }, [this](Trigger& trigger) { all(trigger.signal); },
        [](Timestamp&) {});
  }

  void operator()(Clause& clause) const {
    all(clause.output);
    for (Region& term : clause.terms) all(term);
  }

  void operator()(ProductClause& clause) const {
    all(clause.output);
    for (Product& product : clause.products) {
      for (Region& block : product.a) all(block);
      all(product.b);
    }
  }

  void operator()(Tracker& tracker) const { all(tracker.region, tracker.signal); }

 private:
  template <class... Ids>
  void all(Ids&... ids) const {
    ((*this)(ids), ...);
  }

  std::uint32_t buffers_;
  std::uint32_t signals_;
  std::vector<std::uint32_t> queues_;
};

}  // namespace cortado::plan
