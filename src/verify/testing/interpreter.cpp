#include "verify/testing/interpreter.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.hpp"
#include "base/random.hpp"
#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "verify/testing/tracked_bytes.hpp"
#include "verify/tile_groups.hpp"

namespace cortado::verifier::testing {
namespace {

using Action = std::function<void()>;

class Interpreter {
 public:
  Interpreter(const Program& program, std::uint32_t iterations, std::uint64_t seed)
      : program_(program),
        iterations_(iterations),
        random_(seed),
        advances_(signal_advances(program)),
        counters_(program.signals.size(), 0),
        queues_(program.queues.size()),
        tracked_(program) {
    for (const Buffer& buffer : program.buffers) memory_.emplace_back(buffer.size.value, std::uint8_t{0xee});
    inputs_ = memory_;
  }

  Outcome run() {
    // A queue that has just waited may be chosen again and again; only a full round without progress is a deadlock.
    std::vector<std::uint32_t> order(queues_.size());
    for (std::uint32_t q = 0; q < order.size(); ++q) order[q] = q;
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
      for (const std::uint32_t q : order) {
        for (std::uint64_t steps = random_.below(4); steps-- > 0;) progress = step(q) || progress;
        if (!tracked_.complete().empty() && random_.chance(3)) fire();
      }
      if (!progress) {
        for (const std::uint32_t q : order) progress = step(q) || progress;
      }
      if (!progress && !tracked_.complete().empty()) {
        fire();
        progress = true;
      }
    }
    outcome_.finished = std::ranges::all_of(
        queues_, [&](const State& state) { return state.iteration == iterations_ && state.pending.empty(); });
    return outcome_;
  }

 private:
  using Memory = std::vector<std::vector<std::uint8_t>>;

  struct State {
    std::uint32_t iteration = 0;
    std::size_t command = 0;
    std::size_t part = 0;                      // of a Gemm; with an output map: index of the next raise + 1
    std::vector<std::vector<Action>> tiles{};  // of a Gemm with an output map: updates still to come, by part
    bool filled = false;                       // the caller's inputs of this iteration are written
    std::uint32_t submits = 0;
    std::vector<Action> pending;  // pieces of copies that are still in flight
  };

  const Queue& queue(std::uint32_t q) const { return program_.queues[q]; }

  /// Lets the queue do one thing; false if it can do nothing.
  bool step(std::uint32_t q) {
    State& state = queues_[q];
    const bool can_move = !state.pending.empty();
    if (can_move && random_.chance(3)) return move_piece(state);
    if (advance(q, state)) return true;
    return can_move && move_piece(state);
  }

  bool move_piece(State& state) {
    std::swap(state.pending.back(), state.pending[random_.below(state.pending.size())]);
    const Action piece = std::move(state.pending.back());
    state.pending.pop_back();
    piece();
    return true;
  }

  bool advance(std::uint32_t q, State& state) {
    if (state.iteration == iterations_) return false;
    if (queue(q).kind != QueueKind::host && state.submits <= state.iteration) return false;
    if (queue(q).kind == QueueKind::host && !state.filled) {
      fill(q, state.iteration);
      state.filled = true;
      return true;
    }
    if (state.command == queue(q).commands.size()) {
      if (queue(q).kind == QueueKind::host) check(q, state.iteration);
      ++state.iteration;
      state.command = 0;
      state.filled = false;
      return true;
    }
    if (!execute(q, state, queue(q).commands[state.command])) return false;
    if (state.part == 0) ++state.command;
    return true;
  }

