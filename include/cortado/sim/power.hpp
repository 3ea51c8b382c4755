// Power management in a simulation: who decides the clocks of each GPU, and how its board stays under its cap.
//
// Every control interval the clocks of each GPU are decided anew, from what it did in the last one. Clocks change how
// long things take: products and kernels follow the clock of the compute dies (xcd), last-level cache, fabric and DMA
// engines that of the I/O dies (iod), memory that of hbm. Links have clocks of their own that nobody changes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado::sim {

struct Clocks;
struct GpuActivity;
struct PolicyInputs;

/// How clocks are decided; one file each in src/sim/power/policies.
struct PowerPolicy {
  std::string_view name;
  std::string_view summary;
  bool has_limit = false;  ///< keeps the whole GPU to a limit below the cap of its board
  /// Moves clocks by component: these, where nobody says which. Empty: it does not.
  std::span<const Component> components{};
  Clocks (*decide)(const GpuActivity& activity, const PolicyInputs& inputs) = nullptr;
};

/// All, in the order of lists; the first is kNoPowerPolicy.
std::span<const PowerPolicy* const> power_policies();
const PowerPolicy* find_power_policy(std::string_view name);  ///< nullptr if there is none

/// The names asked for, each known (power.policy), each once.
Result<std::vector<const PowerPolicy*>> parse_power_policies(const std::vector<std::string>& names);

/// The board alone; what all others are compared with.
extern const PowerPolicy kNoPowerPolicy;

struct PowerManagement {
  const PowerPolicy* policy = &kNoPowerPolicy;
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< of a GPU, for policies with a limit; none: 80 % of the cap
  /// Those whose clocks may be moved, for policies by component; none: the policy's own.
  std::optional<std::vector<Component>> components{};
  /// component policies: clock of components that do not bound, above what work made use of, as a share.
  double headroom = 0.02;
};

/// Those whose clocks the policy may move. The board moves the clock of xcd in any case, to keep to its cap.
std::vector<Component> managed_components(const PowerManagement& management);

/// What a GPU may draw: the limit, for policies that have one, or the cap of the board. The machine describes power.
double watts_allowed(const PowerManagement& management, const Power& power);

/// What the management did.
struct ManagedClocks {
  /// Mean clocks of xcd, iod and hbm over all GPUs while anything ran on them, GHz; 0 where nothing did.
  std::array<double, 3> mean_ghz{};
  /// Greatest average of a control interval, of any GPU; the first one, at whose beginning nothing was managed yet, is
  /// left out.
  double peak_w = 0;
  double longest_above_cap = 0;  ///< seconds that a GPU drew more than it should without interruption
};

/// Refuses machines that say nothing of power (power.machine).
Status check_power(const Machine& machine);

/// Refuses machines without power (power.machine), caps and limits that are not above idle power or not finite
/// (power.cap), a limit or components for policies that have none (power.limit, power.component), and policies for
/// components that the machine does not describe (power.component).
Status check_power_management(const PowerManagement& management, const Machine& machine);

}  // namespace cortado::sim
