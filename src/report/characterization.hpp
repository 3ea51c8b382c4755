// The cost of cutting a GEMM, and how much GEMMs and the copies of a collective slow each other down.
//
//   DIL  = the pieces of the GEMM one after another, each alone, divided by the whole GEMM alone; according to the
//        model, without launches. For the rank whose pieces take longest.
//          DIL - 1 is the sum, over its causes, of how much more (or less) time each takes than in the whole GEMM, as
//          fractions of the whole:
//            idle      compute units without work in partially filled waves
//            tiles     smaller tiles, and tiles that reach beyond the edges
//            operands  memory and caches that deliver operands more slowly than units multiply
//            results   what is added to must also be read
//            starts    of tiles: first loads, and stores of the result
//          cortado/gemm/time_parts.hpp defines them exactly.
//   CIL  = GEMMs (copies) beside copies (GEMMs) divided by the same ones alone; waiting does not count.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/timeline.hpp"

#include "report/skipped.hpp"

namespace cortado::report {

/// Why pieces take longer than the whole. All as fractions of the whole GEMM's time; negative: less than in the whole.
struct DecompositionCauses {
  double idle = 0;
  double tiles = 0;
  double operands = 0;
  double results = 0;
  double starts = 0;

  static constexpr std::array<std::string_view, 5> kNames{"idle", "tiles", "operands", "results", "starts"};
  std::array<double, 5> values() const { return {idle, tiles, operands, results, starts}; }  ///< in that order
};

/// The GEMM cut by a schedule into this many chunks.
struct DecompositionRow {
  std::string schedule;
  std::uint32_t chunks = 0;
  std::uint64_t pieces = 0;  ///< number of GEMMs of one rank
  std::string largest;       ///< of them: "16384x2048x16384"
  std::string kernels;       ///< chosen tiles, those with most time first: "256x256, 128x256/4" (k split in 4)
  double time_us = 0;        ///< all pieces alone, without kernel starts
  double dil = 0;            ///< 1 = no loss
  DecompositionCauses causes;
  double kernel_starts = 0;  ///< of the kernels more than one, over the whole; not a part of DIL
};

/// A schedule with its collective on DMA engines or on compute units.
struct ContentionRow {
  std::string schedule;
  std::uint32_t chunks = 0;
  bool on_cores = false;
  Nanoseconds time{};
  double speedup = 0;  ///< over `serial` of the report
  double cil_gemm = 0;
  double cil_comm = 0;
  // For the kernels of the rank whose GEMMs take longest:
  Nanoseconds products_alone{};  ///< its pieces with nothing beside them
  Nanoseconds products{};
  Nanoseconds other_kernels{};  ///< own rows into a staging, gathered and scattered rows, sums
  Nanoseconds first_wait{};     ///< before the first GEMM that needs what others send
  Nanoseconds later_waits{};
  std::optional<EnergyUse> energy{};  ///< none: a machine without power

  std::string_view means() const { return on_cores ? "compute units" : "DMA engines"; }
};

struct Characterization {
  std::string gemm;  ///< of one rank: "131072x2048x16384 bf16"
  std::string collective;
  bool product_first = false;
  Bytes bytes{};  ///< of the whole matrix that is communicated
  std::uint32_t ranks = 0;
  std::string machine;
  std::string kernel;         ///< of the whole GEMM: "256x256"
  Nanoseconds gemm_alone{};   ///< the whole GEMM, without launch
  DecompositionCauses whole;  ///< what the whole GEMM itself loses, as fractions of its time
  Nanoseconds serial{};       ///< one after the other, on DMA engines
  std::vector<DecompositionRow> decomposition;
  std::vector<ContentionRow> contention;
  std::vector<SkippedWay> skipped;
};

/// "cortado.characterization". Its page has bar charts of the causes, of CIL and of where the time goes.
Document characterization_document(const Characterization& report);

}  // namespace cortado::report
