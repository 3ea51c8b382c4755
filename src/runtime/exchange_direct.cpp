// Collectives in which each rank runs its part of a proved program and takes bytes from the others' buffers.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "runtime/exchange.hpp"
#include "runtime/sums.hpp"

namespace cortado::runtime {
namespace {

/// Memory that has to be read into this process to be summed: this much of each rank at a time.
constexpr std::uint64_t kScratch = 32 << 10;

}  // namespace

Status Exchange::unreadable(std::uint32_t peer) {
  return team_.end("runtime.peer", fmt::format("rank {} cannot read memory of rank {}", team_.rank(), peer));
}

const Location& Exchange::location(const Place& place) const {
  const Call& call = team_.call_of(place.rank);
  return place.received ? call.recv : call.send;
}

Status Exchange::reduce_from(const Operation& op, const Step& step) {
  for (std::uint64_t done = 0; done < step.bytes; done += kScratch) {
    const std::uint64_t piece = std::min(step.bytes - done, kScratch);
    sources_.clear();
    for (const Place& place : step.sources) {
      const std::byte* here = team_.view(place.rank, location(place), place.offset + done);
      if (here == nullptr) {
        scratch_.resize(step.sources.size() * kScratch);
        std::byte* const copy = scratch_.data() + sources_.size() * kScratch;
        if (!team_.read(place.rank, location(place), place.offset + done, copy, piece)) return unreadable(place.rank);
        here = copy;
      }
      sources_.push_back(here);
    }
    reduce(op.element, op.reduction, op.recv.data() + step.to + done, sources_, piece);
  }
  return {};
}

PullRequest Exchange::request_for(const Operation& op) const {
  PullRequest request{.kind = op.kind, .ranks = team_.ranks(), .root = has_root(op.kind) ? op.root : 0};
  if (reduces(op.kind)) request.element_bytes = size_of(op.element).value;
  for (std::uint32_t r = 0; r < team_.ranks(); ++r) {
    const Call& call = team_.call_of(r);
    if (call.in_place && !call.in_slot) request.in_place |= std::uint64_t{1} << r;
    if (!call.what.by_counts) {
      request.block_bytes = call.block_bytes;
      continue;
    }
    const auto& counts = team_.counts_of(r).send;
    request.send_bytes.insert(request.send_bytes.end(), counts.begin(), counts.begin() + team_.ranks());
  }
  return request;
}

Status Exchange::directly(const Operation& op) {
  const bool nothing_to_do = longest_block() == 0 || (op.kind == OperationKind::broadcast && team_.ranks() == 1);
  if (nothing_to_do) return team_.barrier();
  const Result<const std::vector<Step>*> steps = programs_.find(request_for(op));
  if (!steps) return fail(steps.error());
  for (const Step& step : **steps) {
    switch (step.kind) {
      case Step::Kind::copy: {
        const Place& from = step.sources.front();
        std::byte* const to = op.recv.data() + step.to;
        if (const std::byte* const here = team_.view(from.rank, location(from), from.offset); here != nullptr) {
          copy(to, here, step.bytes);
        } else if (!team_.read(from.rank, location(from), from.offset, to, step.bytes)) {
          return unreadable(from.rank);
        }
        break;
      }
      case Step::Kind::reduce:
        CORTADO_RETURN_IF_ERROR(reduce_from(op, step));
        break;
      case Step::Kind::raise:
        team_.raise(step.signal);
        break;
      case Step::Kind::wait:
        CORTADO_RETURN_IF_ERROR(team_.wait_for(step.rank, step.signal));
        break;
    }
  }
  return {};
}

}  // namespace cortado::runtime
