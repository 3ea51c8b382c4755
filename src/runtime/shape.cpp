#include "runtime/shape.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace cortado::runtime {
namespace {

Unexpected<Diagnostic> wrong(const Operation& operation, std::uint32_t rank, const std::string& what) {
  Diagnostic diagnostic{"runtime.arguments", fmt::format("{}: {}", name_of(operation.kind), what)};
  diagnostic.place.rank = RankId{rank};
  return fail(std::move(diagnostic));
}

std::uint64_t sum_of(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Overlapping buffers mean an operation in place.
bool is_in_place(const Operation& op, std::uint32_t rank) {
  switch (op.kind) {
    case OperationKind::all_gather:
    case OperationKind::gather: {
      const bool by_counts = op.recv_bytes.size() > rank;
      const std::uint64_t before = by_counts ? sum_of(std::span(op.recv_bytes).first(rank)) : rank * op.send.size();
      return op.send.data() == op.recv.data() + before;
    }
    case OperationKind::reduce_scatter:
    case OperationKind::scatter:
      return op.recv.data() == op.send.data() + rank * op.recv.size();
    default:
      return op.send.data() == op.recv.data();
  }
}

Result<Shape> shape_by_counts(const Operation& op, std::uint32_t rank, std::uint32_t ranks) {
  if (op.send_bytes.size() != ranks || op.recv_bytes.size() != ranks) {
    return wrong(op, rank,
                 fmt::format("{} and {} counts for {} ranks", op.send_bytes.size(), op.recv_bytes.size(), ranks));
  }
  if (sum_of(op.send_bytes) != op.send.size() || sum_of(op.recv_bytes) != op.recv.size()) {
    return wrong(op, rank, "the counts do not add up to the sizes of the buffers");
  }
  return Shape{*std::ranges::max_element(op.send_bytes), ranks};
}

}  // namespace

bool reduces(OperationKind kind) {
  return kind == OperationKind::reduce_scatter || kind == OperationKind::all_reduce;
}

bool has_root(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::gather || kind == OperationKind::scatter;
}

bool root_sends(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::scatter;
}

bool overlap(Sent a, Received b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

Result<Shape> shape_of(const Operation& op, std::uint32_t rank, std::uint32_t ranks) {
  const std::uint64_t sent = op.send.size();
  const std::uint64_t received = op.recv.size();
  if ((has_root(op.kind) || op.kind == OperationKind::send || op.kind == OperationKind::recv) && op.root >= ranks) {
    return wrong(op, rank, fmt::format("there is no rank {} among {}", op.root, ranks));
  }
  if (op.kind != OperationKind::broadcast && overlap(op.send, op.recv) &&
      !(is_in_place(op, rank) && op.send_bytes.empty())) {
    return wrong(op, rank, "what is sent and what is received overlap, but not as in place");
  }
  if (reduces(op.kind) && sent % size_of(op.element).value != 0) {
    return wrong(op, rank, fmt::format("{} bytes are not whole elements", sent));
  }
  const auto sizes = [&](const char* rule) {
    return wrong(op, rank, fmt::format("{} bytes to send, {} to receive, {} ranks: {}", sent, received, ranks, rule));
  };
  switch (op.kind) {
    case OperationKind::all_gather:
      if (!op.recv_bytes.empty()) {
        if (op.recv_bytes.size() != ranks || sum_of(op.recv_bytes) != received || op.recv_bytes[rank] != sent) {
          return sizes("there is a count for each rank, that of this rank is what it sends, all are what it receives");
        }
        return Shape{sent, 1};
      }
      if (received != sent * ranks) return sizes("a rank receives what all send");
      return Shape{sent, 1};
    case OperationKind::all_to_all:
      if (!op.send_bytes.empty() || !op.recv_bytes.empty()) return shape_by_counts(op, rank, ranks);
      if (sent != received || sent % ranks != 0) return sizes("both are one block for each rank");
      return Shape{sent / ranks, ranks};
    case OperationKind::reduce_scatter:
      if (sent != received * ranks || received % size_of(op.element).value != 0) {
        return sizes("a rank sends one block for each rank");
      }
      return Shape{received, ranks};
    case OperationKind::all_reduce:
      if (sent != received) return sizes("both are equally long");
      return Shape{sent, 1};
    case OperationKind::gather:
      if (rank == op.root && received != sent * ranks) return sizes("the root receives what all send");
      return Shape{sent, 1};
    case OperationKind::scatter:
      if (rank == op.root && sent != received * ranks) return sizes("the root sends one block for each rank");
      return Shape{received, ranks};
    case OperationKind::broadcast:
    case OperationKind::recv:
      return Shape{received, 1};
    case OperationKind::send:
      return Shape{sent, 1};
    case OperationKind::barrier:
      return Shape{0, 1};
  }
  return Shape{};
}

}  // namespace cortado::runtime
