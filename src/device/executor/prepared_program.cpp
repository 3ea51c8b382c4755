#include <utility>

#include "device/executor/executor.hpp"
#include "device/executor/preparation.hpp"
#include "device/executor/runner.hpp"

namespace cortado::device {

struct PreparedProgram::Impl {
  std::unique_ptr<Preparation> preparation;
  bool broken = false;  // a run failed: queues may be stuck
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
  if (impl_->broken) {
    return fail("device.broken", "an earlier run of this preparation failed, so its queues may be stuck",
                "prepare the program again");
  }
  Result<RunResult> result = Runner(*impl_->preparation, options).run();
  impl_->broken = !result.has_value();
  return result;
}

std::vector<QueuePackets> PreparedProgram::packets() const {
  std::vector<QueuePackets> packets;
  for (const RingWriter& writer : impl_->preparation->dma) {
    packets.push_back({writer.id(), writer.frame().dwords, writer.frame().start});
  }
  return packets;
}

}  // namespace cortado::device
