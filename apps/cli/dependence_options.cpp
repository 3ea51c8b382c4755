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
    return fail("usage.gemm", fmt::format("--gemm {} is not a product", text),
                "give MxNxK: A is M x K, B is K x N, for example --gemm 8192x57344x8192");
  }
  return shape;
}

Result<pipeline::FusedRequest> fused_request(const GemmShape& gemm, const std::string& collective,
                                             std::uint32_t ranks) {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  pipeline::FusedRequest request{.gemm = gemm, .collective = named, .ranks = ranks};
  if (collective != "all-to-all" || ranks == 0) return request;
  if (gemm.m % ranks != 0) {
    return fail("usage.gemm", fmt::format("{} rows cannot be divided evenly among {} ranks", gemm.m, ranks),
                fmt::format("give a multiple of {}", ranks));
  }
  request.gemm.m /= ranks;
  return request;
}

void DependenceOptions::add_to(CLI::App& app, const std::string& of) {
  options_ = {
      app.add_flag("--product-first", product_first_,
                   of + ": the collective takes the product away, as a reduce-scatter always does"),
      app.add_option("--tokens", tokens_,
                     of + " all-to-all: rows from rank to rank, a CSV file with a line a sender and a number a "
                          "receiver, or shares of the receivers, 3:1:1:1 (default: all the same)")
          ->type_name("FILE|SHARES"),
      add_number(app, "--chunks", chunks_, of + ": steps of a schedule (default: as many as GPUs)", {.least = 1})
          ->type_name("N"),
      app.add_option("--exchange", exchange_,
                     of + ": how engines carry a step: auto, pcpy, bcst or b2b (default: auto; of serial pcpy)")
          ->type_name("NAME"),
      app.add_flag("--on-cores", on_cores_, of + ": compute units move the bytes, not DMA engines"),
  };
}

Result<ExchangeVariant> DependenceOptions::exchange(const FiccoSchedule& schedule) const {
  if (!exchange_ && schedule.grain == Grain::whole) return ExchangeVariant::pcpy;
  return exchange();
}

Result<DependentRequest> DependenceOptions::request(const std::string& collective, const GemmShape& gemm,
                                                    std::uint32_t ranks) const {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  DependentRequest request{.gemm = gemm, .collective = named, .ranks = ranks};
  if (product_first_ || collective == "reduce-scatter") request.dependence = Dependence::product_first;
  if (tokens_) {
    CORTADO_ASSIGN_OR_RETURN(request.tokens, tokens(gemm.m, ranks));
  }
  return request;
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
