#include "device/soft/cpu_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "base/small_float.hpp"
#include "device/soft/blas.hpp"

namespace cortado::device::soft {
namespace {

/// Bytes from one row to the next. A span of one row has no next: its pitch is ignored.
std::uint64_t row_pitch(const Span2D& span) {
  return span.rows <= 1 ? span.width : span.pitch;
}

/// Walks over a span in row order.
class SpanCursor {
 public:
  SpanCursor(const Span2D& span, std::uint64_t first)
      : span_(&span),
        row_(span.width == 0 ? 0 : first / span.width),
        column_(span.width == 0 ? 0 : first % span.width) {}

  std::byte* data() const { return span_->data + row_ * span_->pitch + column_; }
  std::uint64_t contiguous() const { return span_->width - column_; }
  void advance(std::uint64_t bytes) {  // at most contiguous()
    column_ += bytes;
    if (column_ == span_->width) {
      column_ = 0;
      ++row_;
    }
  }

 private:
  const Span2D* span_;
  std::uint64_t row_;
  std::uint64_t column_;
};

// Unsigned sums wrap, and the bits of a wrapped unsigned sum are those of the signed one.
template <class Function>
void with_element(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:  // sums wrap, whatever the sign
      return function(PlainElement<std::uint8_t>{});
    case DType::i32:
      return function(PlainElement<std::uint32_t>{});
    case DType::f16:
      return function(F16Element{});
    case DType::bf16:
      return function(Bf16Element{});
    case DType::f32:
      return function(PlainElement<float>{});
    case DType::f8:
      return function(F8Element{});
  }
}

constexpr std::size_t kBlock = 1024;  // elements that are summed at a time, in the first-level cache

/// Contiguous sum of at most kBlock elements from at least one source. Elements need not be aligned: they go through
/// local arrays. The sum of one source is the source itself, byte for byte.
template <class Element>
void sum_block(std::byte* dst, std::span<const std::byte* const> sources, std::size_t elements) {
  using Stored = typename Element::Stored;
  using Sum = typename Element::Wide;
  if (sources.size() == 1) {
    std::memmove(dst, sources.front(), elements * sizeof(Stored));
    return;
  }
  std::array<Stored, kBlock> stored;
  std::array<Sum, kBlock> sums;
  std::memcpy(stored.data(), sources.front(), elements * sizeof(Stored));
  for (std::size_t i = 0; i < elements; ++i) sums[i] = Element::widen(stored[i]);
  for (const std::byte* source : sources.subspan(1)) {
    std::memcpy(stored.data(), source, elements * sizeof(Stored));
    for (std::size_t i = 0; i < elements; ++i) sums[i] = static_cast<Sum>(sums[i] + Element::widen(stored[i]));
  }
  for (std::size_t i = 0; i < elements; ++i) stored[i] = Element::narrow(sums[i]);
  std::memcpy(dst, stored.data(), elements * sizeof(Stored));
}

/// Rows `first_row` .. + rows, columns `first_column` .. + columns of a matrix as floats without gaps.
template <class Element>
std::vector<float> to_floats(const Span2D& matrix, std::uint64_t first_row, std::uint64_t rows,
                             std::uint64_t first_column, std::uint64_t columns) {
  using Stored = typename Element::Stored;
  std::vector<float> out(rows * columns);
  std::vector<Stored> line(columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::byte* source = matrix.data + (first_row + row) * row_pitch(matrix) + first_column * sizeof(Stored);
    std::memcpy(line.data(), source, columns * sizeof(Stored));
    for (std::uint64_t i = 0; i < columns; ++i) out[row * columns + i] = Element::widen(line[i]);
  }
  return out;
}

template <class Element>
void from_floats(const Span2D& matrix, std::uint64_t first_row, std::uint64_t rows, std::uint64_t first_column,
                 std::uint64_t columns, const std::vector<float>& values) {
  using Stored = typename Element::Stored;
  std::vector<Stored> line(columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t i = 0; i < columns; ++i) line[i] = Element::narrow(values[row * columns + i]);
    std::byte* target = matrix.data + (first_row + row) * row_pitch(matrix) + first_column * sizeof(Stored);
    std::memcpy(target, line.data(), columns * sizeof(Stored));
  }
}

Block block_of(const GemmLaunchOp& op, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t tiles_across = (op.n + op.tile_n - 1) / op.tile_n;
  const std::uint64_t row = first / tiles_across * op.tile_m;
  const std::uint64_t column = first % tiles_across * op.tile_n;
  return {row, std::min(op.tile_m, op.m - row), column, std::min(count * op.tile_n, op.n - column)};
}

/// c (+)= a * b on contiguous or pitched floats.
void sgemm(const Block& block, std::uint64_t k, bool accumulate, const float* a, std::uint64_t a_pitch, const float* b,
           std::uint64_t b_pitch, float* c, std::uint64_t c_pitch) {
  const auto size = [](std::uint64_t value) { return static_cast<int>(value); };
  CORTADO_CHECK(blas().has_value(), "the driver was asked to prepare for GEMMs");
  blas()->sgemm(Blas::kRowMajor, Blas::kNoTranspose, Blas::kNoTranspose, size(block.rows), size(block.columns), size(k),
                1.0f, a, size(a_pitch), b, size(b_pitch), accumulate ? 1.0f : 0.0f, c, size(c_pitch));
}

/// Whether rows of pitched floats can be passed to the library in place.
bool is_float_matrix(const Span2D& span) {
  return row_pitch(span) % sizeof(float) == 0 && reinterpret_cast<std::uintptr_t>(span.data) % alignof(float) == 0;
}

