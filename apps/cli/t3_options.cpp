#include "t3_options.hpp"

#include "number_option.hpp"

namespace cortado::cli {

void T3Options::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--algorithm", algorithm_, "t3: ring, direct, or auto: direct where every pair is linked")
          ->type_name("NAME")
          ->capture_default_str(),
      app.add_option("--axis", axis_, "t3: cut the product by rows or columns, or auto: along the longer side")
          ->type_name("AXIS")
          ->capture_default_str(),
      add_number(app, "--pieces", pieces_,
                 "t3: of a chunk, each passed on when complete (default: a row of tiles each)", {.least = 1})
          ->type_name("N"),
      add_number(app, "--split-k", split_k_, "t3: workgroups that share the k of a tile (default: as libraries choose)",
                 {.least = 1})
          ->type_name("N"),
  };
}

Result<T3Request> T3Options::request(const GemmShape& gemm, const std::string& collective, std::uint32_t ranks) const {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  T3Request request{.gemm = gemm, .collective = named, .algorithm = algorithm_, .ranks = ranks};
  CORTADO_ASSIGN_OR_RETURN(request.axis, find_t3_axis(axis_));
  if (pieces_ == 0) return fail("usage.pieces", "0 pieces asked for", "give --pieces 1 or more, or leave it out");
  if (split_k_ == 0)
    return fail("usage.split_k", "0 workgroups asked for", "give --split-k 1 or more, or leave it out");
  request.pieces = pieces_.value_or(0);
  request.split_k = split_k_.value_or(0);
  return request;
}

}  // namespace cortado::cli
