#include "cortado/communicator.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/cores.hpp"
#include "base/text.hpp"
#include "runtime/exchange.hpp"
#include "runtime/letters.hpp"
#include "runtime/segment.hpp"
#include "runtime/team.hpp"
#include "runtime/window.hpp"

namespace cortado {

struct Work::State {
  Operation operation;
  std::atomic<bool> done{false};
  Status status{};

  void finish(Status result) {
    status = std::move(result);
    done.store(true, std::memory_order_release);
    done.notify_all();
  }
};

bool Work::test() const {
  return state_ == nullptr || state_->done.load(std::memory_order_acquire);
}

Status Work::wait() const {
  if (state_ == nullptr) return {};
  state_->done.wait(false, std::memory_order_acquire);
  return state_->status;
}

namespace {

bool between_two(const Operation& operation) {
  return operation.kind == OperationKind::send || operation.kind == OperationKind::recv;
}

}  // namespace

/// Only one operation at a time uses the team: the caller's own, or those of the thread behind `queue`.
struct Communicator::Impl {
  Impl(std::shared_ptr<runtime::Segment> segment, std::uint32_t rank, std::chrono::milliseconds timeout)
      : team(std::move(segment), rank, timeout), letters(team), heap(team.segment().window(rank)) {}

  ~Impl() {
    bool in_flight = false;
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      in_flight = unfinished > 0;
    }
    changed.notify_all();
    if (!worker.joinable()) return;
    // Nobody will wait for it any more; peers that wait for this rank are notified.
    if (in_flight) (void)team.end("runtime.peer", fmt::format("rank {} left with work in flight", team.rank()));
    worker.join();
  }

  void finish(Work::State& state, Status status) {
    {
      const std::lock_guard lock(mutex);
      --unfinished;
    }
    state.finish(std::move(status));
  }

  Status execute(const Operation& operation) {
    if (!between_two(operation)) return exchange->run(operation);
    CORTADO_RETURN_IF_ERROR(runtime::shape_of(operation, team.rank(), team.ranks()));
    Status result;
    letters.add(operation, [&](Status status) { result = std::move(status); });
    while (!letters.empty()) CORTADO_RETURN_IF_ERROR(letters.advance([] { return false; }));
    return result;
  }

  /// Takes the team for the calling thread, if nothing is queued before it. No lock: it is part of every operation.
  bool try_enter() {
    if (queued.load(std::memory_order_seq_cst) != 0 || busy.exchange(true, std::memory_order_seq_cst)) return false;
    if (queued.load(std::memory_order_seq_cst) == 0) return true;
    leave();
    return false;
  }
  void leave() {
    busy.store(false, std::memory_order_seq_cst);
    if (queued.load(std::memory_order_seq_cst) == 0) return;
    const std::lock_guard lock(mutex);  // the thread is waiting now, or will check `busy`
    changed.notify_all();
  }

  std::shared_ptr<Work::State> pop() {
    std::shared_ptr<Work::State> next = queue.front();
    queue.pop_front();
    queued.fetch_sub(1, std::memory_order_seq_cst);
    return next;
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return queue.empty() ? stopping : !busy.exchange(true, std::memory_order_seq_cst); });
      if (queue.empty()) return;
      team.set_background(true);
      if (between_two(queue.front()->operation)) {
        lock.unlock();
        exchange_letters();
        lock.lock();
      } else {
        const std::shared_ptr<Work::State> next = pop();
        lock.unlock();
        finish(*next, execute(next->operation));
        lock.lock();
      }
      team.set_background(false);
      busy.store(false, std::memory_order_seq_cst);
    }
  }

  /// Messages at the front of the queue, and those that arrive while they are in progress.
  void exchange_letters() {
    const auto more = [&] {
      const std::lock_guard lock(mutex);
      return !queue.empty() && between_two(queue.front()->operation);
    };
    do {
      while (more()) admit();
      (void)letters.advance(more);  // each message gets its status
    } while (more() || !letters.empty());
  }
  void admit() {
    std::shared_ptr<Work::State> next;
    {
      const std::lock_guard lock(mutex);
      next = pop();
    }
    if (auto shape = runtime::shape_of(next->operation, team.rank(), team.ranks()); !shape) {
      finish(*next, fail(shape.error()));
      return;
    }
    letters.add(next->operation, [this, next](Status status) { finish(*next, std::move(status)); });
  }

  runtime::Team team;
  std::unique_ptr<runtime::Exchange> exchange;
  runtime::Letters letters;
  std::mutex heap_mutex;
  runtime::WindowHeap heap;

  std::atomic<bool> busy{false};       // the team is in use
  std::atomic<std::size_t> queued{0};  // number of works in the queue

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<std::shared_ptr<Work::State>> queue;
  std::size_t unfinished = 0;  // works that were started and have not finished
  bool stopping = false;
  std::thread worker;
};

