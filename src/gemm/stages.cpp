#include "cortado/gemm/stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cortado/base/check.hpp"
#include "cortado/ir/tiles.hpp"

namespace cortado {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

std::uint64_t tiles_along(std::uint64_t extent, std::uint64_t tile) {
  return (extent + tile - 1) / tile;
}

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
  std::uint32_t place(std::uint64_t at) const {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(cuts_, at) - cuts_.begin());
  }

  /// Calls visit(bytes, stage of the last touch or kNever) for the pieces from one place to another that the stage has
  /// not touched yet.
  template <class Visit>
  void touch(std::uint32_t from, std::uint32_t to, std::uint64_t part, std::uint64_t stage, Visit&& visit) {
    for (std::uint32_t piece = from; piece < to; ++piece) {
      std::uint64_t& last = last_[piece * parts_ + part];
      if (last == stage) continue;
      visit(real(cuts_[piece + 1] - cuts_[piece]) * depth_, last);
      last = stage;
    }
  }

 private:
  std::uint64_t parts_;
  double depth_;
  std::vector<std::uint64_t> cuts_;
  std::vector<std::uint64_t> last_;  // stage, of each piece and part
};

struct Touch {
  double bytes;
  std::uint64_t last;
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

StageReads::StageReads(const Gemm& gemm, const Machine& machine, std::uint32_t units)
    : units_(units), workgroups_(tile_count(gemm) * gemm.split_k), before_{0} {
  CORTADO_CHECK(units > 0 && machine.timing->compute->stages, "a machine whose products run in stages");
  const Bytes cache = machine.timing->memory.cache_bytes;
  const std::uint32_t ways = machine.timing->compute->stages->cache_ways;
  const std::uint64_t parts = gemm.split_k;
  const double element = real(size_of(gemm.dtype).value);
  const double depth = element * real(gemm.k) / real(parts);
  // Partial sums of a split product are f32.
  const double of_result = !gemm.outputs.empty() ? 0 : parts == 1 ? element : sizeof(float) + element / real(parts);

  const std::vector<OutputBlock> blocks = output_blocks(gemm);
  Operand a(parts, depth);
  Operand b(parts, depth);
  for (const OutputBlock& block : blocks) {
    a.cut(block.row, block.rows, gemm.tile_m);
    b.cut(block.column, block.columns, gemm.tile_n);
  }
  a.finish_cuts();
  b.finish_cuts();

  before_.reserve(workgroups_ / units + 2);
  std::vector<double> touched{0};  // by all stages before each
  std::vector<Touch> touches;
  double results = 0;
  std::uint64_t in_stage = 0;
  const auto note = [&](double bytes, std::uint64_t last) { touches.push_back({bytes, last}); };
  const auto end_stage = [&] {
    double bytes = results;
    for (const Touch& touch : touches) bytes += touch.bytes;
    touched.push_back(touched.back() + bytes);
    double read = 0;
    std::uint64_t known = kNever;  // neighbours in a stage were mostly touched together before
    double miss = 1;
    for (const Touch& touch : touches) {
      if (touch.last != known) {
        known = touch.last;
        const bool held = known != kNever && cache.value > 0;
        miss = held ? 1 - cache_hit_probability(touched.back() - touched[known + 1], cache, ways) : 1;
      }
      read += touch.bytes * miss;
    }
    before_.push_back(before_.back() + read);
    touches.clear();
    results = 0;
    in_stage = 0;
  };
  for (const OutputBlock& block : blocks) {
    const std::uint64_t tile_columns = tiles_along(block.columns, gemm.tile_n);
    const std::uint64_t tiles = tile_count(gemm, block);
    for (std::uint64_t tile = 0; tile < tiles; ++tile) {
      const std::uint64_t row = tile / tile_columns * gemm.tile_m;
      const std::uint64_t column = tile % tile_columns * gemm.tile_n;
      const std::uint64_t rows = std::min(gemm.tile_m, block.rows - row);
      const std::uint64_t columns = std::min(gemm.tile_n, block.columns - column);
      const std::uint32_t a_from = a.place(block.row + row);
      const std::uint32_t a_to = a.place(block.row + row + rows);
      const std::uint32_t b_from = b.place(block.column + column);
      const std::uint32_t b_to = b.place(block.column + column + columns);
      for (std::uint64_t part = 0; part < parts; ++part) {
        a.touch(a_from, a_to, part, before_.size() - 1, note);
        b.touch(b_from, b_to, part, before_.size() - 1, note);
        results += real(rows * columns) * of_result;
        if (++in_stage == units_) end_stage();
      }
    }
  }
  if (in_stage > 0) end_stage();
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
