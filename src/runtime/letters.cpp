#include "runtime/letters.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/copy_bytes.hpp"

namespace cortado::runtime {

void Letters::add(const Operation& operation, Finish finish) {
  under_way_.push_back({operation, std::move(finish)});
}

// A message has at least one letter, even if it has no bytes.
bool Letters::move(Message& message) {
  const Operation& op = message.operation;
  const bool sends = op.kind == OperationKind::send;
  const std::uint32_t from = sends ? team_.rank() : op.root;
  const std::uint32_t to = sends ? op.root : team_.rank();
  Mailbox& box = team_.segment().mailbox(from, to);
  const std::uint64_t bytes = sends ? op.send.size() : op.recv.size();
  const std::uint64_t before = message.moved;
  while (!message.done) {
    const std::uint64_t posted = box.posted.load(std::memory_order_seq_cst);
    const std::uint64_t taken = box.taken.load(std::memory_order_seq_cst);
    const std::uint64_t piece = std::min(kLetterBytes, bytes - message.moved);
    if (sends) {
      if (posted - taken >= kLetters) break;
      box.message_bytes[posted % kLetters] = bytes;
      if (piece > 0) copy_bytes(team_.segment().letter(from, to, posted), op.send.data() + message.moved, piece);
      box.posted.store(posted + 1, std::memory_order_seq_cst);
    } else {
      if (posted == taken) break;
      if (const std::uint64_t sent = box.message_bytes[taken % kLetters]; sent != bytes) {
        message.status =
            team_.end("runtime.mismatch",
                      fmt::format("rank {} sends {} bytes to rank {}, which receives {}", from, sent, to, bytes));
        message.done = true;
        return true;
      }
      if (piece > 0) copy_bytes(op.recv.data() + message.moved, team_.segment().letter(from, to, taken), piece);
      box.taken.store(taken + 1, std::memory_order_seq_cst);
    }
    message.moved += piece;
    message.done = message.moved == bytes;
    team_.ring();
  }
  return message.done || message.moved > before;
}

bool Letters::move_all() {
  bool any = false;
  for (auto message = under_way_.begin(); message != under_way_.end(); ++message) {
    const auto same = [&](const Message& other) {
      return !other.done && other.operation.kind == message->operation.kind &&
             other.operation.root == message->operation.root;
    };
    if (std::any_of(under_way_.begin(), message, same)) continue;
    any |= move(*message);
  }
  return any;
}

bool Letters::finish_done() {
  bool any = false;
  for (auto message = under_way_.begin(); message != under_way_.end();) {
    if (!message->done) {
      ++message;
      continue;
    }
    any = true;
    message->finish(std::move(message->status));
    message = under_way_.erase(message);
  }
  return any;
}

Status Letters::advance(const std::function<bool()>& more) {
  while (!under_way_.empty()) {
    std::uint64_t peers = 0;
    for (const Message& message : under_way_) peers |= std::uint64_t{1} << message.operation.root;
    const Operation& first = under_way_.front().operation;
    Status moved = team_.wait_until([&] { return move_all() || more(); }, first.kind, peers);
    if (!moved) {
      for (Message& message : under_way_) {
        if (!message.done) message.status = moved;
        message.done = true;
      }
      finish_done();
      return moved;
    }
    if (finish_done() || more()) return {};
  }
  return {};
}

}  // namespace cortado::runtime
