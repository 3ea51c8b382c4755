#include "dependence_options.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cortado/base/file.hpp"

#include "number_option.hpp"

namespace cortado::cli {
namespace {

constexpr SizeLimit kTokenTables{Bytes{64ULL << 20}, "token tables"};

}  // namespace

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
    return fail("usage.gemm", fmt::format("--gemm {} is not a GEMM", text),
                "give MxNxK: A is M x K, B is K x N, for example --gemm 8192x57344x8192");
  }
  return shape;
}

void DependenceOptions::add_to(CLI::App& app, const std::string& of) {
  options_ = {
      app.add_flag("--gemm-first", gemm_first_,
                   of + "the collective consumes the GEMM's output, as reduce-scatter and all-reduce always do"),
      app.add_option(
             "--tokens", tokens_,
             of + "all-to-all: rows from rank to rank, as a CSV file with one line per sender and one number per "
                  "receiver, or as shares of the receivers, 3:1:1:1 (default: even)")
          ->type_name("FILE|SHARES"),
      add_number(app, "--chunks", chunks_, of + "steps of a FiCCO schedule (default: as many as GPUs)", {.least = 1})
          ->type_name("N"),
      app.add_option("--exchange", exchange_,
                     of + "how DMA engines carry a step of a FiCCO schedule: auto, pcpy, bcst or b2b (default: auto)")
          ->type_name("NAME"),
      app.add_flag("--on-cores", on_cores_, of + "compute units move the bytes of FiCCO schedules, not DMA engines"),
  };
}

Result<ExchangeVariant> DependenceOptions::exchange(const FiccoSchedule& schedule) const {
  if (!exchange_ && schedule.grain == Grain::whole) return ExchangeVariant::pcpy;
  return exchange();
}

Result<OverlapProblem> DependenceOptions::problem(const std::string& collective, const GemmShape& gemm,
                                                  std::uint32_t ranks) const {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  OverlapProblem problem{.gemms = {gemm}, .collectives = {{.collective = named}}, .ranks = ranks};
  const bool reduces = collective == "reduce-scatter" || collective == "all-reduce";
  problem.relation = gemm_first_ || reduces ? Relation::collective_needs_gemm : Relation::gemm_needs_collective;
  if (tokens_) {
    CORTADO_ASSIGN_OR_RETURN(problem.tokens, tokens(gemm.m * ranks, ranks));
  }
  return problem;
}

Result<DependentRequest> DependenceOptions::request(const std::string& collective, const GemmShape& gemm,
                                                    std::uint32_t ranks) const {
  CORTADO_ASSIGN_OR_RETURN(const OverlapProblem asked, problem(collective, gemm, ranks));
  return dependent_request(asked);
}

Result<TokenTable> DependenceOptions::tokens(std::uint64_t rows, std::uint32_t ranks) const {
  std::error_code ignored;
  if (!looks_like_shares(*tokens_) || std::filesystem::exists(*tokens_, ignored)) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(*tokens_, kTokenTables));
    return parse_tokens(text, *tokens_);
  }
  CORTADO_ASSIGN_OR_RETURN(TokenTable table, tokens_by_shares(*tokens_, rows));
  if (table.size() != ranks) {
    return fail("usage.tokens", fmt::format("--tokens has {} shares, but {} ranks take part", table.size(), ranks),
                "give one share for every rank");
  }
  return table;
}

Result<std::uint32_t> DependenceOptions::chunks() const {
  if (chunks_ && *chunks_ == 0) return fail("usage.chunks", "--chunks 0 cuts nothing", "give 1 or more");
  return chunks_.value_or(0);
}

}  // namespace cortado::cli
