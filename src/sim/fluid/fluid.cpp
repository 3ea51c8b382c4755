#include "sim/fluid/fluid.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.hpp"
#include "sim/fluid/solver.hpp"

namespace cortado::sim {

namespace {

void check_capacity(double capacity) {
  CORTADO_CHECK(std::isfinite(capacity) && capacity >= 0, "a capacity is finite and not negative");
}

void check_weight(double weight) {
  CORTADO_CHECK(std::isfinite(weight) && weight > 0, "a weight is finite and positive");
}

void check_cap(double cap, std::size_t uses) {
  CORTADO_CHECK(cap >= 0, "a cap is not negative");
  CORTADO_CHECK(uses > 0 || std::isfinite(cap), "a flow without resources needs a cap");
}

}  // namespace

FluidSystem::FluidSystem(FluidOptions options) {
  CORTADO_CHECK(options.tolerance > 0 && options.tolerance <= 0.1, "the tolerance of a fluid system is in (0, 0.1]");
  CORTADO_CHECK(options.priority_classes > 0, "a fluid system has at least one priority class");
  solver_ = std::make_unique<internal::Solver>(options);
}

FluidSystem::FluidSystem(FluidSystem&&) noexcept = default;
FluidSystem& FluidSystem::operator=(FluidSystem&&) noexcept = default;
FluidSystem::~FluidSystem() = default;

std::uint32_t FluidSystem::checked(ResourceId resource) const {
  CORTADO_CHECK(resource.value < solver_->resource_count(), "no such resource");
  return resource.value;
}

std::uint32_t FluidSystem::checked(FlowId flow) const {
  CORTADO_CHECK(flow.value < solver_->flow_slots() && solver_->flow(flow.value).alive, "no such flow");
  return flow.value;
}

ResourceId FluidSystem::add_resource(double capacity) {
  check_capacity(capacity);
  return {solver_->add_resource(capacity)};
}

void FluidSystem::set_capacity(ResourceId resource, double capacity) {
  check_capacity(capacity);
  solver_->set_capacity(checked(resource), capacity);
}

FlowId FluidSystem::add_flow(const FlowSpec& spec) {
  check_weight(spec.weight);
  check_cap(spec.cap, spec.uses.size());
  CORTADO_CHECK(spec.priority < solver_->priority_classes(), "no such priority class");
  CORTADO_CHECK(spec.uses.size() <= internal::UsePool::kMaxUses, "a flow uses at most 512 resources");
  for (const ResourceUse& use : spec.uses) {
    checked(use.resource);
    CORTADO_CHECK(std::isfinite(use.factor) && use.factor > 0, "a factor is finite and positive");
  }
  return {solver_->add_flow(spec)};
}

void FluidSystem::remove_flow(FlowId flow) {
  solver_->remove_flow(checked(flow));
}

void FluidSystem::set_cap(FlowId flow, double cap) {
  check_cap(cap, solver_->flow(checked(flow)).use_count);
  solver_->set_cap(flow.value, cap);
}

void FluidSystem::set_weight(FlowId flow, double weight) {
  check_weight(weight);
  solver_->set_weight(checked(flow), weight);
}

std::span<const RateChange> FluidSystem::solve() {
  return solver_->solve();
}

double FluidSystem::rate(FlowId flow) const {
  return solver_->flow(checked(flow)).rate;
}

std::optional<ResourceId> FluidSystem::bottleneck(FlowId flow) const {
  return solver_->bottleneck(checked(flow));
}

double FluidSystem::capacity(ResourceId resource) const {
  return solver_->resource(checked(resource)).capacity;
}

double FluidSystem::load(ResourceId resource) const {
  return solver_->load(checked(resource));
}

std::size_t FluidSystem::flow_count(ResourceId resource) const {
  return solver_->resource(checked(resource)).members.size();
}

std::size_t FluidSystem::flow_count() const {
  return solver_->flow_count();
}

std::size_t FluidSystem::resource_count() const {
  return solver_->resource_count();
}

const FluidWork& FluidSystem::work() const {
  return solver_->work();
}

}  // namespace cortado::sim
