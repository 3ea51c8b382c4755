// GEMMs with random output maps and trackers: blocks that stay, go to other ranks or are passed on by copies, in
// pieces of all sizes. All of them must be proved. With one mistake put in, what is still proved must give the right
// bytes.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "base/random.hpp"
#include "verify/testing/interpreter.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace mapped_random_test {

using Range = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::uint32_t kPeerEngine = 2;

/// Every rank multiplies its own a and b. The result is cut into blocks; of each block either every rank keeps its own,
/// or one rank gets the sum of all.
class RandomMap {
 public:
  explicit RandomMap(std::uint64_t seed) : random_(seed), ranks_(1 + random(3)), builder_("test", "test", ranks_) {
    constexpr DType kTypes[] = {DType::f8, DType::f16, DType::f32};
    dtype_ = kTypes[random(3)];
    m_ = 1 + random(5);
    n_ = 1 + random(5);
    k_ = 1 + random(4);
  }

  Program make() {
    host_ = builder_.host_queue("host");
    done_ = builder_.signal("done");
    for (std::uint32_t r = 0; r < ranks_; ++r) add_rank(r);
    for (const Range& rows : cuts(m_)) {
      for (const Range& columns : cuts(n_)) {
        if (random_.chance(3)) {
          for (std::uint32_t r = 0; r < ranks_; ++r) keep(r, rows, columns);
        } else {
          sum(rows, columns);
        }
      }
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      Gemm& gemm = products_[r];
      for (std::size_t i = gemm.outputs.size(); i > 1; --i) std::swap(gemm.outputs[i - 1], gemm.outputs[random(i)]);
      builder_.add(streams_[r], gemm).add(streams_[r], Signal{multiplied_[r]});
      builder_.add(copies_[r], Signal{copied_[r]});
      builder_.add(host_, Wait{multiplied_[r]}).add(host_, Wait{copied_[r]});
    }
    if (raised_ > 0) builder_.add(host_, Wait{done_, raised_});
    builder_.contract(contract_);
    return std::move(builder_).finish();
  }

 private:
  std::uint32_t random(std::uint64_t below) { return static_cast<std::uint32_t>(random_.below(below)); }

  /// [0, extent) in random pieces.
  std::vector<Range> cuts(std::uint64_t extent) {
    std::vector<Range> all;
    for (std::uint64_t at = 0; at < extent;) {
      const std::uint64_t end = random_.chance(2) ? extent : at + 1 + random(extent - at);
      all.emplace_back(at, end);
      at = end;
    }
    return all;
  }

  void add_rank(std::uint32_t r) {
    const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns) {
      const Bytes pitch = size_of(dtype_) * (columns + random(2));
      const BufferId buffer = builder_.buffer(fmt::format("{}{}", name, r), {r}, pitch * rows, BufferRole::input);
      return Region{buffer, {0}, size_of(dtype_) * columns, rows, pitch};
    };
    Gemm gemm{matrix("a", m_, k_), matrix("b", k_, n_), {}, m_, n_, k_, dtype_};
    gemm.tile_m = 1 + random(3);
    gemm.tile_n = 1 + random(3);
    gemm.split_k = 1 + random(k_);
    products_.push_back(gemm);
    streams_.push_back(builder_.compute_queue(fmt::format("stream{}", r), {r}));
    copies_.push_back(builder_.dma_queue(fmt::format("dma{}", r), {r}, {kPeerEngine}));
    multiplied_.push_back(builder_.signal(fmt::format("multiplied{}", r)));
    copied_.push_back(builder_.signal(fmt::format("copied{}", r)));
    builder_.add(host_, Submit{streams_[r]}).add(host_, Submit{copies_[r]});
  }

  Region place(std::uint32_t rank, const Range& rows, const Range& columns, BufferRole role, Bytes gap = {}) {
    const Bytes width = size_of(dtype_) * (columns.second - columns.first);
    const std::uint64_t count = rows.second - rows.first;
    const BufferId buffer = builder_.buffer(fmt::format("place{}", buffers_++), {rank}, (width + gap) * count, role);
    return {buffer, {0}, width, count, width + gap};
  }

  OutputBlock block(const Range& rows, const Range& columns, const Region& to, CopyOp op) const {
    return {rows.first, columns.first, rows.second - rows.first, columns.second - columns.first, to, op};
  }

  Product product(std::uint32_t rank, const Range& rows, const Range& columns) const {
    Region a = products_[rank].a;
    a.offset = a.row_offset(rows.first);
    a.rows = rows.second - rows.first;
    Region b = products_[rank].b;
    b.offset += size_of(dtype_) * columns.first;
    b.width = size_of(dtype_) * (columns.second - columns.first);
    return {{a}, b};
  }

  /// Pieces of whole elements of a region without gaps.
  std::vector<Region> pieces(const Region& region) {
    std::vector<Region> all;
    for (const auto& [begin, end] : cuts(region.bytes().value / size_of(dtype_).value)) {
      all.push_back(
          make_region(region.buffer, region.offset + size_of(dtype_) * begin, size_of(dtype_) * (end - begin)));
    }
    return all;
  }

  void track(const Region& region, std::uint64_t updates, SignalId signal) {
    builder_.tracker({fmt::format("tracker{}", builder_.peek().trackers.size()), region, updates, signal, 1});
  }

  /// Trackers that the host waits for.
  void track_output(const std::vector<Region>& regions, std::uint64_t updates) {
    for (const Region& piece : regions) {
      track(piece, updates, done_);
      ++raised_;
    }
  }

  /// The rank stores its own block in its memory or in that of another rank.
  void keep(std::uint32_t rank, const Range& rows, const Range& columns) {
    const Region to = place(random(ranks_), rows, columns, BufferRole::inout, size_of(dtype_) * random(2));
    Gemm& gemm = products_[rank];
    const bool adds = random_.chance(2);
    gemm.outputs.push_back(block(rows, columns, to, adds ? CopyOp::add : CopyOp::store));
    if (adds) {
      track_output({to}, gemm.split_k);
    } else if (gemm.split_k == 1 && random_.chance(2)) {
      track_output({to}, 1);
    }
    contract_.products.push_back({to, {product(rank, rows, columns)}, dtype_});
  }

  /// One rank gets the sum. Others add to it straight, or by copies of what they have in their own memory.
  void sum(const Range& rows, const Range& columns) {
    const Region to = place(random(ranks_), rows, columns, BufferRole::output);
    std::uint64_t updates = 0;
    ProductClause clause{to, {}, dtype_};
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      clause.products.push_back(product(r, rows, columns));
      Gemm& gemm = products_[r];
      if (random_.chance(2)) {
        gemm.outputs.push_back(block(rows, columns, to, CopyOp::add));
        updates += gemm.split_k;
      } else {
        pass_on(r, rows, columns, to);
        ++updates;
      }
    }
    track_output(pieces(to), updates);
    contract_.products.push_back(clause);
  }

  void pass_on(std::uint32_t rank, const Range& rows, const Range& columns, const Region& to) {
    const Region own = place(rank, rows, columns, BufferRole::scratch);
    Gemm& gemm = products_[rank];
    const bool tracked = random_.chance(2) || gemm.split_k == 1;
    gemm.outputs.push_back(block(rows, columns, own, tracked ? CopyOp::add : CopyOp::store));
    if (!tracked) builder_.add(copies_[rank], Wait{multiplied_[rank]});
    for (const Region& piece : pieces(own)) {
      if (tracked) {
        const SignalId complete = builder_.signal(fmt::format("complete{}", builder_.peek().trackers.size()));
        track(piece, gemm.split_k, complete);
        builder_.add(copies_[rank], Wait{complete});
      }
      const Region there = make_region(to.buffer, to.offset + piece.offset, piece.width);
      builder_.add(copies_[rank], Copy{piece, there, CopyOp::add, dtype_});
    }
  }

  Random random_;
  std::uint32_t ranks_;
  ProgramBuilder builder_;
  DType dtype_ = DType::f32;
  std::uint64_t m_ = 0, n_ = 0, k_ = 0;
  QueueId host_;
  SignalId done_;
  std::uint64_t raised_ = 0;  // what trackers add to `done`
  std::vector<Gemm> products_;
  std::vector<QueueId> streams_, copies_;
  std::vector<SignalId> multiplied_, copied_;
  Contract contract_{"random map", {}, {}};
  std::uint32_t buffers_ = 0;
};

