// The kernels of the embedded node: element-wise sums, row moves and matrix products on the CPU.
//
// A span is read as one sequence of bytes, row by row. The functions take a part of that sequence (first byte, number
// of bytes), so that a long kernel can run in pieces. Integers wrap; f16, bf16 and f8 are summed in float and rounded
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/driver/compute.hpp"

namespace cortado::device::soft {

/// dst += src; `bytes` is a multiple of the element size.
void add_elements(DType dtype, std::byte* dst, const std::byte* src, std::uint64_t bytes);

/// dst = src for these bytes. Spans of equal total size, in any shape.
void copy_span(const Span2D& dst, const Span2D& src, std::uint64_t first, std::uint64_t bytes);

/// dst = sum of all sources for these bytes; dst may be one of the sources. Widths are multiples of the element size.
void sum_spans(DType dtype, const Span2D& dst, std::span<const Span2D> sources, std::uint64_t first,
               std::uint64_t bytes);

/// Row i of dst = row rows[i] of src, and row rows[i] of dst = row i of src, for i = first .. first + count - 1. Spans
/// of equal width, rows inside their span.
void gather_rows(const Span2D& dst, const Span2D& src, std::span<const std::uint64_t> rows, std::uint64_t first,
                 std::uint64_t count);
void scatter_rows(const Span2D& dst, const Span2D& src, std::span<const std::uint64_t> rows, std::uint64_t first,
                  std::uint64_t count);

/// Number of output tiles, and C of tiles first .. first + count - 1 (row-major, all in one row of tiles). f32, f16,
/// bf16, f8.
std::uint64_t gemm_tiles(const GemmLaunchOp& op);
void run_gemm_tiles(const GemmLaunchOp& op, std::uint64_t first, std::uint64_t count);

/// Rows `row` .. + rows and columns `column` .. + columns of C.
struct Block {
  std::uint64_t row, rows, column, columns;
};

/// A block of the GEMM over k = first_k .. + k; any of these ranges may be empty. Elements have the type of `op`, are
/// rounded once, and have no gaps.
std::vector<std::byte> partial_product(const GemmLaunchOp& op, const Block& block, std::uint64_t first_k,
                                       std::uint64_t k);

/// The functions of a Call (ir/functions.hpp) on the CPU, in f32 with f32 sums, as on GPUs.
/// Operands and result must have the shapes that verify.bounds requires.
void run_function(const CallLaunchOp& op);

}  // namespace cortado::device::soft