template <class Element>
void gemm_block(const GemmLaunchOp& op, const Block& block) {
  const auto a = to_floats<Element>(op.a, block.row, block.rows, 0, op.k);
  const auto b = to_floats<Element>(op.b, 0, op.k, block.column, block.columns);
  std::vector<float> c(block.rows * block.columns);
  if (op.accumulate) c = to_floats<Element>(op.c, block.row, block.rows, block.column, block.columns);
  sgemm(block, op.k, op.accumulate, a.data(), op.k, b.data(), block.columns, c.data(), block.columns);
  from_floats<Element>(op.c, block.row, block.rows, block.column, block.columns, c);
}

}  // namespace

void add_elements(DType dtype, std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    constexpr std::uint64_t kBlockBytes = kBlock * sizeof(typename Element::Stored);
    for (std::uint64_t done = 0; done < bytes; done += kBlockBytes) {
      const std::array<const std::byte*, 2> sources{dst + done, src + done};
      const std::uint64_t piece = std::min(kBlockBytes, bytes - done);
      sum_block<Element>(dst + done, sources, piece / sizeof(typename Element::Stored));
    }
  });
}

void copy_span(const Span2D& dst, const Span2D& src, std::uint64_t first, std::uint64_t bytes) {
  SpanCursor to(dst, first);
  SpanCursor from(src, first);
  while (bytes > 0) {
    const std::uint64_t piece = std::min({bytes, to.contiguous(), from.contiguous()});
    std::memmove(to.data(), from.data(), piece);
    to.advance(piece);
    from.advance(piece);
    bytes -= piece;
  }
}

void sum_spans(DType dtype, const Span2D& dst, std::span<const Span2D> sources, std::uint64_t first,
               std::uint64_t bytes) {
  SpanCursor to(dst, first);
  std::vector<SpanCursor> from;
  for (const Span2D& source : sources) from.emplace_back(source, first);
  std::vector<const std::byte*> data(sources.size());
  with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    constexpr std::uint64_t kBlockBytes = kBlock * sizeof(typename Element::Stored);
    while (bytes > 0) {
      std::uint64_t piece = std::min({bytes, kBlockBytes, to.contiguous()});
      for (const SpanCursor& cursor : from) piece = std::min(piece, cursor.contiguous());
      for (std::size_t i = 0; i < from.size(); ++i) data[i] = from[i].data();
      sum_block<Element>(to.data(), data, piece / sizeof(typename Element::Stored));
      to.advance(piece);
      for (SpanCursor& cursor : from) cursor.advance(piece);
      bytes -= piece;
    }
  });
}

void gather_rows(const Span2D& dst, const Span2D& src, std::span<const std::uint64_t> rows, std::uint64_t first,
                 std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    std::memmove(dst.data + i * row_pitch(dst), src.data + rows[i] * row_pitch(src), dst.width);
  }
}

void scatter_rows(const Span2D& dst, const Span2D& src, std::span<const std::uint64_t> rows, std::uint64_t first,
                  std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    std::memmove(dst.data + rows[i] * row_pitch(dst), src.data + i * row_pitch(src), dst.width);
  }
}

std::uint64_t gemm_tiles(const GemmLaunchOp& op) {
  return ((op.m + op.tile_m - 1) / op.tile_m) * ((op.n + op.tile_n - 1) / op.tile_n);
}

void run_gemm_tiles(const GemmLaunchOp& op, std::uint64_t first, std::uint64_t count) {
  const Block block = block_of(op, first, count);
  if (op.dtype == DType::f16) return gemm_block<F16Element>(op, block);
  if (op.dtype == DType::bf16) return gemm_block<Bf16Element>(op, block);
  if (op.dtype == DType::f8) return gemm_block<F8Element>(op, block);
  if (!is_float_matrix(op.a) || !is_float_matrix(op.b) || !is_float_matrix(op.c))
    return gemm_block<PlainElement<float>>(op, block);
  const auto floats = [](const Span2D& span, std::uint64_t row, std::uint64_t column) {
    return reinterpret_cast<float*>(span.data + row * row_pitch(span)) + column;
  };
  sgemm(block, op.k, op.accumulate, floats(op.a, block.row, 0), row_pitch(op.a) / sizeof(float),
        floats(op.b, 0, block.column), row_pitch(op.b) / sizeof(float), floats(op.c, block.row, block.column),
        row_pitch(op.c) / sizeof(float));
}

std::vector<std::byte> partial_product(const GemmLaunchOp& op, const Block& block, std::uint64_t first_k,
                                       std::uint64_t k) {
  const std::uint64_t line = block.columns * size_of(op.dtype).value;
  std::vector<std::byte> values(block.rows * line);
  if (k == 0) return values;  // all bits zero represent zero in every type
  with_element(op.dtype, [&](auto element) {
    using Element = decltype(element);
    if constexpr (std::is_same_v<typename Element::Wide, float>) {  // other types have no GEMMs
      const auto a = to_floats<Element>(op.a, block.row, block.rows, first_k, k);
      const auto b = to_floats<Element>(op.b, first_k, k, block.column, block.columns);
      std::vector<float> c(block.rows * block.columns);
      sgemm(block, k, false, a.data(), k, b.data(), block.columns, c.data(), block.columns);
      from_floats<Element>({values.data(), line, block.rows, line}, 0, block.rows, 0, block.columns, c);
    }
  });
  return values;
}

}  // namespace cortado::device::soft
