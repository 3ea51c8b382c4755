#include "plan/ficco/request.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/ficco/composers.hpp"
#include "plan/ficco/exchange.hpp"
#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

Status check_ficco_ranks(std::uint32_t ranks, const Machine& machine) {
  if (ranks >= 2 && ranks <= machine.gpus) return {};
  return fail("ficco.ranks",
              fmt::format("{} ranks requested on {}, which has {} GPUs", ranks, machine.name, machine.gpus),
              machine.gpus < 2 ? "use a machine with more GPUs" : fmt::format("use 2 to {} ranks", machine.gpus));
}

Status check_tokens(const DependentRequest& request) {
  if (request.tokens.empty()) return {};
  if (request.collective != "all-to-all") {
    return fail("ficco.tokens", fmt::format("a token table was given for {}", request.collective),
                "drop it: the rows are divided as evenly as possible");
  }
  std::uint64_t sum = 0;
  bool square = request.tokens.size() == request.ranks;
  for (const auto& row : request.tokens) {
    square = square && row.size() == request.ranks;
    for (const std::uint64_t tokens : row) sum += tokens;
  }
  if (!square) {
    return fail("ficco.tokens", fmt::format("the token table does not hold {0} x {0} numbers", request.ranks),
                "list, for every sender, the rows for every receiver, including itself");
  }
  if (sum != request.gemm.m) {
    return fail("ficco.tokens", fmt::format("the ranks send {} rows in total, but m is {}", sum, request.gemm.m),
                fmt::format("m is the number of rows over all ranks: use {}", sum));
  }
  return {};
}

/// The most rows that a rank sends to another.
std::uint64_t most_rows(const DependentRequest& request) {
  const Exchange exchange(request);
  std::uint64_t most = 0;
  for (std::uint32_t from = 0; from < request.ranks; ++from) {
    for (std::uint32_t to = 0; to < request.ranks; ++to) most = std::max(most, exchange.given(from, to).count);
  }
  return most;
}

/// Columns of the matrix that is communicated.
std::uint64_t travelling_columns(const DependentRequest& request) {
  return request.dependence == Dependence::product_first ? request.gemm.n : request.gemm.k;
}

bool is_cut(const FiccoSchedule& schedule) {
  return schedule.grain == Grain::chunks || schedule.grain == Grain::tiles;
}

/// Into how many parts the matrix that is communicated can be cut at most.
std::uint64_t most_chunks(const DependentRequest& request, const FiccoSchedule& schedule) {
  if (schedule.shape == CommShape::rows_1d) return most_rows(request);
  const std::uint64_t columns = travelling_columns(request);
  return columns / panel_unit(columns, size_of(request.gemm.dtype));
}

/// For a schedule without a number: the usual one if the matrix can be cut into that many.
std::uint32_t chosen_chunks(const DependentRequest& request, const FiccoSchedule& schedule) {
  if (schedule.grain == Grain::tiles) return 1;
  const std::uint32_t usual = default_chunks(request.ranks);
  if (schedule.grain != Grain::chunks) return usual;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most_chunks(request, schedule), 2, usual));
}

/// Checks that the matrix that is communicated can be cut into that many chunks.
Status check_chunks(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  if (!is_cut(schedule)) return {};
  const std::uint64_t most = most_chunks(request, schedule);
  if (schedule.shape == CommShape::rows_1d) {
    if (schedule.chunks <= most) return {};
    return fail(
        About::strategy, "ficco.chunks",
        fmt::format("{} chunks, but no rank sends another more than {} row{}", schedule.chunks, most,
                    most == 1 ? "" : "s"),
        most == 1 ? "use a 2d schedule or serial-dma: a row is not split" : fmt::format("use 1 to {} chunks", most));
  }
  const std::uint64_t columns = travelling_columns(request);
  const Bytes element = size_of(request.gemm.dtype);
  const std::uint64_t unit = panel_unit(columns, element);
  if (element * unit < machine.dma.window_alignment && schedule.means == CollectiveMeans::dma) {
    return fail(
        About::strategy, "ficco.panels",
        fmt::format("rows of {} bytes; the strided copies of {} need multiples of {}", (element * columns).value,
                    machine.name, machine.dma.window_alignment.value),
        fmt::format("use a 1d schedule, or pad {}", request.dependence == Dependence::product_first ? "n" : "k"));
  }
  if (schedule.chunks <= most) return {};
  return fail(About::strategy, "ficco.chunks",
              fmt::format("{} panels of {} columns, which can only be split at multiples of {}", schedule.chunks,
                          columns, unit),
              fmt::format("use 1 to {} chunks", most));
}

