#include <algorithm>
#include <array>

#include "base/platform.hpp"
#include "command.hpp"

namespace cortado::cli {

Subcommand bench_command();
Subcommand calibrate_command();
Subcommand completion_command();
Subcommand demo_command();
Subcommand explore_command();
Subcommand kv_command();
Subcommand list_command();
Subcommand model_command();
Subcommand node_command();
Subcommand overlap_command();
Subcommand packets_command();
Subcommand plan_command();
Subcommand power_command();
Subcommand reproduce_command();
Subcommand run_command();
Subcommand serve_command();
Subcommand show_command();
Subcommand sweep_command();
Subcommand verify_command();

std::span<const Subcommand> commands() {
  static const std::array all {
    demo_command(), list_command(), show_command(), plan_command(), verify_command(), run_command(), bench_command(),
        overlap_command(), power_command(), model_command(), kv_command(), serve_command(), packets_command(),
        calibrate_command(),
#if CORTADO_HOSTED
        sweep_command(), node_command(), explore_command(),
#endif
        reproduce_command(), completion_command()
  };
  return all;
}

const Subcommand* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Subcommand::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace cortado::cli
