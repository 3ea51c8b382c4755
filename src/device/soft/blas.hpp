// OpenBLAS, loaded when the first GEMM needs it: the library starts threads as soon as it is loaded.
#pragma once

#include <string>

#include "cortado/result.hpp"

namespace cortado::device::soft {

/// The function that GEMMs need, cblas_sgemm, as cblas.h declares it; in C, enumerations are integers.
struct Blas {
  using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                     int a_pitch, const float* b, int b_pitch, float beta, float* c, int c_pitch);

  static constexpr int kRowMajor = 101;
  static constexpr int kNoTranspose = 111;

  Sgemm* sgemm = nullptr;
};

/// Loads a library and limits it to one thread: parallelism comes from the thread pool of the node. The environment is
/// changed during loading.
Result<Blas> load_blas(const std::string& name);

/// The OpenBLAS of this computer, or why there is none. The first call loads it.
const Result<Blas>& blas();

}  // namespace cortado::device::soft