  /// False if the command cannot start yet.
  bool execute(std::uint32_t q, State& state, const Command& command) {
    return match(
        command,
        [&](const Wait& wait) {
          const std::uint64_t value = state.iteration * advances_[wait.signal.value] + wait.value;
          const std::uint64_t counter = counters_[wait.signal.value];
          return wait.compare == Compare::ge ? counter >= value : counter == value;
        },
        [&](const Signal& signal) {
          if (!state.pending.empty()) return false;
          std::uint64_t& counter = counters_[signal.signal.value];
          counter = signal.op == SignalOp::add ? counter + signal.value
                                               : state.iteration * advances_[signal.signal.value] + signal.value;
          return true;
        },
        [&](const Trigger& trigger) {
          counters_[trigger.signal.value] += trigger.value;
          return true;
        },
        [&](const Timestamp&) { return state.pending.empty(); },
        [&](const Submit& submit) {
          ++queues_[submit.queue.value].submits;
          return true;
        },
        [&](const Gemm& gemm) {
          if (!gemm.outputs.empty()) return produce(state, gemm);
          const TileRange tiles = tile_group(gemm, state.part);
          if (tiles.begin < tiles.end) compute(gemm, tiles);
          if (state.part == gemm.raises.size()) {
            state.part = 0;
          } else {
            counters_[gemm.raises[state.part].signal.value] += gemm.raises[state.part].value;
            ++state.part;
          }
          return true;
        },
        [&](const Kernel& kernel) {
          run_kernel(kernel);
          return true;
        },
        [&](const Call&) {
          CORTADO_CHECK(false, "programs of these tests have no functions");
          return true;
        },
        [&](const Copy& copy) {
          move_later(q, state, copy);
          return true;
        },
        [&](const Broadcast& broadcast) {
          move_later(q, state, Copy{broadcast.src, broadcast.dst1});
          move_later(q, state, Copy{broadcast.src, broadcast.dst2});
          return true;
        },
        [&](const Swap& swap) {
          for (std::uint64_t i = 0; i < swap.a.width.value; ++i) {
            state.pending.push_back([this, swap, i] { std::swap(byte(swap.a, i), byte(swap.b, i)); });
          }
          return true;
        });
  }

  static std::uint64_t address(const Region& region, std::uint64_t index) {
    return region.row_offset(index / region.width.value).value + index % region.width.value;
  }

  std::uint8_t& byte(const Region& region, std::uint64_t index) {
    return memory_[region.buffer.value][address(region, index)];
  }

  /// Bytes of dma copies move one by one (elements, if they add), in any order until the next Signal.
  void move_later(std::uint32_t q, State& state, const Copy& copy) {
    const std::uint64_t unit = copy.op == CopyOp::add ? size_of(copy.dtype).value : 1;
    const bool update = queue(q).kind == QueueKind::dma;
    for (std::uint64_t i = 0; i < copy.src.bytes().value; i += unit) {
      state.pending.push_back([this, copy, i, unit, update] {
        std::uint64_t value = 0;
        for (std::uint64_t k = unit; k-- > 0;) value = value << 8U | byte(copy.src, i + k);
        put(copy.dst, i, unit, value, copy.op, update);
      });
    }
    while (queue(q).kind == QueueKind::compute && !state.pending.empty()) move_piece(state);
  }

  /// Writes an element at a place of the region. The first of the updates that add stores its value.
  void put(const Region& dst, std::uint64_t place, std::uint64_t size, std::uint64_t value, CopyOp op, bool update) {
    std::uint32_t carry = 0;
    for (std::uint64_t i = place; i < place + size; ++i, value >>= 8U) {
      const std::uint64_t at = address(dst, i);
      const bool counted = update && tracked_.is_tracked(dst.buffer, at);
      const bool adds = op == CopyOp::add && !(counted && tracked_.is_fresh(dst.buffer, at));
      const std::uint32_t sum = static_cast<std::uint8_t>(value) + (adds ? byte(dst, i) + carry : std::uint32_t{0});
      byte(dst, i) = static_cast<std::uint8_t>(sum);
      carry = sum >> 8U;
      if (counted && !tracked_.count(dst.buffer, at)) ++outcome_.wrong_bytes;
    }
  }

  /// Lets one of the trackers that have received all updates raise its signal.
  void fire() {
    const std::size_t index = random_.below(tracked_.complete().size());
    const Tracker& tracker = program_.trackers[tracked_.start_over(index)];
    counters_[tracker.signal.value] += tracker.value;
  }

  /// Computes one more element of a Gemm with an output map, any that can be; false if all the rest must wait.
  bool produce(State& state, const Gemm& gemm) {
    if (state.part == 0) {
      state.part = 1;
      state.tiles.resize(gemm.waits.empty() ? gemm.raises.size() + 1 : tile_groups(gemm).size());
      for (std::size_t part = 0; part < state.tiles.size(); ++part) plan(gemm, part, state.tiles[part]);
    }
    std::vector<std::size_t> possible;
    for (std::size_t part = 0; part < state.tiles.size(); ++part) {
      if (!state.tiles[part].empty() && is_released(state, gemm, part)) possible.push_back(part);
    }
    if (possible.empty()) return false;
    auto& actions = state.tiles[possible[random_.below(possible.size())]];
    std::swap(actions.back(), actions[random_.below(actions.size())]);
    actions.back()();
    actions.pop_back();
    for (; state.part <= gemm.raises.size(); ++state.part) {
      const TileSignal& raise = gemm.raises[state.part - 1];
      bool complete = true;
      for (std::size_t part = 0; part < state.tiles.size(); ++part) {
        complete = complete && (state.tiles[part].empty() || tile_group(gemm, part).begin >= raise.tiles);
      }
      if (!complete) break;
      counters_[raise.signal.value] += raise.value;
    }
    if (std::ranges::all_of(state.tiles, [](const std::vector<Action>& left) { return left.empty(); })) {
      state.part = 0;
      state.tiles.clear();
    }
    return true;
  }

