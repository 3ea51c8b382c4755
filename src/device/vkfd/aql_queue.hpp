// A compute queue without compute units: it executes barriers; a kernel ends the program.
//
// HIP and ROCr order copies with barriers in such queues. Packets are executed in order, one after another. There is
// one exception: ROCr brings code into the memory of a GPU with a copy kernel of its own, whether or not the code is
// ever run. That kernel is recognised by the hash of its code, and executed as the copy that it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/abi/aql_abi.hpp"
#include "device/vkfd/page_table.hpp"
#include "device/vkfd/ring_queue.hpp"

namespace cortado::device::vkfd {

/// What a compute queue needs from the node around it.
class AqlHost {
 public:
  AqlHost() = default;
  AqlHost(const AqlHost&) = delete;
  AqlHost& operator=(const AqlHost&) = delete;
  virtual ~AqlHost() = default;

  virtual void interrupt(std::uint32_t event) = 0;
  /// Ticks of the GPU's clock.
  virtual std::uint64_t gpu_clock() = 0;
  /// The queue can neither execute the packet nor skip it. It has been stopped.
  virtual void refused(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, const std::string& why) = 0;
  /// The queue accessed memory that is not mapped to its GPU. It has been stopped.
  virtual void bad_address(std::uint32_t gpu, std::uint32_t queue, std::uint64_t packet, std::uint64_t address) = 0;
  /// A barrier has seen these words, and is about to write the last one (0: none).
  virtual void passed(std::uint32_t queue, const std::vector<std::uint64_t>& seen, std::uint64_t written) = 0;
};

class AqlQueue final : public ProgramQueue, private soft::Runnable {
 public:
  AqlQueue(AqlHost& host, const PageTable& pages, std::uint32_t gpu, std::uint32_t id, const RingPlace& place);

  soft::Runnable& runnable() override { return *this; }
  const SdmaQueue* handle() override { return nullptr; }

 private:
  enum class Outcome { done, hold, stopped };

  bool tell(std::uint64_t) override { return true; }  // the write index says how far packets go
  soft::StepResult step() override;
  soft::StepResult random_step(Random& random) override;

  Outcome execute(std::byte* packet);
  Outcome wait_all(const aql::Barrier& barrier);
  Outcome wait_any(const aql::Barrier& barrier);
  Outcome wait_value(const aql::BarrierValue& barrier);
  Outcome run_commands(const aql::Pm4& packet);
  Outcome run_kernel(const aql::KernelDispatch& packet);
  Outcome copy(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
  Outcome complete(std::uint64_t signal);
  Outcome refuse(const std::string& why);
  Outcome outside_memory(std::uint64_t address);
  /// Null, and the queue is stopped, if the address is not mapped.
  aql::Signal* signal_at(std::uint64_t address);
  std::optional<std::int64_t> value_of(std::uint64_t signal);
  std::optional<std::uint64_t> host_address(std::uint64_t address, std::uint64_t bytes);

  AqlHost& host_;
  const PageTable& pages_;
  const std::uint32_t gpu_;
  const std::uint32_t id_;
  const RingPlace place_;
  std::uint64_t read_ = 0;  // packets executed
  std::uint64_t begun_ = 0;
  std::vector<std::uint64_t> seen_;  // words of the current barrier
  bool stopped_ = false;
  soft::RangeCache ranges_;
};

}  // namespace cortado::device::vkfd
