#include <array>

#include "base/platform.hpp"
#include "command.hpp"

namespace cortado::cli {

std::span<const Subcommand> commands() {
  static const std::array all {
    kDemoCommand, kListCommand, kShowCommand, kPlanCommand, kVerifyCommand, kRunCommand, kBenchCommand, kOverlapCommand,
        kPowerCommand, kModelCommand, kKvCommand, kServeCommand, kPacketsCommand, kCalibrateCommand,
#if CORTADO_HOSTED
        kSweepCommand, kNodeCommand, kExploreCommand,
#endif
        kReproduceCommand, kCompletionCommand
  };
  return all;
}

}  // namespace cortado::cli