  bool is_released(const State& state, const Gemm& gemm, std::size_t part) const {
    return std::ranges::all_of(waits_of_tile(gemm, tile_group(gemm, part).begin), [&](const TileWait& wait) {
      return counters_[wait.signal.value] >= state.iteration * advances_[wait.signal.value] + wait.value;
    });
  }

  /// The updates of a part of a Gemm, element by element; with split_k, each workgroup does its share of k.
  void plan(const Gemm& gemm, std::size_t part, std::vector<Action>& actions) {
    for (const Gemm& tiles : tile_gemms(gemm, tile_group(gemm, part))) {
      const OutputBlock block = tiles.outputs.front();
      const std::uint64_t shares = block.op == CopyOp::add ? tiles.split_k : 1;
      for (std::uint64_t i = 0; i < tiles.m * tiles.n * shares; ++i) {
        const std::uint64_t at = i / shares;
        const std::uint64_t begin = tiles.k * (i % shares) / shares;
        const std::uint64_t end = tiles.k * (i % shares + 1) / shares;
        actions.push_back([this, tiles, block, at, begin, end] {
          const std::uint64_t size = size_of(tiles.dtype).value;
          const std::uint64_t sum = product(tiles, at / tiles.n, at % tiles.n, begin, end);
          put(block.to, at * size, size, sum, block.op, true);
        });
      }
    }
  }

  void run_kernel(const Kernel& kernel) {
    const Region& source = kernel.sources.front();
    if (kernel.op != KernelOp::reduce) {
      const std::uint64_t width = kernel.dst.width.value;
      for (std::uint64_t i = 0; i < kernel.rows.size(); ++i) {
        const bool gather = kernel.op == KernelOp::gather_rows;
        const std::uint64_t from = gather ? kernel.rows[i] : i;
        const std::uint64_t to = gather ? i : kernel.rows[i];
        for (std::uint64_t k = 0; k < width; ++k) byte(kernel.dst, to * width + k) = byte(source, from * width + k);
      }
      return;
    }
    const std::vector<std::uint8_t> sum = sum_of(kernel.sources, kernel.dtype, memory_);
    for (std::uint64_t i = 0; i < sum.size(); ++i) {
      byte(kernel.dst, i) = sum[i];
      for (const Region& also : kernel.also) byte(also, i) = sum[i];
    }
  }

  static std::vector<std::uint8_t> sum_of(const std::vector<Region>& terms, DType dtype, const Memory& memory) {
    std::vector<std::uint8_t> total(terms.front().bytes().value, 0);
    for (const Region& term : terms) {
      std::uint32_t carry = 0;
      for (std::uint64_t i = 0; i < total.size(); ++i) {
        if (i % size_of(dtype).value == 0) carry = 0;
        const std::uint64_t at = term.row_offset(i / term.width.value).value + i % term.width.value;
        const std::uint32_t sum = std::uint32_t{total[i]} + memory[term.buffer.value][at] + carry;
        total[i] = static_cast<std::uint8_t>(sum);
        carry = sum >> 8U;
      }
    }
    return total;
  }

  static std::uint64_t element(const Memory& memory, const Region& matrix, std::uint64_t row, std::uint64_t column,
                               DType dtype) {
    const std::uint64_t size = size_of(dtype).value;
    const std::uint8_t* at = memory[matrix.buffer.value].data() + matrix.row_offset(row).value + column * size;
    std::uint64_t value = 0;
    for (std::uint64_t i = size; i-- > 0;) value = value << 8U | at[i];
    return value;
  }

