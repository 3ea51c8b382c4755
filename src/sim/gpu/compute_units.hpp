// The compute units of every GPU: who holds how many, and who is next when some become free.
//
// A tenant (ir/tenants.hpp) is launched, takes units as they are free, and gives them back; nobody takes them away.
// Free units go to the tenant of the highest priority, among equals to the one launched first, as many as it wants, and
// only then to the next: a large kernel launched first fills the GPU, and a later one starts when the workgroups of the
// first no longer need all units that are given back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"

#include "ir/tenants.hpp"
#include "sim/kernel/time.hpp"
#include "sim/power/listener.hpp"

namespace cortado::sim {

class ComputeUnits {
 public:
  /// The listener hears of every unit that is held or given back.
  ComputeUnits(const Program& program, const Machine& machine, Listener& listener);

  using Tenant = std::uint32_t;
  static constexpr Tenant kNone = Tenants::kNone;

  Tenant tenant_of(std::uint32_t queue) const { return tenants_.of_queue[queue]; }  ///< kNone if it is no compute queue
  const std::vector<std::uint32_t>& queues(Tenant tenant) const { return tenants_.all[tenant].queues; }
  bool is_kernel(Tenant tenant) const { return tenants_.all[tenant].kernel; }  ///< not a stream
  /// What it may hold at most: of a kernel what all its parts may, of a stream its limit.
  std::uint32_t most(Tenant tenant) const { return tenants_.all[tenant].most; }
  std::uint32_t held(Tenant tenant) const { return uses_[tenant].held; }
  /// All of the same GPU, itself included.
  const std::vector<Tenant>& neighbours(Tenant tenant) const { return gpus_[tenants_.all[tenant].gpu.value].tenants; }
  /// Units of the same GPU that others hold.
  std::uint32_t held_by_others(Tenant tenant) const;

  /// Behind all that were launched before. It wants so many units more.
  void launch(Tenant tenant, std::uint32_t wanted);
  void want(Tenant tenant, std::uint32_t more) { uses_[tenant].wanted = more; }
  void release(Tenant tenant, std::uint32_t units, SimTime now);

  /// The next grant on the GPU of the tenant, if there is one.
  struct Grant {
    Tenant tenant;
    std::uint32_t units;
  };
  std::optional<Grant> next_grant(Tenant on_gpu_of, SimTime now);

  /// Units held times seconds, up to the last change.
  double unit_seconds() const { return unit_seconds_; }

 private:
  struct Use {
    std::uint32_t held = 0;
    std::uint32_t wanted = 0;
    std::uint64_t launched = 0;
    SimTime since{};  // of `held`
  };
  struct Gpu {
    std::uint32_t free = 0;
    std::vector<Tenant> tenants;
  };

  Gpu& gpu_of(Tenant tenant) { return gpus_[tenants_.all[tenant].gpu.value]; }
  void hold(Tenant tenant, std::uint32_t units, SimTime now);

  Tenants tenants_;
  std::vector<Use> uses_;  // by tenant
  std::vector<Gpu> gpus_;
  Listener& listener_;
  std::uint64_t launches_ = 0;
  double unit_seconds_ = 0;
};

}  // namespace cortado::sim