TEST(RandomMaps, AreProvedAndRight) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Program program = RandomMap(seed).make();
    const auto errors = testing::errors_of(program);
    ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << to_string(errors[0]);
    ASSERT_TRUE(testing::interpret(program, 3, seed).right()) << "seed " << seed;
  }
}

void spoil(Tracker& tracker, Program& program, Random& random) {
  switch (random.below(4)) {
    case 0:
      tracker.updates += 1;
      break;
    case 1:
      tracker.updates -= 1;
      break;
    case 2:
      tracker.signal = {static_cast<std::uint32_t>(random.below(program.signals.size()))};
      break;
    default:
      program.trackers.erase(program.trackers.begin() + (&tracker - program.trackers.data()));
  }
}

void spoil(Gemm& gemm, const Program& program, Random& random) {
  OutputBlock& block = gemm.outputs[random.below(gemm.outputs.size())];
  OutputBlock& other = gemm.outputs[random.below(gemm.outputs.size())];
  switch (random.below(5)) {
    case 0:
      block.op = block.op == CopyOp::add ? CopyOp::store : CopyOp::add;
      break;
    case 1:
      std::swap(block.to, other.to);
      break;
    case 2:
      std::swap(block.row, other.row);
      break;
    case 3:
      gemm.split_k = 1 + random.below(gemm.k);
      break;
    default:
      block.to.buffer = {static_cast<std::uint32_t>(random.below(program.buffers.size()))};
  }
}

/// Puts a mistake into a tracker, a GEMM or anything else of a queue.
void spoil(Program& program, Random& random) {
  if (!program.trackers.empty() && random.chance(4)) {
    spoil(program.trackers[random.below(program.trackers.size())], program, random);
    return;
  }
  auto& commands = program.queues[random.below(program.queues.size())].commands;
  const std::size_t which = random.below(commands.size());
  const auto at = commands.begin() + static_cast<std::ptrdiff_t>(which);
  if (auto* gemm = std::get_if<Gemm>(&*at); gemm != nullptr && !random.chance(4)) {
    spoil(*gemm, program, random);
  } else if (random.chance(2)) {
    commands.erase(at);
  } else if (which + 1 < commands.size()) {
    std::swap(commands[which], commands[which + 1]);
  }
}

TEST(RandomMaps, WithAMistakeAreRefusedOrRight) {
  std::size_t refused = 0;
  std::size_t proved = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Program program = RandomMap(seed % 300).make();
    const Program sound = program;
    Random random(seed);
    spoil(program, random);
    if (program == sound) continue;
    if (!testing::errors_of(program).empty()) {
      ++refused;
      continue;
    }
    ++proved;
    for (std::uint64_t run = 0; run < 4; ++run) {
      ASSERT_TRUE(testing::interpret(program, 3, 4 * seed + run).right()) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 500U);
  EXPECT_GT(proved, 20U);
}

}  // namespace mapped_random_test
}  // namespace cortado::verifier
