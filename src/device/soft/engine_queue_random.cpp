// The adversarial order of a queue: everything that engines are allowed to do, in an order that the generator chooses.
#include <algorithm>
#include <vector>

#include "device/soft/engine_queue.hpp"

namespace cortado::device::soft {
namespace {

constexpr std::size_t kWindow = 8;  // transfers of a queue that may be in progress together

}  // namespace

void EngineQueue::move_random_piece(Transfer& transfer, Random& random) {
  if (!check(transfer.packet, transfer.places, transfer.offset, transfer.index)) return;
  const std::uint64_t left = transfer.last - transfer.first;
  const std::uint64_t piece = random.chance(3) ? left : 1 + random.below(left);
  if (random.chance(2)) {
    if (!move(transfer.packet, transfer.places, transfer.first, piece, transfer.offset, transfer.index)) return;
    transfer.first += piece;
  } else {
    if (!move(transfer.packet, transfer.places, transfer.last - piece, piece, transfer.offset, transfer.index)) return;
    transfer.last -= piece;
  }
  if (transfer.finished()) notice_finished(transfer.packet, transfer.offset, transfer.index);
}

StepResult EngineQueue::random_step(Random& random) {
  if (stopped_) return {Next::idle, false};
  if (injection_ != nullptr && injection_->slowness() > 1 && random.below(injection_->slowness()) != 0) {
    return {Next::again, false};
  }

  std::vector<Transfer*> moving;
  for (Transfer& transfer : transfers_) {
    if (!transfer.finished()) moving.push_back(&transfer);
  }
  const bool may_control = held_ && (moving.empty() || !drains(stream_.packet()));
  const bool may_fetch = !held_ && transfers_.size() < kWindow;

  // One choice for each unfinished transfer, one for the current packet or the next one, and one for doing nothing at
  // all: doorbells and satisfied polls are noticed late, signals are written late.
  const std::uint64_t choice = random.below(moving.size() + 2);
  bool progressed = false;
  bool exhausted = false;
  if (choice < moving.size()) {
    move_random_piece(*moving[choice], random);
    progressed = true;
  } else if (choice == moving.size() && may_control) {
    const Outcome outcome = execute_control();
    progressed = outcome == Outcome::done;
    if (progressed) {
      held_ = false;
      notice_finished(stream_.packet(), stream_.packet_offset(), fetched_ - 1);
    }
  } else if (choice == moving.size() && may_fetch) {
    switch (fetch()) {
      case Fetched::control:
        progressed = true;
        break;
      case Fetched::transfer:
        progressed = true;
        if (check(stream_.packet(), places_, stream_.packet_offset(), fetched_ - 1)) start_transfer();
        break;
      case Fetched::nothing:
        if (stopped_) break;
        if (!stalled_ && doorbell_rang()) {
          progressed = notice_doorbell();
        } else {
          exhausted = true;
        }
        break;
    }
  }
  if (stopped_) {
    notice_rest();
    return {Next::idle, true};
  }
  while (!transfers_.empty() && transfers_.front().finished()) transfers_.erase(transfers_.begin());
  publish_read_offset();
  const bool idle = transfers_.empty() && !held_ && exhausted;
  if (idle) notice_rest();
  return {idle ? Next::idle : Next::again, progressed};
}

}  // namespace cortado::device::soft
