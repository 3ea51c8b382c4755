#include "runtime/pull_program.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace cortado::runtime {
namespace {

/// A type with elements of that size. The proof is about which elements are combined, not about the values of the sums.
DType elements_of(std::uint64_t bytes) {
  switch (bytes) {
    case 1:
      return DType::u8;
    case 2:
      return DType::f16;
    default:
      return DType::f32;  // of 8 bytes: two of them
  }
}

constexpr std::uint64_t kPartUnit = 64;  // parts of an all-reduce: whole cache lines, and whole elements

class PullPlan {
 public:
  explicit PullPlan(const PullRequest& request)
      : ask_(request),
        dtype_(elements_of(request.element_bytes)),
        builder_(fmt::format("{}-pull", name_of(request.kind)), kPullMachine, request.ranks),
        read_by_(request.ranks) {
    for (std::uint32_t r = 0; r < ask_.ranks; ++r) {
      add_buffers(r);
      entered_.push_back(builder_.signal(fmt::format("{}{}", kEnter, r), RankId{r}));
    }
  }

  Program finish() {
    for (std::uint32_t me = 0; me < ask_.ranks; ++me) commands_.emplace_back(commands_of(me));
    for (std::uint32_t me = 0; me < ask_.ranks; ++me) add_queues(me);
    builder_.contract(contract());
    return std::move(builder_).finish();
  }

 private:
  std::uint64_t n() const { return ask_.block_bytes; }
  bool in_place(std::uint32_t r) const { return (ask_.in_place >> r & 1) != 0; }

  std::uint64_t count(std::uint32_t from, std::uint32_t to) const {
    return ask_.send_bytes.empty() ? n() : ask_.send_bytes[from * ask_.ranks + to];
  }
  std::uint64_t sent_at(std::uint32_t from, std::uint32_t to) const {
    std::uint64_t at = 0;
    for (std::uint32_t r = 0; r < to; ++r) at += count(from, r);
    return at;
  }
  std::uint64_t received_at(std::uint32_t to, std::uint32_t from) const {
    std::uint64_t at = 0;
    for (std::uint32_t r = 0; r < from; ++r) at += count(r, to);
    return at;
  }

  std::uint64_t send_size(std::uint32_t r) const {
    switch (ask_.kind) {
      case OperationKind::all_to_all:
        return sent_at(r, ask_.ranks);
      case OperationKind::reduce_scatter:
        return n() * ask_.ranks;
      case OperationKind::scatter:
        return r == ask_.root ? n() * ask_.ranks : 0;
      case OperationKind::broadcast:
        return r == ask_.root ? n() : 0;
      case OperationKind::all_gather:
        return count(r, 0);
      default:
        return n();
    }
  }
  std::uint64_t recv_size(std::uint32_t r) const {
    switch (ask_.kind) {
      case OperationKind::all_to_all:
      case OperationKind::all_gather:
        return received_at(r, ask_.ranks);
      case OperationKind::gather:
        return r == ask_.root ? n() * ask_.ranks : 0;
      case OperationKind::broadcast:
        return r == ask_.root ? 0 : n();
      default:
        return n();
    }
  }

  void add_buffers(std::uint32_t r) {
    const std::uint64_t send = send_size(r);
    const std::uint64_t recv = recv_size(r);
    if (in_place(r) && send > 0 && recv > 0) {  // the smaller one is block r of the larger one
      const BufferId both = builder_.buffer("both", RankId{r}, {std::max(send, recv)}, BufferRole::inout);
      send_.push_back(make_region(both, {send < recv ? received_at(r, r) : 0}, {send}));
      recv_.push_back(make_region(both, {recv < send ? r * n() : 0}, {recv}));
      return;
    }
    const auto own = [&](const char* name, std::uint64_t bytes, BufferRole role) {
      return bytes == 0 ? Region{} : make_region(builder_.buffer(name, RankId{r}, {bytes}, role), {}, {bytes});
    };
    send_.push_back(own("send", send, BufferRole::input));
    recv_.push_back(own("recv", recv, BufferRole::output));
  }

  void take(std::vector<Command>& commands, std::uint32_t from, std::uint32_t me, const Region& src,
            const Region& dst) {
    if (src.width.value == 0 || src == dst) return;
    commands.emplace_back(Copy{src, dst});
    if (from != me) read_by_[from].insert(me);
  }

  std::vector<Command> commands_of(std::uint32_t me) {
    std::vector<Command> commands;
    switch (ask_.kind) {
      case OperationKind::reduce_scatter:
        add_sum(
            commands, me, [&](std::uint32_t r) { return block(send_[r], me); }, recv_[me]);
        break;
      case OperationKind::all_reduce:
        add_all_reduce(commands, me);
        break;
      case OperationKind::broadcast:
        if (me != ask_.root) take(commands, ask_.root, me, send_[ask_.root], recv_[me]);
        break;
      case OperationKind::scatter:
        take(commands, ask_.root, me, block(send_[ask_.root], me), recv_[me]);
        break;
      default:
        if (ask_.kind == OperationKind::gather && me != ask_.root) break;
        for (std::uint32_t i = 0; i < ask_.ranks; ++i) {
          const std::uint32_t from = (me + i) % ask_.ranks;  // so that not all ranks read from the same one first
          const bool all_to_all = ask_.kind == OperationKind::all_to_all;
          const Region src = all_to_all ? slice(send_[from], {sent_at(from, me)}, {count(from, me)}) : send_[from];
          take(commands, from, me, src, slice(recv_[me], {received_at(me, from)}, src.bytes()));
        }
    }
    return commands;
  }