  /// An element of A·B, over a range of k.
  std::uint64_t product(const Gemm& gemm, std::uint64_t row, std::uint64_t column, std::uint64_t begin,
                        std::uint64_t end) const {
    std::uint64_t sum = 0;
    for (std::uint64_t t = begin; t < end; ++t) {
      sum += element(memory_, gemm.a, row, t, gemm.dtype) * element(memory_, gemm.b, t, column, gemm.dtype);
    }
    return sum;
  }

  void compute(const Gemm& gemm, TileRange tiles) {
    const CopyOp op = gemm.accumulate ? CopyOp::add : CopyOp::store;
    const std::uint64_t size = size_of(gemm.dtype).value;
    for (const Gemm& part : tile_gemms(gemm, tiles)) {
      for (std::uint64_t i = 0; i < part.m * part.n; ++i) {
        put(part.c, i * size, size, product(part, i / part.n, i % part.n, 0, part.k), op, false);
      }
    }
  }

  bool is_caller(std::uint32_t q, BufferId buffer) const {
    const auto caller = caller_queue(program_, program_.buffer(buffer).rank);
    return caller && caller->value == q;
  }

  /// Bytes that differ by buffer, place and iteration.
  static void write_pattern(const Region& region, std::uint32_t iteration, Memory& memory) {
    for (std::uint64_t i = 0; i < region.bytes().value; ++i) {
      const std::uint64_t at = region.row_offset(i / region.width.value).value + i % region.width.value;
      const std::uint64_t key = (std::uint64_t{region.buffer.value} << 40U) + (std::uint64_t{iteration} << 32U) + at;
      memory[region.buffer.value][at] = static_cast<std::uint8_t>(Random(key).next());
    }
  }

  void fill(std::uint32_t q, std::uint32_t iteration) {
    for_each_input(program_, [&](const Region& region) {
      if (is_caller(q, region.buffer)) write_pattern(region, iteration, memory_);
    });
  }

  /// The expected bytes come from the pattern, not from memory: other callers may already have moved on.
  void check(std::uint32_t q, std::uint32_t iteration) {
    for (const Clause& clause : program_.contract.clauses) {
      if (!is_caller(q, clause.output.buffer)) continue;
      for (const Region& term : clause.terms) write_pattern(term, iteration, inputs_);
      const std::vector<std::uint8_t> expected = sum_of(clause.terms, clause.dtype, inputs_);
      for (std::uint64_t i = 0; i < expected.size(); ++i) {
        if (byte(clause.output, i) != expected[i]) ++outcome_.wrong_bytes;
      }
    }
    for (const ProductClause& clause : program_.contract.products) {
      if (is_caller(q, clause.output.buffer)) check(clause, iteration);
    }
  }

  void check(const ProductClause& clause, std::uint32_t iteration) {
    const std::uint64_t size = size_of(clause.dtype).value;
    const std::uint64_t columns = clause.output.width.value / size;
    std::vector<std::uint64_t> sums(clause.output.rows * columns, 0);
    for (const Product& product : clause.products) {
      write_pattern(product.b, iteration, inputs_);
      std::uint64_t row = 0;
      for (const Region& block : product.a) {
        write_pattern(block, iteration, inputs_);
        for (std::uint64_t i = 0; i < block.rows; ++i, ++row) {
          for (std::uint64_t j = 0; j < columns; ++j) {
            for (std::uint64_t t = 0; t < product.b.rows; ++t) {
              sums[row * columns + j] +=
                  element(inputs_, block, i, t, clause.dtype) * element(inputs_, product.b, t, j, clause.dtype);
            }
          }
        }
      }
    }
    for (std::uint64_t i = 0; i < sums.size(); ++i) {
      for (std::uint64_t b = 0; b < size; ++b) {
        const auto expected = static_cast<std::uint8_t>(sums[i] >> (8 * b));
        if (byte(clause.output, i * size + b) != expected) ++outcome_.wrong_bytes;
      }
    }
  }

  const Program& program_;
  std::uint32_t iterations_;
  Random random_;
  std::vector<std::uint64_t> advances_;
  std::vector<std::uint64_t> counters_;
  std::vector<State> queues_;
  TrackedBytes tracked_;
  Memory memory_;
  Memory inputs_;  // what the callers wrote in the iteration being checked
  Outcome outcome_;
};

}  // namespace

Outcome interpret(const Program& program, std::uint32_t iterations, std::uint64_t seed) {
  return Interpreter(program, iterations, seed).run();
}

}  // namespace cortado::verifier::testing
