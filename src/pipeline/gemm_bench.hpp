// Times of GEMMs alone: predicted for a machine, thousands per second, or measured on a target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "gemm/gemm.hpp"

namespace cortado::pipeline {

/// For all shapes that do not say otherwise.
struct GemmDefaults {
  DType dtype = DType::bf16;
  std::optional<DType> result{};  ///< none: bf16 for f8, i32 for i8, otherwise as dtype
  std::uint64_t batch = 1;
  std::uint32_t scale_block = 0;
};

/// The result type that libraries use for f8 and i8; none: that of the operands.
std::optional<DType> usual_result(DType dtype);

struct GemmBenchRow {
  GemmShape shape;
  double time_us = 0;  ///< in a stream: from the end of the previous kernel to its own end
  double tflops = 0;
  /// What takes longest: "start", "compute", "latency" (of steps along k), "L2", "memory". Empty if it was measured.
  std::string bound{};
  Tiling tiling{};
  std::optional<double> clock_ghz{};
  std::optional<double> watts{};  ///< of the GPU; none: measured, or a machine that does not describe power
};

struct GemmBenchReport {
  std::string machine;
  std::uint32_t units = 0;
  std::string where;  ///< the modelled machine, or the node that it ran on
  bool predicted = true;
  std::string clock{};   ///< what determines it, in words
  double beside_us = 0;  ///< that `run` and `overlap` add: launch, flag and poll of the host
  std::vector<GemmBenchRow> rows;
};

/// "4096x4096x4096,16x512x7168"; rows of a grouped GEMM with plus signs, "128+64+300x4096x7168". Or the path of a CSV
/// with columns m, n and k in any order, and optionally dtype, out_dtype, batch and scale_block; other
/// columns are ignored, and empty cells count as missing. Errors name the line (gemm.shape, gemm.file).
Result<std::vector<GemmShape>> parse_gemm_shapes(const std::string& text, const GemmDefaults& defaults);

/// On this many compute units, 0 for all, with the kernel that a library chooses for them. The first shape that the
/// machine does not support is refused as by check_gemm.
Result<GemmBenchReport> predict_gemms(const std::vector<GemmShape>& shapes, const Machine& machine,
                                      std::uint32_t units = 0);

/// Each as a separate program, median of `iterations`.
Outcome<GemmBenchReport> measure_gemms(const std::vector<GemmShape>& shapes, const Machine& machine,
                                       std::uint32_t units, Target& target, const RunOptions& options);

/// "cortado.bench-gemm".
report::Document gemm_bench_document(const GemmBenchReport& report);

}  // namespace cortado::pipeline
