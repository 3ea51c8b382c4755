#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cortado/communicator.hpp"
#include "cortado/machine.hpp"
#include "cortado/plan.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "pipeline/choose.hpp"

namespace cortado {
namespace {

/// Everything in a request that its program depends on. Not a string: building one takes longer than everything else
/// that a replay needs besides the program itself.
auto key_of(const CollectiveRequest& r) {
  return std::tuple(r.collective, r.variant, r.bytes, r.prelaunch, r.trigger_words, r.in_place, r.own_block, r.dtype,
                    r.root, r.peer, r.ways, r.compute_units, r.runtime, r.host);
}
bool same_memory(Binding a, Binding b) {
  return a.data() == b.data() && a.size() == b.size();
}

using Key = decltype(key_of(std::declval<CollectiveRequest>()));

}  // namespace

struct NodeCommunicator::Impl {
  Impl(const Machine& used, std::uint32_t count) : machine(used), ranks(count), chooser(machine, {}) {}

  struct Prepared {
    Program program;  ///< whose buffers are bound
    BoundProgram bound;
    std::vector<Binding> bindings;
    std::string why;
  };

  /// Assigns spans to the buffers of the program.
  Status bind(const Program& program, std::span<const std::span<std::byte>> send,
              std::span<const std::span<std::byte>> recv, std::vector<Binding>& bindings) const {
    if (send.size() != ranks || recv.size() != ranks) {
      return fail("device.binding", fmt::format("{} and {} spans for {} ranks", send.size(), recv.size(), ranks),
                  "provide one for each rank, even if it is empty");
    }
    bindings.resize(program.buffers.size());
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      bindings[i] = {};
      if (buffer.role == BufferRole::scratch || buffer.size.value == 0) continue;
      bindings[i] = (buffer.role == BufferRole::input ? send : recv)[buffer.rank.value];
      if (!bindings[i].empty()) continue;
      return fail("device.binding", fmt::format("rank {} has no memory for buffer {}", buffer.rank.value, buffer.name),
                  fmt::format("it needs {} bytes", buffer.size.value));
    }
    return {};
  }

  struct Decision {
    CollectiveRequest request;
    std::string why;
  };
  Result<Decision> decide(CollectiveRequest request) {
    request.ranks = ranks;
    if (const char* const variable = std::getenv("CORTADO_NODE_VARIANT"); variable != nullptr) {
      request.variant = variable;
      return Decision{request, "set by CORTADO_NODE_VARIANT"};
    }
    if (request.variant != kAutoVariant) return Decision{request, "asked for"};
    ChoiceRequest choice{.base = request, .in_place = request.in_place, .among = {kDmaVariants}};
    auto row = chooser.row(choice);
    if (!row) {  // reductions need compute units where memory does not add
      choice.among.clear();
      row = chooser.row(choice);
    }
    if (!row) return fail(std::move(row).error());
    std::string why = fmt::format("simulated for {}: {:.1f} us, the fastest of {} that fit", machine.name,
                                  microseconds(row->best().time), row->fitting.size());
    return Decision{row->best().request, std::move(why)};
  }

  Result<Prepared> prepare(const CollectiveRequest& asked, std::span<const std::span<std::byte>> send,
                           std::span<const std::span<std::byte>> recv) {
    CORTADO_ASSIGN_OR_RETURN(const Decision decision, decide(asked));
    const CollectiveRequest& request = decision.request;
    CORTADO_ASSIGN_OR_RETURN(Program program, plan_collective(request, machine));
    std::vector<Binding> bindings;
    CORTADO_RETURN_IF_ERROR(bind(program, send, recv, bindings));
    auto proved = verify(program, machine);
    if (!proved) return fail(std::move(proved).error().front());
    CORTADO_ASSIGN_OR_RETURN(BoundProgram bound, BoundProgram::prepare(*proved, *target, bindings));
    return Prepared{std::move(program), std::move(bound), std::move(bindings),
                    fmt::format("{} of {}: {} ({})", request.collective, format_bytes(request.bytes), way_name(request),
                                decision.why)};
  }

  const Machine machine;
  std::uint32_t ranks;
  pipeline::Chooser chooser;
  std::unique_ptr<Target> target;
  std::vector<Binding> wanted;       // of the current request
  std::map<Key, Prepared> programs;  // must be destroyed before the node that they run on
  std::string explained = "nothing has run yet";
};

NodeCommunicator::NodeCommunicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NodeCommunicator::NodeCommunicator(NodeCommunicator&&) noexcept = default;
NodeCommunicator& NodeCommunicator::operator=(NodeCommunicator&&) noexcept = default;
NodeCommunicator::~NodeCommunicator() = default;

Result<NodeCommunicator> NodeCommunicator::open(const Machine& machine, std::uint32_t ranks) {
  auto impl = std::make_unique<Impl>(machine, ranks == 0 ? machine.gpus : ranks);
  CORTADO_ASSIGN_OR_RETURN(impl->target, open_target({.name = "soft", .gpus = impl->ranks}, impl->machine));
  return NodeCommunicator(std::move(impl));
}

std::uint32_t NodeCommunicator::ranks() const {
  return impl_->ranks;
}

Status NodeCommunicator::run(const CollectiveRequest& request, std::span<const std::span<std::byte>> send,
                             std::span<const std::span<std::byte>> recv) {
  const Key key = key_of(request);
  auto found = impl_->programs.find(key);
  if (found == impl_->programs.end()) {
    CORTADO_ASSIGN_OR_RETURN(Impl::Prepared prepared, impl_->prepare(request, send, recv));
    found = impl_->programs.emplace(key, std::move(prepared)).first;
  } else {
    Impl::Prepared& known = found->second;
    CORTADO_RETURN_IF_ERROR(impl_->bind(known.program, send, recv, impl_->wanted));
    if (!std::ranges::equal(impl_->wanted, known.bindings, same_memory)) {
      CORTADO_RETURN_IF_ERROR(known.bound.rebind(impl_->wanted));
      std::swap(impl_->wanted, known.bindings);
    }
  }
  impl_->explained = found->second.why;
  Status done = found->second.bound.run();
  if (!done) impl_->programs.erase(found);  // its queues may be stuck; the next request prepares it again
  return done;
}

Result<NodeCommunicator::Persistent> NodeCommunicator::prepare(CollectiveRequest request,
                                                               std::span<const std::span<std::byte>> send,
                                                               std::span<const std::span<std::byte>> recv) {
  request.prelaunch = true;
  CORTADO_ASSIGN_OR_RETURN(Impl::Prepared prepared, impl_->prepare(request, send, recv));
  impl_->explained = prepared.why;
  CORTADO_RETURN_IF_ERROR(prepared.bound.arm());
  return Persistent(std::move(prepared.bound));
}

Status NodeCommunicator::Persistent::run() {
  CORTADO_RETURN_IF_ERROR(program_.run());
  return program_.arm();
}

std::string NodeCommunicator::explain() const {
  return impl_->explained;
}

}  // namespace cortado
