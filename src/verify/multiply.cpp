#include "verify/multiply.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/small_vector.hpp"

namespace cortado::verifier {
namespace {

/// Makes `below` a part of the block directly above it, if their rows are a constant step apart.
bool join_below(Block& above, const Block& below) {
  if (above.value.terms.size() != 1 || below.value.terms.size() != 1) return false;
  const bool touch = above.at.column_begin == below.at.column_begin && above.at.column_end == below.at.column_end &&
                     above.at.row_end == below.at.row_begin;
  if (!touch) return false;
  Term& first = above.value.terms.front();
  const Term& next = below.value.terms.front();
  // A single row has no step.
  const std::uint64_t step = above.rows() > 1 ? first.step : next.offset - first.offset;
  const bool goes_on = first.source == next.source && first.iteration == next.iteration &&
                       first.offset + above.rows() * step == next.offset && (below.rows() == 1 || next.step == step);
  if (!goes_on) return false;
  first.step = step;
  above.at.row_end = below.at.row_end;
  return true;
}

/// Joins blocks that lie one below another where possible.
void stack(Blocks& blocks) {
  if (blocks.size() < 2) return;
  std::ranges::sort(blocks, {}, [](const Block& block) {
    return std::tuple(block.at.column_begin, block.at.column_end, block.at.row_begin);
  });
  Blocks result;
  for (Block& block : blocks) {
    if (result.empty() || !join_below(result.back(), block)) result.push_back(std::move(block));
  }
  blocks = std::move(result);
}

/// An operand cut into bands such that every band is a simple sequence of blocks: A into bands of rows, B into bands of
/// columns.
struct Band {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  SmallVector<const Block*, 1> blocks;  // along k
};

template <class Begin, class End, class AlongK>
SmallVector<Band, 1> bands(const Blocks& blocks, Begin begin_of, End end_of, AlongK along_k) {
  SmallVector<Band, 1> all;
  if (blocks.size() == 1 && begin_of(blocks.front()) < end_of(blocks.front())) {
    all.push_back({begin_of(blocks.front()), end_of(blocks.front()), {&blocks.front()}});
    return all;
  }
  std::vector<std::uint64_t> cuts;
  for (const Block& block : blocks) {
    cuts.push_back(begin_of(block));
    cuts.push_back(end_of(block));
  }
  std::ranges::sort(cuts);
  const auto doubles = std::ranges::unique(cuts);
  cuts.erase(doubles.begin(), doubles.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) all.push_back({cuts[i], cuts[i + 1], {}});
  for (const Block& block : blocks) {
    auto band = static_cast<std::size_t>(std::ranges::lower_bound(cuts, begin_of(block)) - cuts.begin());
    for (; band < all.size() && all[band].begin < end_of(block); ++band) all[band].blocks.push_back(&block);
  }
  for (Band& band : all) std::ranges::sort(band.blocks, {}, [&](const Block* block) { return along_k(*block); });
  return all;
}

/// Joins blocks side by side that continue each other, unless all of them consist of whole elements: copies may cut
/// anywhere.
void make_whole_elements(Blocks& blocks, std::uint64_t element) {
  const auto is_whole = [&](const Block& block) {
    return block.at.column_begin % element == 0 && block.at.column_end % element == 0;
  };
  if (std::ranges::all_of(blocks, is_whole)) return;
  const auto along_rows = [](const Block& block) { return block.at.column_begin; };
  Blocks result;
  for (const Band& band : bands(
           blocks, [](const Block& block) { return block.at.row_begin; },
           [](const Block& block) { return block.at.row_end; }, along_rows)) {
    const std::size_t first = result.size();
    for (const Block* block : band.blocks) {
      const Rectangle part{band.begin, band.end, block->at.column_begin, block->at.column_end};
      Value value = value_of(*block, part);
      if (result.size() > first && result.back().at.column_end == part.column_begin) {
        Block& left = result.back();
        if (left.value.moved_by(left.at.column_end - left.at.column_begin) == value) {
          left.at.column_end = part.column_end;
          continue;
        }
      }
      result.push_back({part, std::move(value)});
    }
  }
  blocks = std::move(result);
}

using ProductTerms = SmallVector<ProductTerm, 1>;

class Multiplication {
 public:
  Multiplication(DType dtype, Results& results) : dtype_(dtype), element_(size_of(dtype).value), results_(results) {}

