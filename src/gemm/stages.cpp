#include "gemm/stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "gemm/real.hpp"
#include "ir/tiles.hpp"

namespace cortado {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// The rows of A (or columns of B) cut wherever a tile of any block begins or ends, and when each piece was touched.
class Operand {
 public:
  /// `depth` bytes of a row for each of `parts` parts of k.
  Operand(std::uint64_t parts, double depth) : parts_(parts), depth_(depth) {}

  void cut(std::uint64_t first, std::uint64_t extent, std::uint64_t tile) {
    for (std::uint64_t at = first; at < first + extent; at += tile) cuts_.push_back(at);
    cuts_.push_back(first + extent);
  }
  void finish_cuts() {
    std::ranges::sort(cuts_);
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    last_.assign(cuts_.size() * parts_, kNever);
  }

  struct Pieces {
    std::size_t from;
    std::size_t to;
  };
  /// Of each tile along such an extent.
  std::vector<Pieces> pieces(std::uint64_t first, std::uint64_t extent, std::uint64_t tile) const {
    std::vector<Pieces> all;
    for (std::uint64_t at = first; at < first + extent; at += tile) {
      all.push_back({place(at), place(std::min(at + tile, first + extent))});
    }
    return all;
  }

  /// A workgroup of the stage needs them.
  void touch(Pieces pieces, std::uint64_t part, std::uint64_t stage) {
    for (std::size_t piece = pieces.from; piece < pieces.to; ++piece) {
      std::uint64_t& last = last_[piece * parts_ + part];
      if (last == stage) continue;
      touches_.push_back({real(cuts_[piece + 1] - cuts_[piece]) * depth_, last});
      last = stage;
    }
  }

  double touched_bytes() const {
    double bytes = 0;
    for (const Touch& touch : touches_) bytes += touch.bytes;
    return bytes;
  }

  /// Ends a stage: the bytes it reads, where miss(stage) is the share that is no longer cached of what that stage
  /// touched last.
  template <class Miss>
  double read_bytes(Miss&& miss) {
    double bytes = 0;
    std::uint64_t known = kNever;  // neighbours were mostly touched together before
    double share = 1;
    for (const Touch& touch : touches_) {
      if (touch.last != known) {
        known = touch.last;
        share = known == kNever ? 1 : miss(known);
      }
      bytes += touch.bytes * share;
    }
    touches_.clear();
    return bytes;
  }

 private:
  struct Touch {
    double bytes;
    std::uint64_t last;
  };

  std::size_t place(std::uint64_t at) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, at) - cuts_.begin());
  }

  std::uint64_t parts_;
  double depth_;
  std::vector<std::uint64_t> cuts_;
  std::vector<std::uint64_t> last_;  // stage, of each piece and part
  std::vector<Touch> touches_;       // of the stage under way
};

}  // namespace

double cache_hit_probability(double touched_bytes, Bytes cache, std::uint32_t ways) {
  CORTADO_CHECK(cache.value > 0 && ways > 0, "there is a cache");
  const double lambda = ways * touched_bytes / real(cache.value);
  double term = std::exp(-lambda);
  double sum = 0;
  for (std::uint32_t lines = 0; lines < ways; ++lines) {
    sum += term;
    term *= lambda / (lines + 1);
  }
  return std::min(1.0, sum);
}

namespace {

/// Bytes read by all stages before each, and one more for all.
std::vector<double> read_before(const Gemm& gemm, const Machine& machine, std::uint32_t units) {
  CORTADO_CHECK(units > 0 && machine.timing->compute->stages, "a machine whose GEMMs run in stages");
  const Bytes cache = machine.timing->memory.cache_bytes;
  const std::uint32_t ways = machine.timing->compute->stages->cache_ways;
  const std::uint64_t parts = gemm.split_k;
  const double element = real(size_of(gemm.dtype).value);
  const double depth = element * real(gemm.k) / real(parts);
  // Partial sums of a split GEMM are f32.
  const double of_result = !gemm.outputs.empty() ? 0 : parts == 1 ? element : sizeof(float) + element / real(parts);

  const std::vector<OutputBlock> blocks = output_blocks(gemm);
  Operand a(parts, depth);
  Operand b(parts, depth);
  const OutputBlock* before = nullptr;  // blocks above or beside one another are cut the same way
  for (const OutputBlock& block : blocks) {
    if (!before || before->row != block.row || before->rows != block.rows) a.cut(block.row, block.rows, gemm.tile_m);
    if (!before || before->column != block.column || before->columns != block.columns) {
      b.cut(block.column, block.columns, gemm.tile_n);
    }
    before = &block;
  }
  a.finish_cuts();
  b.finish_cuts();

  std::vector<double> before_stage{0};
  std::vector<double> touched{0};  // by all stages before each
  double results = 0;
  std::uint64_t in_stage = 0;
  const auto end_stage = [&] {
    touched.push_back(touched.back() + a.touched_bytes() + b.touched_bytes() + results);
    const auto miss = [&](std::uint64_t last) {
      if (cache.value == 0) return 1.0;
      return 1 - cache_hit_probability(touched.back() - touched[last + 1], cache, ways);
    };
    before_stage.push_back(before_stage.back() + a.read_bytes(miss) + b.read_bytes(miss));
    results = 0;
    in_stage = 0;
  };
  for (const OutputBlock& block : blocks) {
    const std::vector<Operand::Pieces> rows = a.pieces(block.row, block.rows, gemm.tile_m);
    const std::vector<Operand::Pieces> columns = b.pieces(block.column, block.columns, gemm.tile_n);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::uint64_t height = std::min(gemm.tile_m, block.rows - row * gemm.tile_m);
      for (std::size_t column = 0; column < columns.size(); ++column) {
        const std::uint64_t width = std::min(gemm.tile_n, block.columns - column * gemm.tile_n);
        for (std::uint64_t part = 0; part < parts; ++part) {
          a.touch(rows[row], part, before_stage.size() - 1);
          b.touch(columns[column], part, before_stage.size() - 1);
          results += real(height * width) * of_result;
          if (++in_stage == units) end_stage();
        }
      }
    }
  }
  if (in_stage > 0) end_stage();
  return before_stage;
}

/// The same tiles, column by column: the transposed GEMM has them row by row.
Gemm by_columns(Gemm gemm) {
  std::swap(gemm.m, gemm.n);
  std::swap(gemm.tile_m, gemm.tile_n);
  return gemm;
}

}  // namespace

StageReads::StageReads(const Gemm& gemm, const Machine& machine, std::uint32_t units)
    : units_(units), workgroups_(tile_count(gemm) * gemm.split_k), before_(read_before(gemm, machine, units)) {
  if (!gemm.outputs.empty() || !gemm.raises.empty()) return;
  std::vector<double> other = read_before(by_columns(gemm), machine, units);
  if (other.back() < before_.back()) before_ = std::move(other);
}

double StageReads::up_to(std::uint64_t workgroup) const {
  const std::uint64_t stage = workgroup / units_;
  if (stage >= stages()) return before_.back();
  const std::uint64_t size = std::min(units_, workgroups_ - stage * units_);
  return before_[stage] + of_stage(stage) * real(workgroup - stage * units_) / real(size);
}

double StageReads::of_workgroups(std::uint64_t first, std::uint64_t count) const {
  return up_to(first + count) - up_to(first);
}

}  // namespace cortado
