#include "runtime/team.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <utility>

#include <fmt/format.h>

#include "base/cores.hpp"

namespace cortado::runtime {
namespace {

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view text) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(to.data(), text.data(), length);
  to[length] = '\0';
}

}  // namespace

Team::Team(std::shared_ptr<Segment> segment, std::uint32_t rank, std::chrono::milliseconds timeout)
    : segment_(std::move(segment)),
      rank_(rank),
      timeout_(timeout),
      share_cores_(segment_->ranks() > available_cores()),
      spin_(!share_cores_) {
#if defined(PR_SET_PTRACER)
  // Lets peers read this process's memory on systems that require permission; on systems without that notion, the call
  // fails harmlessly.
  if (!segment_->one_process()) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

Team::~Team() {
  segment_->block(rank_).left.store(1, std::memory_order_seq_cst);
  ring();
}

Status Team::announce(const Call& call, const Counts* counts) {
  CORTADO_RETURN_IF_ERROR(failure());
  RankBlock& own = segment_->block(rank_);
  ++calls_;
  Announcement& announcement = own.calls[calls_ % 2];
  announcement.call = call;
  if (counts != nullptr) own.counts[calls_ % 2] = *counts;
  // Not seq_cst: that would first wait until the call is written, and pollers would take the cache line away.
  announcement.number.store(calls_, std::memory_order_release);
  return {};
}

template <class Counter>
Status Team::wait_for_all(Counter&& counter, std::uint64_t number) {
  std::uint32_t there = 0;  // ranks before this one have arrived
  const auto all_there = [&] {
    while (there < ranks() && counter(segment_->block(there)).load(std::memory_order_seq_cst) >= number) ++there;
    return there == ranks();
  };
  const bool now = all_there();  // these loads overlap with earlier stores still in transit: ring() waits for those
  ring();
  if (now) return {};
  return wait_until(all_there, current());
}

Status Team::meet() {
  return wait_for_all(
      [&](const RankBlock& block) -> auto& { return block.calls[calls_ % 2].number; }, calls_);
}

Status Team::barrier() {
  ++barriers_;
  segment_->block(rank_).arrived.store(barriers_, std::memory_order_release);
  return wait_for_all(
      [](const RankBlock& block) -> auto& { return block.arrived; }, barriers_);
}

void Team::raise(std::uint32_t signal) {
  segment_->block(rank_).signals.at(signal).raised.store(calls_, std::memory_order_release);
  ring();
}

Status Team::wait_for(std::uint32_t rank, std::uint32_t signal) {
  const std::atomic<std::uint64_t>& raised = segment_->block(rank).signals.at(signal).raised;
  return wait_until([&] { return raised.load(std::memory_order_seq_cst) >= calls_; }, current(),
                    std::uint64_t{1} << rank);
}

Status Team::known_failure() const {
  const Header& header = segment_->header();
  return fail(About::environment, header.failure_code.data(), header.failure.data(),
              "destroy the communicator and join again");
}

Status Team::end(const char* code, const std::string& report) {
  Header& header = segment_->header();
  std::uint32_t none = 0;
  if (header.failed.compare_exchange_strong(none, kWriting, std::memory_order_acq_rel)) {
    copy_text(header.failure_code, code);
    copy_text(header.failure, report);
    header.failed.store(kWritten, std::memory_order_seq_cst);
    ring();
  }
  while (header.failed.load(std::memory_order_acquire) != kWritten && segment_->one_process()) {
  }
  if (Status known = failure(); !known) return known;
  return fail(About::environment, code, report, "destroy the communicator and join again");
}

Status Team::look_for_trouble(Watch& watch, OperationKind in) {
  const auto now = std::chrono::steady_clock::now();
  if (now - watch.last_look < kNap) return {};
  watch.last_look = now;
  std::string late;
  for (std::uint32_t r = 0; r < ranks(); ++r) {
    if (r == rank_) continue;
    const RankBlock& other = segment_->block(r);
    const std::uint64_t bit = std::uint64_t{1} << r;
    const bool left = other.left.load(std::memory_order_seq_cst) != 0;
    const bool behind = other.calls[calls_ % 2].number.load(std::memory_order_acquire) < calls_ ||
                        other.arrived.load(std::memory_order_acquire) < barriers_;
    const bool gone = left || !segment_->alive(r);
    if (gone && (watch.gone & bit) != 0) {
      if (!left) {
        return end("runtime.peer", fmt::format("rank {} (process {}) exited; rank {} was in {} (operation {})", r,
                                               other.process.load(), rank_, name_of(in), calls_));
      }
      if (behind || (watch.peers & bit) != 0) {
        return end("runtime.peer", fmt::format("rank {} left while rank {} was waiting in {} (operation {})", r, rank_,
                                               name_of(in), calls_));
      }
    }
    if (gone) watch.gone |= bit;
    if (behind || (watch.peers & bit) != 0) late += fmt::format("{}{}", late.empty() ? "" : ", ", r);
  }
  if (now - watch.start < timeout_) return {};
  return end("runtime.timeout",
             fmt::format("rank {} waited {} ms in {} (operation {}); still missing: rank {}", rank_, timeout_.count(),
                         name_of(in), calls_, late.empty() ? "none, but some are slow" : late));
}

Location Team::locate(const std::byte* data) const {
  const std::byte* const base = segment_->base();
  if (data >= base && data < base + segment_->bytes() && !segment_->one_process()) {
    return {static_cast<std::uint64_t>(data - base), true};
  }
  return {reinterpret_cast<std::uint64_t>(data), false};
}

const std::byte* Team::view(std::uint32_t from, const Location& location, std::uint64_t offset) const {
  if (location.in_segment) return segment_->base() + location.address + offset;
  if (from == rank_ || segment_->one_process()) return reinterpret_cast<const std::byte*>(location.address + offset);
  return nullptr;
}

bool Team::read(std::uint32_t from, const Location& location, std::uint64_t offset, std::byte* to,
                std::uint64_t bytes) const {
  constexpr std::uint64_t kOneCall = 2 << 20;
  for (std::uint64_t done = 0; done < bytes;) {
    iovec local{to + done, std::min(bytes - done, kOneCall)};
    iovec remote{reinterpret_cast<void*>(location.address + offset + done), local.iov_len};
    const ssize_t got =
        ::process_vm_readv(static_cast<pid_t>(segment_->block(from).process.load()), &local, 1, &remote, 1, 0);
    if (got <= 0) return false;
    done += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace cortado::runtime