  /// One band of rows times one band of columns.
  void cell(const Band& rows, const Band& columns) {
    products_.clear();
    bool plain = columns.begin % element_ == 0 && columns.end % element_ == 0;
    bool defined = true;
    for (std::size_t i = 0, j = 0; i < rows.blocks.size() && j < columns.blocks.size();) {
      const Block& a = *rows.blocks[i];
      const Block& b = *columns.blocks[j];
      const std::uint64_t end_a = a.at.column_end / element_;
      const std::uint64_t begin = std::max(a.at.column_begin / element_, b.at.row_begin);
      const std::uint64_t end = std::min(end_a, b.at.row_end);
      defined = defined && a.value.is_defined() && b.value.is_defined();
      plain = plain && a.at.column_begin % element_ == 0 && a.at.column_end % element_ == 0;
      const auto factor_a = factor(a.value);
      const auto factor_b = factor(b.value);
      plain = plain && factor_a && factor_b;
      if (plain && defined && begin < end) {
        add(*factor_a, rows.begin - a.at.row_begin, begin * element_ - a.at.column_begin, *factor_b,
            begin - b.at.row_begin, columns.begin - b.at.column_begin, end - begin);
        plain = products_.back().a.offset % element_ == 0 && products_.back().b.offset % element_ == 0;
      }
      if (end_a <= b.at.row_end) ++i;
      if (b.at.row_end <= end_a) ++j;
    }
    const Rectangle at{rows.begin, rows.end, columns.begin, columns.end};
    if (!defined) {
      blocks_.push_back({at, Value{}});
    } else if (!plain) {
      blocks_.push_back({at, Value{{{results_.unnamed(), 0, 0, columns.end - columns.begin}}}});
    } else {
      emit(at, products_);
    }
  }

  Blocks take() {
    const auto first_row = [](const Block& block) { return block.at.row_begin; };
    if (!std::ranges::is_sorted(blocks_, {}, first_row)) std::ranges::stable_sort(blocks_, {}, first_row);
    return std::move(blocks_);
  }

 private:
  std::optional<Term> factor(const Value& value) const {
    return value.is_defined() ? results_.as_term(value) : std::nullopt;
  }

  void add(const Term& a, std::uint64_t a_row, std::uint64_t a_byte, const Term& b, std::uint64_t b_row,
           std::uint64_t b_byte, std::uint64_t k) {
    products_.push_back({{a.source, a.iteration, a.offset + a_row * a.step + a_byte},
                         a.step,
                         {b.source, b.iteration, b.offset + b_row * b.step + b_byte},
                         b.step,
                         k,
                         dtype_});
  }

  /// Cuts the cell where the high bits of an address change (results.hpp).
  void emit(const Rectangle& at, const ProductTerms& products) {
    const auto high = [](std::uint64_t address) { return address >> Results::kHalf; };
    const std::uint64_t rows = at.row_end - at.row_begin;
    const std::uint64_t width = at.column_end - at.column_begin;
    std::uint64_t first_rows = rows;
    std::uint64_t first_columns = width;
    for (const ProductTerm& p : products) {
      const std::uint64_t next_a = (high(p.a.offset) + 1) << Results::kHalf;
      if (high(p.a.offset) != high(p.a.offset + (rows - 1) * p.a_step)) {
        first_rows = std::min(first_rows, p.a_step >> Results::kHalf != 0 ? 1 : rows_below(p, next_a));
      }
      const std::uint64_t next_b = (high(p.b.offset) + 1) << Results::kHalf;
      if (high(p.b.offset) != high(p.b.offset + width - 1)) {
        first_columns = std::min(first_columns, next_b - p.b.offset);
      }
    }
    if (first_rows < rows) {
      ProductTerms below = products;
      for (ProductTerm& p : below) p.a.offset += first_rows * p.a_step;
      emit({at.row_begin, at.row_begin + first_rows, at.column_begin, at.column_end}, products);
      emit({at.row_begin + first_rows, at.row_end, at.column_begin, at.column_end}, below);
      return;
    }
    if (first_columns < width) {
      ProductTerms right = products;
      for (ProductTerm& p : right) p.b.offset += first_columns;
      emit({at.row_begin, at.row_end, at.column_begin, at.column_begin + first_columns}, products);
      emit({at.row_begin, at.row_end, at.column_begin + first_columns, at.column_end}, right);
      return;
    }
    Value value{.dtype = dtype_, .phase = at.column_begin % element_};
    for (ProductTerm p : products) {
      if (rows == 1) p.a_step = 0;
      value.terms.push_back(results_.term(p));
    }
    std::ranges::sort(value.terms);
    results_.join_panels(value.terms, dtype_, value.phase);
    blocks_.push_back({at, std::move(value)});
  }