namespace {

Result<runtime::Tuning> tuning_of(const CommunicatorOptions& options) {
  const char* const environment = std::getenv("CORTADO_VARIANT");
  return runtime::Tuning::parse(environment != nullptr ? environment : options.variant);
}

Bytes cache_of(const CommunicatorOptions& options) {
  return options.cache.value > 0 ? options.cache : last_level_cache();
}

Status check_options(const CommunicatorOptions& options) {
  if (options.ranks == 0 || options.ranks > runtime::kMostRanks || options.rank >= options.ranks) {
    return fail("runtime.options", fmt::format("rank {} of {}: there can be 1 to {} ranks, counted from 0",
                                               options.rank, options.ranks, runtime::kMostRanks));
  }
  return {};
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::join(const CommunicatorOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_options(options));
  if (options.name.empty())
    return fail("runtime.options", "the communicator has no name", "give all ranks the same name");
  CORTADO_ASSIGN_OR_RETURN(const runtime::Tuning tuning, tuning_of(options));
  CORTADO_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Segment> segment, runtime::Segment::attach(options));
  auto impl = std::make_unique<Impl>(std::move(segment), options.rank, options.timeout);
  CORTADO_ASSIGN_OR_RETURN(impl->exchange, runtime::Exchange::open(impl->team, tuning, cache_of(options)));
  return Communicator(std::move(impl));
}

Result<std::vector<Communicator>> Communicator::threads(std::uint32_t ranks, const CommunicatorOptions& options) {
  CORTADO_RETURN_IF_ERROR(check_options({.name = {}, .rank = 0, .ranks = ranks}));
  CORTADO_ASSIGN_OR_RETURN(const runtime::Tuning tuning, tuning_of(options));
  CORTADO_ASSIGN_OR_RETURN(const std::shared_ptr<runtime::Segment> segment,
                           runtime::Segment::plain(ranks, options.window));
  std::vector<Communicator> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto impl = std::make_unique<Impl>(segment, rank, options.timeout);
    CORTADO_ASSIGN_OR_RETURN(impl->exchange, runtime::Exchange::open(impl->team, tuning, cache_of(options)));
    all.push_back(Communicator(std::move(impl)));
  }
  return all;
}

std::uint32_t Communicator::rank() const {
  return impl_->team.rank();
}
std::uint32_t Communicator::ranks() const {
  return impl_->team.ranks();
}

Status Communicator::run(const Operation& operation) {
  if (!impl_->try_enter()) return start(operation).wait();
  Status status = impl_->execute(operation);
  impl_->leave();
  return status;
}

Work Communicator::start(Operation operation) {
  auto state = std::make_shared<Work::State>();
  state->operation = std::move(operation);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->queue.push_back(state);
    impl_->queued.fetch_add(1, std::memory_order_seq_cst);
    ++impl_->unfinished;
    if (!impl_->worker.joinable()) impl_->worker = std::thread([impl = impl_.get()] { impl->work(); });
  }
  impl_->changed.notify_all();
  if (between_two(state->operation)) impl_->team.ring();  // the thread may be waiting for letters
  return Work(std::move(state));
}

Result<Communicator::Persistent> Communicator::prepare(Operation operation) {
  CORTADO_RETURN_IF_ERROR(runtime::shape_of(operation, rank(), ranks()));
  return Persistent(*this, std::move(operation));
}

Status Communicator::Persistent::run() {
  return communicator_->run(operation_);
}

Work Communicator::Persistent::start() {
  return communicator_->start(operation_);
}

Result<std::span<std::byte>> Communicator::allocate(Bytes bytes) {
  const std::lock_guard lock(impl_->heap_mutex);
  CORTADO_ASSIGN_OR_RETURN(const std::span<std::byte> part, impl_->heap.allocate(bytes));
  if (const Status committed = impl_->team.segment().commit(part); !committed) {
    impl_->heap.release(part);
    return fail(committed.error());
  }
  return part;
}

void Communicator::release(std::span<std::byte> memory) {
  const std::lock_guard lock(impl_->heap_mutex);
  impl_->heap.release(memory);
}

void Communicator::abort(const std::string& reason) {
  (void)impl_->team.end("runtime.aborted", fmt::format("rank {} aborted: {}", rank(), reason));
}

std::string Communicator::explain() const {
  const runtime::Exchange::Done& last = impl_->exchange->last();
  return fmt::format("{} of {} a rank among {}: {} ({}{})", name_of(last.kind), format_bytes({last.bytes}), ranks(),
                     runtime::name_of(last.variant), last.why, last.asked ? "; asked for" : "");
}

}  // namespace cortado
