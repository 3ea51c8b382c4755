#include "ficco_options.hpp"

#include <charconv>

#include <fmt/format.h>

namespace cortado::cli {

Result<GemmShape> parse_shape(const std::string& text, DType dtype) {
  GemmShape shape;
  shape.dtype = dtype;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const auto [next, error] = std::from_chars(at, end, *extent);
    const bool last = extent == &shape.k;
    if (error == std::errc() && (last ? next == end : next != end && (*next == 'x' || *next == 'X'))) {
      at = next + 1;
      continue;
    }
    return fail("usage.gemm", fmt::format("--gemm {} is not a product", text),
                "give MxNxK: A is M x K, B is K x N, for example --gemm 8192x57344x8192");
  }
  return shape;
}

void FiccoOptions::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--gemm", gemm_, "ficco: rows of all GPUs x columns and k that one GPU multiplies")
          ->type_name("MxNxK"),
      app.add_option("--collective", collective_, "ficco: all-gather, all-to-all or reduce-scatter")
          ->type_name("NAME")
          ->capture_default_str(),
      app.add_flag("--product-first", product_first_,
                   "ficco: the collective takes the product away, as a reduce-scatter always does"),
      app.add_option("--schedule", schedule_, "ficco: how both are cut (cortado list schedules)")
          ->type_name("NAME")
          ->capture_default_str(),
      app.add_option("--chunks", chunks_, "ficco: steps (default: as many as GPUs)")->type_name("N"),
      app.add_flag("--on-cores", on_cores_, "ficco: compute units move the bytes, not DMA engines"),
  };
}

Result<DependentRequest> FiccoOptions::request(DType dtype, std::uint32_t ranks) const {
  if (!gemm_) {
    return fail("usage.gemm", "which product?", "give --gemm MxNxK, for example --gemm 16384x2048x131072");
  }
  DependentRequest request{.gemm = {}, .collective = collective_, .ranks = ranks};
  if (product_first_ || collective_ == "reduce-scatter") request.dependence = Dependence::product_first;
  CORTADO_ASSIGN_OR_RETURN(request.gemm, parse_shape(*gemm_, dtype));
  return request;
}

Result<FiccoSchedule> FiccoOptions::schedule() const {
  if (chunks_ && *chunks_ == 0) {
    return fail("usage.chunks", "0 chunks asked for", "give --chunks 1 or more, or leave it out");
  }
  CORTADO_ASSIGN_OR_RETURN(FiccoSchedule schedule, find_schedule(schedule_));
  schedule.chunks = chunks_.value_or(0);
  if (on_cores_) schedule.means = CollectiveMeans::cores;
  return schedule;
}

std::string FiccoOptions::first_given() const {
  for (const CLI::Option* option : options_) {
    if (option->count() > 0) return option->get_name();
  }
  return {};
}

}  // namespace cortado::cli
