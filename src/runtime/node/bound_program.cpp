#include <utility>

#include "cortado/communicator.hpp"
#include "cortado/target.hpp"

#include "device/executor/executor.hpp"

namespace cortado {

struct BoundProgram::Impl {
  device::PreparedProgram prepared;
};

BoundProgram::BoundProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BoundProgram::BoundProgram(BoundProgram&&) noexcept = default;
BoundProgram& BoundProgram::operator=(BoundProgram&&) noexcept = default;
BoundProgram::~BoundProgram() = default;

Result<BoundProgram> BoundProgram::prepare(const VerifiedProgram& program, Target& target,
                                           const std::vector<Binding>& bindings) {
  if (target.driver() == nullptr) {
    return fail("device.host_memory", "a simulation has no memory to bind to", "use the target soft");
  }
  device::PrepareOptions options;
  options.bindings = bindings;
  CORTADO_ASSIGN_OR_RETURN(device::PreparedProgram prepared,
                           device::PreparedProgram::prepare(program, *target.driver(), options));
  return BoundProgram(std::make_unique<Impl>(Impl{std::move(prepared)}));
}

Status BoundProgram::run() {
  return impl_->prepared.replay();
}

Status BoundProgram::arm() {
  return impl_->prepared.arm();
}

Status BoundProgram::rebind(std::span<const Binding> bindings) {
  return impl_->prepared.rebind(bindings);
}

}  // namespace cortado
