#include "plan/layer/chain.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gemm/gemm.hpp"
#include "ir/visit.hpp"
#include "plan/renumber.hpp"

namespace cortado::plan {
namespace {

bool frames(const Command& command) {
  const auto* stamp = std::get_if<Timestamp>(&command);
  return stamp != nullptr && (stamp->label == "begin" || stamp->label == "end");
}

/// Gives values their final numbers.
void renumber_values(Command& step, std::uint32_t from, std::uint32_t to) {
  const auto move = [&](Region& region) {
    if (region.buffer.value >= from) region.buffer.value += to - from;
  };
  match(
      step,
      [&](Copy& copy) {
        move(copy.src);
        move(copy.dst);
      },
      [&](Gemm& gemm) {
        move(gemm.a);
        move(gemm.b);
        move(gemm.c);
      },
      [&](Kernel& kernel) {
        for (Region& source : kernel.sources) move(source);
        move(kernel.dst);
      },
      [&](Call& call) {
        for (Region& operand : call.operands) move(operand);
        move(call.result);
      },
      [](auto&) {});
}

}  // namespace

Region matrix_region(BufferId buffer, std::uint64_t rows, std::uint64_t columns) {
  const Bytes width = kFloat * columns;
  return {buffer, {}, width, rows, rows > 1 ? width : Bytes{}};
}

Region rows_of(const Region& matrix, std::uint64_t first, std::uint64_t rows) {
  return {matrix.buffer, matrix.row_offset(first), matrix.width, rows, rows > 1 ? matrix.pitch : Bytes{}};
}

Region columns_of(const Region& matrix, std::uint64_t first, std::uint64_t columns) {
  return {matrix.buffer, matrix.offset + kFloat * first, kFloat * columns, matrix.rows, matrix.pitch};
}

Chain::Chain(std::string name, const Machine& machine, std::uint32_t ranks)
    : machine_(machine), hosts_(ranks), kernels_(ranks) {
  program_.name = name;
  program_.machine = machine.name;
  program_.ranks = ranks;
  program_.contract.name = std::move(name);
}

Region Chain::matrix(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns,
                     BufferRole role) {
  const BufferId id{static_cast<std::uint32_t>(program_.buffers.size())};
  program_.buffers.push_back({fmt::format("{}{}", kind, rank), RankId{rank}, kFloat * columns * rows, role});
  return matrix_region(id, rows, columns);
}

void Chain::kernel(std::uint32_t rank, Command command) {
  kernels_[rank].push_back(std::move(command));
}

void Chain::multiply(std::uint32_t rank, const Region& a, const Region& b, const Region& c) {
  const GemmShape shape{a.rows, b.width.value / kFloat.value, b.rows, DType::f32};
  kernel(rank, gemm_command(shape, choose_tiling(shape, machine_, machine_.compute_units), a, b, c));
}

void Chain::close_kernels() {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    if (kernels_[rank].empty()) continue;
    const SignalId done{static_cast<std::uint32_t>(program_.signals.size())};
    program_.signals.push_back({fmt::format("kernels{}.{}", rank, stages_), {}});
    const QueueId id{static_cast<std::uint32_t>(program_.queues.size())};
    Queue queue{.name = fmt::format("kernels{}.{}", rank, stages_), .kind = QueueKind::compute, .rank = RankId{rank}};
    queue.commands = std::exchange(kernels_[rank], {});
    queue.commands.push_back(Signal{done});
    queue.role = QueueRole::gemm;
    program_.queues.push_back(std::move(queue));
    hosts_[rank].push_back(Submit{id});
    hosts_[rank].push_back(Wait{done});
  }
  ++stages_;
}

Chain::Stage Chain::reserve(Program added, const std::string& name) {
  CORTADO_CHECK(added.ranks == program_.ranks, "programs of the same ranks");
  std::vector<std::uint32_t> queues(added.queues.size());  // ids are assigned when they are launched
  std::iota(queues.begin(), queues.end(), 0U);
  const Renumber renumber(program_, std::move(queues));
  for (Buffer& buffer : added.buffers) {
    buffer.name = fmt::format("{}.{}", buffer.name, name);
    buffer.role = BufferRole::scratch;
    program_.buffers.push_back(std::move(buffer));
  }
  for (SignalInfo& signal : added.signals) {
    signal.name = fmt::format("{}.{}", signal.name, name);
    program_.signals.push_back(std::move(signal));
  }
  for (Tracker& tracker : added.trackers) {
    tracker.name = fmt::format("{}.{}", tracker.name, name);
    renumber(tracker);
    program_.trackers.push_back(std::move(tracker));
  }
  for (Queue& queue : added.queues) {
    queue.name = fmt::format("{}.{}", queue.name, name);
    if (!queue.kernel.empty()) queue.kernel = fmt::format("{}.{}", queue.kernel, name);
    for (Command& command : queue.commands) renumber(command);
  }
  for (Clause& clause : added.contract.clauses) renumber(clause);
  for (ProductClause& clause : added.contract.products) renumber(clause);
  return {std::move(added.queues), std::move(added.contract)};
}

void Chain::launch(Stage stage) {
  close_kernels();
  const auto hosts = std::ranges::find(stage.queues, QueueKind::host, &Queue::kind);
  const auto first = static_cast<std::uint32_t>(program_.queues.size());
  std::move(stage.queues.begin(), hosts, std::back_inserter(program_.queues));
  for (auto host = hosts; host != stage.queues.end(); ++host) {
    CORTADO_CHECK(host->kind == QueueKind::host && host->rank, "one host a rank, behind all other queues");
    for (Command& command : host->commands) {
      if (auto* submit = std::get_if<Submit>(&command)) submit->queue.value += first;
      if (!frames(command)) hosts_[host->rank->value].push_back(std::move(command));
    }
  }
}

Region Chain::value(std::string name, std::uint64_t rows, std::uint64_t columns) {
  std::vector<FormulaValue>& values = program_.contract.formula.values;
  const BufferId id{kFirstValue + static_cast<std::uint32_t>(values.size())};
  values.push_back({std::move(name), kFloat * columns * rows});
  return matrix_region(id, rows, columns);
}

Program Chain::finish() && {
  close_kernels();
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    Queue host{.name = fmt::format("host{}", rank), .kind = QueueKind::host, .rank = RankId{rank}};
    host.commands.push_back(Timestamp{"begin"});
    std::ranges::move(hosts_[rank], std::back_inserter(host.commands));
    host.commands.push_back(Timestamp{"end"});
    host.role = QueueRole::control;
    program_.queues.push_back(std::move(host));
  }
  const std::uint32_t first = first_value(program_).value;
  for (Command& step : program_.contract.formula.steps) renumber_values(step, kFirstValue, first);
  for (FormulaClause& clause : program_.contract.formula.outputs) clause.value.buffer.value += first - kFirstValue;
  return std::move(program_);
}

}  // namespace cortado::plan
