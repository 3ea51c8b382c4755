#include "device/executor/executor.hpp"
#include "target/make.hpp"

namespace cortado {
namespace {

class DeviceTarget : public Target {
 public:
  explicit DeviceTarget(std::unique_ptr<device::Driver> driver) : driver_(std::move(driver)) {}

  bool predicts() const override { return false; }
  std::string where() const override { return driver_->topology().node; }
  device::Driver* driver() override { return driver_.get(); }

  Outcome<Run> run(const VerifiedProgram& program, const RunOptions& options) override {
    if (options.on_stage) options.on_stage(Stage::prepare);
    auto prepared = device::PreparedProgram::prepare(program, *driver_, {.trace = options.trace});
    if (!prepared) return fail_at(Stage::prepare, prepared.error());
    if (options.on_stage) options.on_stage(Stage::run);
    device::RunOptions asked = options.device;
    if (options.warmup > 0) {
      device::RunOptions warmup = asked;
      warmup.iterations = options.warmup;
      warmup.check = device::CheckOutputs::none;
      if (const auto warmed = prepared->run(warmup); !warmed) return fail_at(Stage::run, warmed.error());
    }
    asked.iterations = options.iterations;
    auto result = prepared->run(asked);
    if (!result) return fail_at(Stage::run, result.error());
    Run run = run_of(program.program(), std::move(result->timeline));
    run.check = ByteCheck{result->wrong_bytes, result->checked_bytes, std::move(result->first_wrong)};
    if (!program.program().trackers.empty()) {
      run.tracker_entries_peak = static_cast<std::uint32_t>(result->tracker_entries_peak);
    }
    return run;
  }

 private:
  std::unique_ptr<device::Driver> driver_;
};

}  // namespace

std::unique_ptr<Target> device_target(std::unique_ptr<device::Driver> driver) {
  return std::make_unique<DeviceTarget>(std::move(driver));
}

}  // namespace cortado