/// Checks that engines can carry pieces in this way.
Status check_exchange(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  if (schedule.exchange == ExchangeVariant::automatic || schedule.exchange == ExchangeVariant::pcpy) return {};
  const std::string name = name_of(schedule.exchange);
  if (schedule.means == CollectiveMeans::cores) {
    return fail(About::strategy, "ficco.exchange",
                fmt::format("{} is an exchange for DMA engines, but compute units move the bytes", name),
                "drop the exchange, or let DMA engines move the bytes");
  }
  if (schedule.exchange != ExchangeVariant::bcst) return {};
  if (request.collective != "all-gather") {
    return fail(About::strategy, "ficco.exchange",
                fmt::format("bcst sends the same bytes to two peers; {} does not", request.collective),
                "use b2b, pcpy or auto");
  }
  if (has_panels(schedule)) {
    return fail(About::strategy, "ficco.exchange", "bcst has no strided packets, but panels of columns have gaps",
                "use a 1d schedule, or b2b, pcpy or auto");
  }
  if (machine.features.broadcast) return {};
  return fail(About::strategy, "ficco.exchange", fmt::format("machine {} has no broadcast packets", machine.name),
              "use b2b, pcpy or auto");
}

Status check_tiles(const DependentRequest& request, const FiccoSchedule& schedule, const Machine& machine) {
  const bool product_first = request.dependence == Dependence::product_first;
  if (schedule.grain == Grain::waves && !product_first) {
    return fail(About::strategy, "ficco.schedule",
                "waves release what a GEMM writes, but here the collective comes first", "use tiles");
  }
  if (schedule.means == CollectiveMeans::stores && !(has_tiles(schedule.grain) && product_first)) {
    return fail(About::strategy, "ficco.schedule", "stores to peers only work for tiles of a GEMM that comes first",
                "let engines or compute units copy");
  }
  if (schedule.units >= machine.compute_units) {
    return fail(About::strategy, "ficco.schedule",
                fmt::format("{} of {} compute units copy", schedule.units, machine.compute_units),
                "leave some for the GEMM");
  }
  return {};
}

/// The collectives that the GEMM may depend on, or that may depend on it.
std::vector<Collective> collectives(Dependence dependence) {
  if (dependence == Dependence::product_first) return {"reduce-scatter", "all-to-all"};
  return {"all-gather", "all-to-all"};
}

std::vector<std::string> names_of(const std::vector<Collective>& collectives) {
  std::vector<std::string> names;
  for (const Collective collective : collectives) names.emplace_back(collective.name());
  return names;
}

}  // namespace

Result<CheckedDependence> check_dependent(const DependentRequest& request, const FiccoSchedule& schedule,
                                          const Machine& machine) {
  CheckedDependence checked{request, schedule};
  if (request.ranks == 0) checked.request.ranks = machine.gpus;
  if (const auto known = collectives(request.dependence);
      std::find(known.begin(), known.end(), request.collective) == known.end()) {
    const bool product_first = request.dependence == Dependence::product_first;
    return fail("ficco.collective",
                fmt::format("a GEMM {} a collective '{}' is not planned", product_first ? "before" : "after",
                            request.collective),
                request.collective == "all-gather" && product_first
                    ? "reduce-scatter and all-to-all follow a GEMM; an all-gather comes before one"
                    : suggestion(request.collective.name(), names_of(known)));
  }
  CORTADO_RETURN_IF_ERROR(check_ficco_ranks(checked.request.ranks, machine));
  if (request.gemm.accumulate) {
    return fail("ficco.accumulate", "a GEMM that accumulates has no contract: repeated runs would add up",
                "drop accumulate");
  }
  // No rank needs all rows of A at once; what it needs is checked when all buffers are known.
  GemmShape share = request.gemm;
  share.m = (share.m + checked.request.ranks - 1) / checked.request.ranks;
  CORTADO_RETURN_IF_ERROR(check_dimensions(request.gemm, checked.request.ranks));
  if (Status fits = check_gemm(share, machine); !fits) {
    if (fits.error().about == About::machine) {
      fits.error().message += fmt::format("; this is the part of {} that one rank multiplies", to_string(request.gemm));
    }
    return fail(std::move(fits).error());
  }
  CORTADO_RETURN_IF_ERROR(check_tokens(checked.request));
  if (schedule.chunks == 0) checked.schedule.chunks = chosen_chunks(checked.request, schedule);
  CORTADO_RETURN_IF_ERROR(check_chunks(checked.request, checked.schedule, machine));
  CORTADO_RETURN_IF_ERROR(check_exchange(checked.request, checked.schedule, machine));
  CORTADO_RETURN_IF_ERROR(check_tiles(checked.request, checked.schedule, machine));
  return checked;
}

}  // namespace cortado::plan
