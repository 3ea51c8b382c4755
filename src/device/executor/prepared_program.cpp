#include <optional>
#include <utility>

#include "device/executor/binding.hpp"
#include "device/executor/executor.hpp"
#include "device/executor/preparation.hpp"
#include "device/executor/runner.hpp"

namespace cortado::device {

struct PreparedProgram::Impl {
  std::unique_ptr<Preparation> preparation;
  const RunOptions replay_options{.check = CheckOutputs::none};
  std::optional<Runner> replays;  // kept from replay to replay; run() starts afresh
  bool broken = false;            // a run failed: queues may be stuck

  Status usable() const {
    if (!broken) return {};
    return fail("device.broken", "an earlier run of this preparation failed, so its queues may be stuck",
                "prepare the program again");
  }
  Runner& runner() {
    if (!replays) replays.emplace(*preparation, replay_options);
    return *replays;
  }
  bool armed() const { return replays && replays->armed(); }
};

PreparedProgram::PreparedProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreparedProgram::PreparedProgram(PreparedProgram&&) noexcept = default;
PreparedProgram& PreparedProgram::operator=(PreparedProgram&&) noexcept = default;
PreparedProgram::~PreparedProgram() = default;

Result<PreparedProgram> PreparedProgram::prepare(const VerifiedProgram& program, Driver& driver,
                                                 const PrepareOptions& options) {
  auto impl = std::make_unique<Impl>();
  CORTADO_ASSIGN_OR_RETURN(impl->preparation, make_preparation(program, driver, options));
  return PreparedProgram(std::move(impl));
}

Result<RunResult> PreparedProgram::run(const RunOptions& options) {
  CORTADO_RETURN_IF_ERROR(impl_->usable());
  if (impl_->armed()) return fail("device.armed", "the program is armed", "replay it first");
  if (!impl_->preparation->bindings.empty() && (options.check != CheckOutputs::none || options.data.write)) {
    return fail("device.binding", "the buffers belong to the caller, so they cannot be filled and checked",
                "run without check, or replay");
  }
  if (impl_->replays) CORTADO_RETURN_IF_ERROR(impl_->replays->drain());
  impl_->replays.reset();
  Result<RunResult> result = Runner(*impl_->preparation, options).run();
  impl_->broken = !result.has_value();
  return result;
}

Status PreparedProgram::replay() {
  CORTADO_RETURN_IF_ERROR(impl_->usable());
  Status status = impl_->runner().replay();
  impl_->broken = !status.has_value();
  return status;
}

Status PreparedProgram::arm() {
  CORTADO_RETURN_IF_ERROR(impl_->usable());
  Status status = impl_->runner().arm();
  impl_->broken = !status.has_value();
  return status;
}

Status PreparedProgram::rebind(std::span<const Binding> bindings) {
  CORTADO_RETURN_IF_ERROR(impl_->usable());
  if (impl_->armed()) {
    return fail("device.armed", "packets with the old addresses are already submitted", "replay the program first");
  }
  return device::rebind(*impl_->preparation, bindings);
}

std::vector<QueuePackets> PreparedProgram::packets() const {
  std::vector<QueuePackets> packets;
  for (const RingWriter& writer : impl_->preparation->dma) {
    packets.push_back({writer.id(), writer.frame().dwords, writer.frame().start});
  }
  return packets;
}

}  // namespace cortado::device