  Region block(const Region& whole, std::uint32_t r) const { return slice(whole, {r * n()}, {n()}); }

  void add_sum(std::vector<Command>& commands, std::uint32_t me, const std::function<Region(std::uint32_t)>& source,
               const Region& dst) {
    Kernel kernel{.op = KernelOp::reduce, .sources = {}, .dst = dst, .dtype = dtype_};
    for (std::uint32_t r = 0; r < ask_.ranks; ++r) {
      kernel.sources.push_back(source(r));
      if (r != me) read_by_[r].insert(me);
    }
    commands.emplace_back(std::move(kernel));
  }

  void add_all_reduce(std::vector<Command>& commands, std::uint32_t me) {
    if (summed_.empty()) {
      for (std::uint32_t r = 0; r < ask_.ranks; ++r) {
        summed_.push_back(builder_.signal(fmt::format("{}{}", kSummed, r), RankId{r}));
      }
    }
    const std::uint64_t part = ((n() + ask_.ranks - 1) / ask_.ranks + kPartUnit - 1) / kPartUnit * kPartUnit;
    const auto part_of = [&](const Region& whole, std::uint32_t r) {
      const std::uint64_t first = std::min(r * part, n());
      return slice(whole, {first}, {std::min(part, n() - first)});
    };
    if (part_of(recv_[me], me).width.value > 0) {
      add_sum(
          commands, me, [&](std::uint32_t r) { return part_of(send_[r], me); }, part_of(recv_[me], me));
    }
    commands.emplace_back(Signal{summed_[me]});
    for (std::uint32_t i = 1; i < ask_.ranks; ++i) {
      const std::uint32_t from = (me + i) % ask_.ranks;
      if (part_of(recv_[from], from).width.value == 0) continue;
      commands.emplace_back(Wait{summed_[from]});
      take(commands, from, me, part_of(recv_[from], from), part_of(recv_[me], from));
    }
  }

  void add_queues(std::uint32_t me) {
    const QueueId host = builder_.host_queue(fmt::format("host{}", me), RankId{me});
    builder_.add(host, Signal{entered_[me]});
    for (std::uint32_t r = 0; r < ask_.ranks; ++r) {
      if (r != me) builder_.add(host, Wait{entered_[r]});
    }
    if (!commands_[me].empty()) {
      const SignalId done = builder_.signal(fmt::format("done{}", me), RankId{me});
      const QueueId stream = builder_.compute_queue(fmt::format("rank{}", me), RankId{me});
      for (Command& command : commands_[me]) builder_.add(stream, std::move(command));
      builder_.add(stream, Signal{done});
      builder_.add(host, Submit{stream});
      builder_.add(host, Wait{done});
    }
    const bool reads = std::ranges::any_of(read_by_, [&](const auto& readers) { return readers.contains(me); });
    if (reads) builder_.add(host, Signal{exited(me)});
    for (const std::uint32_t reader : read_by_[me]) builder_.add(host, Wait{exited(reader)});
  }

  SignalId exited(std::uint32_t r) {
    exited_.resize(ask_.ranks);
    if (!exited_[r]) exited_[r] = builder_.signal(fmt::format("{}{}", kExit, r), RankId{r});
    return *exited_[r];
  }

  Contract contract() const {
    const std::uint32_t root = ask_.root;
    switch (ask_.kind) {
      case OperationKind::all_gather:
        return all_gather_contract(send_, recv_);
      case OperationKind::reduce_scatter:
        return reduce_scatter_contract(blocks(send_, n()), recv_, dtype_);
      case OperationKind::all_reduce:
        return all_reduce_contract(send_, recv_, dtype_);
      case OperationKind::broadcast:
        return broadcast_contract(send_[root], recv_);
      case OperationKind::gather:
        return gather_contract(send_, recv_[root]);
      case OperationKind::scatter:
        return scatter_contract(blocks(send_, n())[root], recv_);
      default:
        break;
    }
    std::vector<std::vector<Region>> sent(ask_.ranks);
    std::vector<std::vector<Region>> received(ask_.ranks);
    for (std::uint32_t a = 0; a < ask_.ranks; ++a) {
      for (std::uint32_t b = 0; b < ask_.ranks; ++b) {
        sent[a].push_back(slice(send_[a], {sent_at(a, b)}, {count(a, b)}));
        received[a].push_back(slice(recv_[a], {received_at(a, b)}, {count(b, a)}));
      }
    }
    return all_to_all_contract(sent, received);
  }

  std::vector<std::vector<Region>> blocks(const std::vector<Region>& wholes, std::uint64_t bytes) const {
    std::vector<std::vector<Region>> cut(wholes.size());
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      if (wholes[i].width.value == 0) continue;
      for (std::uint32_t r = 0; r < ask_.ranks; ++r) cut[i].push_back(slice(wholes[i], {r * bytes}, {bytes}));
    }
    return cut;
  }

  const PullRequest& ask_;
  DType dtype_;
  ProgramBuilder builder_;
  std::vector<Region> send_;
  std::vector<Region> recv_;
  std::vector<std::vector<Command>> commands_;    // by rank: commands of its stream
  std::vector<std::set<std::uint32_t>> read_by_;  // by rank: the ranks that read its memory
  std::vector<SignalId> entered_;
  std::vector<SignalId> summed_;
  std::vector<std::optional<SignalId>> exited_;
};

}  // namespace

Program plan_pull(const PullRequest& request) {
  return PullPlan(request).finish();
}

}  // namespace cortado::runtime
