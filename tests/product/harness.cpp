#include "harness.hpp"

#include <map>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "base/random.hpp"
#include "device/executor/executor.hpp"
#include "device/soft/soft.hpp"

namespace cortado::product {

const Machine& machine(const std::string& name) {
  static std::map<std::string, Machine> machines;
  const auto known = machines.find(name);
  if (known != machines.end()) return known->second;
  Result<Machine> loaded = load_machine(name);
  CORTADO_CHECK(loaded.has_value(), loaded ? "" : to_string(loaded.error()).c_str());
  loaded->dma.ring_bytes = 16_KiB;  // hundreds of queues are made for each run; large rings would only cost page faults
  return machines.emplace(name, *std::move(loaded)).first->second;
}

std::string describe(const CollectiveRequest& request) {
  return fmt::format("{} {} {} bytes, {} ranks, root {}, {}{}, {}, ways {}, {}", request.collective, request.variant,
                     request.bytes.value, request.ranks, request.root.value, request.prelaunch ? "prelaunch, " : "",
                     request.in_place ? "in place" : "out of place",
                     request.host == HostThreads::single ? "single host" : "host per rank", request.ways,
                     to_string(request.dtype));
}

Node::Node(const Machine& machine, std::uint32_t gpus, std::optional<std::uint64_t> adversarial_seed)
    : seed_(adversarial_seed) {
  device::SoftOptions options;
  options.workers = 1;
  options.adversarial_seed = adversarial_seed;
  auto driver = device::open_soft_node(machine, gpus, options);
  CORTADO_CHECK(driver.has_value(), "the embedded node opens");
  driver_ = *std::move(driver);
}

std::string Node::run(const VerifiedProgram& program) {
  auto prepared = device::PreparedProgram::prepare(program, *driver_);
  if (!prepared) return to_string(prepared.error());
  ++runs_;
  device::RunOptions options;
  options.iterations = 3;
  options.seed = runs_;
  options.check = device::CheckOutputs::every;
  if (seed_) options.adversarial_seed = Random(*seed_ + runs_).next();
  const auto result = prepared->run(options);
  if (!result) return to_string(result.error());
  if (result->wrong_bytes > 0) {
    return fmt::format("{} wrong bytes: {}", result->wrong_bytes,
                       result->first_wrong ? to_string(*result->first_wrong) : "");
  }
  return result->checked_bytes == 0 ? "no byte was checked" : "";
}

std::string to_text(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

}  // namespace cortado::product
