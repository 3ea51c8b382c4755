#include "overlap_request.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cortado/program.hpp"
#include "cortado/study.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "plan/external.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kDtypeOfGemm = "bf16";
constexpr SizeLimit kTokenTables{Bytes{64ULL << 20}, "token tables"};

Result<GemmShape> parse_shape(const std::string& text, DType dtype) {
  if (const auto shape = parse_gemm(text, dtype)) return *shape;
  return fail("usage.gemm", fmt::format("--gemm {} is not a GEMM", text),
              "use MxNxK: A is M x K, B is K x N, for example --gemm 8192x57344x8192");
}

Result<TokenTable> tokens(const std::string& given, std::uint64_t rows, std::uint32_t ranks) {
  std::error_code ignored;
  if (!looks_like_shares(given) || std::filesystem::exists(given, ignored)) {
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(given, kTokenTables));
    return parse_tokens(text, given);
  }
  CORTADO_ASSIGN_OR_RETURN(TokenTable table, tokens_by_shares(given, rows));
  if (table.size() != ranks) {
    return fail("usage.tokens", fmt::format("--tokens has {} shares for {} ranks", table.size(), ranks),
                "use one share per rank");
  }
  return table;
}

/// Of collectives that are independent of the GEMMs.
Status set_sizes(const Arguments& arguments, std::vector<CollectiveRequest>& collectives) {
  std::vector<std::string> sizes = split_names(arguments.text("--bytes"));
  if (sizes.size() != 1 && sizes.size() != collectives.size()) {
    return fail(
        "usage.bytes",
        fmt::format("{} given for {}", counted(sizes.size(), "size"), counted(collectives.size(), "collective")),
        "use one for all, or one for each, separated by commas");
  }
  CORTADO_RETURN_IF_ERROR(sizes.size() == 1 ? arguments.bytes("--bytes") : Bytes{});  // says which flag is missing
  sizes.resize(collectives.size(), sizes.front());
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    CollectiveRequest& request = collectives[i];
    CORTADO_ASSIGN_OR_RETURN(request.bytes, parse_bytes(sizes[i]));
    request.in_place = default_in_place(request.collective, request.variant);
    request.own_block = !arguments.given("--leave-own-block");
  }
  return {};
}

}  // namespace

std::string asked_strategy(const Arguments& arguments) {
  const auto planner = arguments.find("--planner");
  return planner ? external_name(*planner) : arguments.text("--strategy");
}

std::vector<std::string_view> overlap_modes(const Arguments& arguments) {
  std::vector<std::string_view> modes{"overlap", arguments.given("--independent") ? "independent" : "dependent"};
  for (const std::string& name : arguments.names("--strategy")) {
    const std::string plain = name.substr(0, name.find('/'));
    const auto known = std::ranges::find(strategies(), plain, &Strategy::name);
    const bool found = known != strategies().end();
    if (plain == pipeline::kAutoStrategy || (found && known->family == "T3")) {
      modes.push_back("t3");
    } else if (!found) {  // all, the default, or a mistake that is reported later
      modes.insert(modes.end(), {"ficco", "t3", "c3"});
    } else if (known->family == "C3" || known->family == "ConCCL") {
      modes.push_back("c3");
    } else if (known->name == "serial-dma" || (known->family == "FiCCO" && known->name != "ficco")) {
      modes.push_back("ficco");
    }
  }
  return modes;
}

Relation relation_of(const Arguments& arguments, const std::string& collective) {
  if (arguments.given("--independent")) return Relation::independent;
  const bool reduces = collective == "reduce-scatter" || collective == "all-reduce";
  return arguments.given("--gemm-first") || reduces ? Relation::collective_needs_gemm : Relation::gemm_needs_collective;
}

Result<std::vector<GemmShape>> gemms_of(const Arguments& arguments) {
  if (!arguments.given("--gemm")) {
    return fail("usage.gemm", "no GEMM given", "pass --gemm MxNxK, for example --gemm 16384x3584x8192");
  }
  CORTADO_ASSIGN_OR_RETURN(const DType dtype,
                           parse_dtype(arguments.find("--dtype").value_or(std::string(kDtypeOfGemm))));
  std::vector<GemmShape> gemms;
  for (const std::string& text : arguments.names("--gemm")) {
    CORTADO_ASSIGN_OR_RETURN(gemms.emplace_back(), parse_shape(text, dtype));
  }
  return gemms;
}

Result<GemmShape> gemm_of(const Arguments& arguments) {
  CORTADO_ASSIGN_OR_RETURN(const std::vector<GemmShape> gemms, gemms_of(arguments));
  if (gemms.size() == 1) return gemms.front();
  return fail("usage.gemm", fmt::format("{} GEMMs", gemms.size()),
              "use one; cortado overlap --independent accepts several");
}

Result<OverlapProblem> overlap_problem(const Arguments& arguments, const std::string& collective,
                                       const Machine& machine) {
  const std::uint32_t ranks = arguments.number("--ranks").value_or(machine.gpus);
  OverlapProblem problem{.relation = relation_of(arguments, collective), .ranks = ranks};
  for (const std::string& name : split_names(collective)) {
    CORTADO_ASSIGN_OR_RETURN(problem.collectives.emplace_back().collective, find_collective(name));
  }
  CORTADO_ASSIGN_OR_RETURN(problem.gemms, gemms_of(arguments));
  if (problem.relation == Relation::independent) {
    CORTADO_RETURN_IF_ERROR(set_sizes(arguments, problem.collectives));
    for (CollectiveRequest& request : problem.collectives) request.dtype = problem.gemm().dtype;
    return problem;
  }
  if (const auto given = arguments.find("--tokens")) {
    CORTADO_ASSIGN_OR_RETURN(problem.tokens, tokens(*given, problem.gemm().m * ranks, ranks));
  }
  if (const auto mode = arguments.find("--runtime")) {
    CORTADO_ASSIGN_OR_RETURN(problem.collectives.front().runtime, parse_runtime_mode(*mode));
  }
  return problem;
}

Result<StrategyKnobs> strategy_knobs(const Arguments& arguments) {
  StrategyKnobs knobs;
  knobs.gemm_cus = arguments.number("--cus-gemm");
  knobs.comm_cus = arguments.number("--cus-comm");
  knobs.chunks = arguments.number("--chunks").value_or(0);
  knobs.means = arguments.given("--on-cores") ? CollectiveMeans::cores : CollectiveMeans::dma;
  CORTADO_ASSIGN_OR_RETURN(knobs.exchange, find_exchange(arguments.text("--exchange")));
  knobs.pieces = arguments.number<std::uint64_t>("--pieces").value_or(0);
  knobs.split_k = arguments.number<std::uint64_t>("--split-k").value_or(0);
  knobs.algorithm = arguments.text("--algorithm");
  knobs.axis = arguments.text("--axis");
  return knobs;
}

void tell_policy(std::optional<ArbitrationPolicy> planned, const Machine& machine, Console& console) {
  if (!planned || !machine.timing || !machine.timing->memory.arbitration) return;
  const ArbitrationPolicy own = machine.timing->memory.arbitration->policy;
  if (own == *planned) return;
  const auto name = [](ArbitrationPolicy policy) {
    return std::ranges::find(kArbitrationPolicies, policy, [](const auto& known) { return known.second; })->first;
  };
  console.talk(fmt::format(
      "planned for the memory policy {0}, which the file does not contain: cortado run FILE uses {1}, that of {2}; "
      "cortado run overlap keeps {0}",
      name(*planned), name(own), machine.name));
}

}  // namespace cortado::cli
