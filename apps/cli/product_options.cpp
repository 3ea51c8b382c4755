#include "product_options.hpp"

#include "dependence_options.hpp"

namespace cortado::cli {

std::string first_given(const std::vector<const CLI::Option*>& options) {
  for (const CLI::Option* option : options) {
    if (option->count() > 0) return option->get_name();
  }
  return {};
}

void ProductOptions::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--gemm", gemm_,
                     "ficco: rows of all GPUs x columns and k that one GPU multiplies; --dtype is bf16 if not given. "
                     "t3: what one GPU multiplies; f16 if not given")
          ->type_name("MxNxK"),
      app.add_option("--collective", collective_,
                     "all-gather, all-to-all or reduce-scatter (default: ficco all-gather, t3 reduce-scatter)")
          ->type_name("NAME"),
  };
}

Result<GemmShape> ProductOptions::gemm(DType dtype) const {
  if (gemm_) return parse_shape(*gemm_, dtype);
  return fail("usage.gemm", "which product?", "give --gemm MxNxK, for example --gemm 16384x2048x131072");
}

}  // namespace cortado::cli
