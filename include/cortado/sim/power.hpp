// Power management in a simulation: who decides the clocks of each GPU, and how its board stays under its cap.
//
// Every control interval the clocks of each GPU are decided anew, from what it did in the last one. Clocks change how
// long things take: products and kernels follow the clock of the compute dies (xcd), last-level cache, fabric and DMA
// engines that of the I/O dies (iod), memory that of hbm. Links have clocks of their own that nobody changes.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/base/result.hpp"
#include "cortado/machine/machine.hpp"

namespace cortado::sim {

enum class PowerPolicy {
  none,             ///< the board alone: as much of the xcd clock as its cap allows, all else at nominal clocks
  uniform_cap,      ///< the same under a lower limit for the whole GPU
  component_cap,    ///< components that do not bound what runs are clocked down as far as that costs no time
  component_shift,  ///< and what they no longer draw goes to the component that does
};

inline constexpr std::array<std::pair<std::string_view, PowerPolicy>, 4> kPowerPolicies{
    {{"none", PowerPolicy::none},
     {"uniform-cap", PowerPolicy::uniform_cap},
     {"component-cap", PowerPolicy::component_cap},
     {"component-shift", PowerPolicy::component_shift}}};

std::string_view name_of(PowerPolicy policy);
std::optional<PowerPolicy> power_policy(std::string_view name);

struct PowerManagement {
  PowerPolicy policy = PowerPolicy::none;
  std::optional<double> cap_w{};    ///< of a board, instead of the machine's
  std::optional<double> limit_w{};  ///< uniform_cap: of a GPU; none: 80 % of the cap
  /// component policies: those whose clocks may be moved. None: what software can move today, the xcd, for
  /// component_cap; all for component_shift.
  std::optional<std::vector<Component>> components{};
  /// component policies: clock of components that do not bound, above what work made use of, as a share.
  double headroom = 0.02;
};

/// Those whose clocks the policy may move. The board moves the clock of xcd in any case, to keep to its cap.
std::vector<Component> managed_components(const PowerManagement& management);

/// What a GPU may draw: the limit of uniform_cap, the cap of the board for the others. The machine describes power.
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
