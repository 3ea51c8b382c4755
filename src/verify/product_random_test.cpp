// GEMMs made in random ways: pieces of rows and columns, panels of k in any order, operands gathered in chunks. All
// of them must be proved. With one mistake put in, what is still proved must give the right bytes.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "base/random.hpp"
#include "verify/testing/interpreter.hpp"
#include "verify/testing/programs.hpp"

namespace cortado::verifier {
namespace product_random_test {

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// c = [L | R] * B on one rank, where R may be empty.
class RandomProduct {
 public:
  explicit RandomProduct(std::uint64_t seed) : random_(seed) {
    constexpr DType kTypes[] = {DType::f8, DType::f16, DType::f32};
    dtype_ = kTypes[random_.below(3)];
    m_ = 1 + random_.below(6);
    n_ = 1 + random_.below(6);
    k_ = 1 + random_.below(8);
    left_k_ = 1 + random_.below(k_);
    left_ = matrix("left", m_, left_k_, BufferRole::input);
    if (left_k_ < k_) right_ = matrix("right", m_, k_ - left_k_, BufferRole::input);
    b_ = matrix("b", k_, n_, BufferRole::input);
    a_ = matrix("a", m_, k_, BufferRole::scratch);
    c_ = matrix("c", m_, n_, BufferRole::inout);  // between its rows may be bytes of the caller
    panel_ = matrix("panel", m_, n_, BufferRole::scratch);
  }

  Program make() {
    gather(left_, 0);
    if (left_k_ < k_) gather(right_, left_k_);
    shuffle(commands_);
    std::vector<std::vector<Command>> pieces;
    for (const Range& rows : cuts(m_)) {
      for (const Range& columns : cuts(n_)) pieces.push_back(piece(rows, columns));
    }
    shuffle(pieces);
    for (const auto& piece : pieces) commands_.insert(commands_.end(), piece.begin(), piece.end());

    const SignalId done = builder_.signal("done");
    const QueueId stream = builder_.compute_queue("stream", {0});
    for (const Command& command : commands_) builder_.add(stream, command);
    const QueueId host = builder_.host_queue("host");
    builder_.add(stream, Signal{done}).add(host, Submit{stream}).add(host, Wait{done});
    ProductClause clause{c_, {{blocks(left_), part(b_, {0, left_k_}, {0, n_})}}, dtype_};
    if (left_k_ < k_) clause.products.push_back({blocks(right_), part(b_, {left_k_, k_}, {0, n_})});
    builder_.contract({"product", {}, {clause}});
    return std::move(builder_).finish();
  }

 private:
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.below(i)]);
  }

  /// [0, extent) in random pieces.
  std::vector<Range> cuts(std::uint64_t extent) {
    std::vector<Range> all;
    for (std::uint64_t at = 0; at < extent;) {
      const std::uint64_t end = random_.chance(2) ? extent : at + 1 + random_.below(extent - at);
      all.emplace_back(at, end);
      at = end;
    }
    return all;
  }

  Region matrix(const char* name, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
    const Bytes pitch = size_of(dtype_) * (columns + random_.below(3));
    return {builder_.buffer(name, {0}, pitch * rows, role), {0}, size_of(dtype_) * columns, rows, pitch};
  }

  Region part(const Region& matrix, const Range& rows, const Range& columns) const {
    return {matrix.buffer, matrix.row_offset(rows.first) + size_of(dtype_) * columns.first,
            size_of(dtype_) * (columns.second - columns.first), rows.second - rows.first, matrix.pitch};
  }

  std::uint64_t columns_of(const Region& matrix) const { return matrix.width.value / size_of(dtype_).value; }

  /// The matrix as blocks of rows.
  std::vector<Region> blocks(const Region& matrix) {
    std::vector<Region> all;
    for (const Range& rows : cuts(m_)) all.push_back(part(matrix, rows, {0, columns_of(matrix)}));
    return all;
  }

  /// Copies an input to its columns of A.
  void gather(const Region& from, std::uint64_t column) {
    for (const Range& rows : cuts(m_)) {
      for (const auto& [begin, end] : cuts(columns_of(from))) {
        commands_.emplace_back(Copy{part(from, rows, {begin, end}), part(a_, rows, {column + begin, column + end})});
      }
    }
  }

  std::vector<Command> piece(const Range& rows, const Range& columns) {
    std::vector<Range> panels = cuts(k_);
    shuffle(panels);
    const Region c = part(c_, rows, columns);
    const Region apart = part(panel_, rows, columns);
    std::vector<Command> all;
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const bool summed = i > 0 && random_.chance(3);
      all.emplace_back(Gemm{part(a_, rows, panels[i]), part(b_, panels[i], columns), summed ? apart : c,
                            rows.second - rows.first, columns.second - columns.first,
                            panels[i].second - panels[i].first, dtype_, i > 0 && !summed});
      if (summed) all.emplace_back(Kernel{KernelOp::reduce, {apart, c}, c, dtype_, {}});
    }
    return all;
  }

  Random random_;
  ProgramBuilder builder_{"test", "test", 1};
  DType dtype_ = DType::f32;
  std::uint64_t m_ = 0, n_ = 0, k_ = 0, left_k_ = 0;
  Region left_, right_, b_, a_, c_, panel_;
  std::vector<Command> commands_;
};

TEST(RandomProducts, AreProvedAndRight) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Program program = RandomProduct(seed).make();
    const auto errors = testing::errors_of(program);
    ASSERT_TRUE(errors.empty()) << "seed " << seed << ": " << to_string(errors[0]);
    ASSERT_TRUE(testing::interpret(program, 2, seed).right()) << "seed " << seed;
  }
}

/// Puts a mistake into one command of the queue "stream".
void spoil(Program& program, Random& random) {
  auto& commands = testing::commands_of(program, "stream");
  const std::size_t which = random.below(commands.size() - 1);  // not the Signal
  Command& command = commands[which];
  if (auto* gemm = std::get_if<Gemm>(&command); gemm != nullptr && !random.chance(4)) {
    Region& region = random.chance(2) ? gemm->a : gemm->b;
    if (random.chance(3)) {
      gemm->accumulate = !gemm->accumulate;
    } else if (region.offset >= region.pitch) {
      region.offset = region.offset - region.pitch;
    } else if (region.offset >= size_of(gemm->dtype)) {
      region.offset = region.offset - size_of(gemm->dtype);
    }
    return;
  }
  if (random.chance(2)) {
    commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(which));
  } else {
    commands.insert(commands.begin() + static_cast<std::ptrdiff_t>(which), command);
  }
}

TEST(RandomProducts, WithAMistakeAreRefusedOrRight) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Program program = RandomProduct(seed % 300).make();
    Random random(seed);
    spoil(program, random);
    if (!testing::errors_of(program).empty()) {
      ++refused;
    } else {
      ASSERT_TRUE(testing::interpret(program, 3, seed).right()) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 500U);
}

}  // namespace product_random_test
}  // namespace cortado::verifier