  static std::uint64_t rows_below(const ProductTerm& p, std::uint64_t border) {
    return (border - p.a.offset - 1) / p.a_step + 1;
  }

  DType dtype_;
  std::uint64_t element_;
  Results& results_;
  ProductTerms products_;  // of the cell
  Blocks blocks_;
};

}  // namespace

Blocks blocks_of(const Pieces& pieces, std::uint64_t width) {
  Blocks blocks;
  const auto add = [&](const Piece& piece) {
    for (const Rectangle& r : rectangles(piece.at, width)) {
      blocks.push_back({r, piece.value});
      Value& value = blocks.back().value;
      value.move(r.row_begin * width + r.column_begin - piece.at.start);
      if (piece.at.count == 1) value.cut(r.row_end - r.row_begin > 1 ? width : 0);
    }
  };
  for (const Piece& piece : pieces) {
    if (piece.at.count == 1 || piece.at.stride == width) {
      add(piece);
    } else {
      for (const Piece& single : single_runs({piece})) add(single);
    }
  }
  return blocks;
}

Value value_of(const Block& block, const Rectangle& part) {
  Value value = block.value.advanced_by(part.row_begin - block.at.row_begin);
  value.move(part.column_begin - block.at.column_begin);
  if (part.row_end - part.row_begin == 1) value.cut(0);
  return value;
}

Blocks multiply(Blocks a, Blocks b, DType dtype, Results& results) {
  for (Blocks* blocks : {&a, &b}) {
    make_whole_elements(*blocks, size_of(dtype).value);
    stack(*blocks);
  }
  const auto row_begin = [](const Block& block) { return block.at.row_begin; };
  const auto row_end = [](const Block& block) { return block.at.row_end; };
  const auto column_begin = [](const Block& block) { return block.at.column_begin; };
  const auto column_end = [](const Block& block) { return block.at.column_end; };
  const SmallVector<Band, 1> of_rows = bands(a, row_begin, row_end, column_begin);
  const SmallVector<Band, 1> of_columns = bands(b, column_begin, column_end, row_begin);
  Multiplication all(dtype, results);
  for (const Band& rows : of_rows) {
    for (const Band& columns : of_columns) all.cell(rows, columns);
  }
  return all.take();
}

Blocks expected_product(const ProductClause& clause, std::uint32_t iteration, Results& results) {
  // A sum of products is one GEMM: the A's are side by side and the B's one below another.
  const auto block = [&](const Region& region, std::uint64_t row, std::uint64_t column) {
    const Rectangle at{row, row + region.rows, column, column + region.width.value};
    const std::uint64_t step = region.rows > 1 ? region.pitch.value : 0;
    return Block{at, Value{{{region.buffer.value, iteration, region.offset.value, step}}}};
  };
  Blocks a;
  Blocks b;
  std::uint64_t k = 0;
  for (const Product& product : clause.products) {
    std::uint64_t row = 0;
    for (const Region& part : product.a) {
      a.push_back(block(part, row, k * size_of(clause.dtype).value));
      row += part.rows;
    }
    b.push_back(block(product.b, k, 0));
    k += product.b.rows;
  }
  return multiply(std::move(a), std::move(b), clause.dtype, results);
}

}  // namespace cortado::verifier
