// The names of schedules.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/ficco.hpp"

namespace cortado {
namespace {

/// With plain copies: that is what models of one GPU support, so schedules are compared with these.
FiccoScheduleInfo info(FiccoSchedule schedule, std::string summary, bool published = false) {
  schedule.exchange = ExchangeVariant::pcpy;
  return {schedule, name_of(schedule), std::move(summary), published};
}

FiccoSchedule chunked(bool uniform, bool fused, CommShape shape) {
  return {.grain = Grain::chunks, .shape = shape, .uniform = uniform, .fused = fused};
}

constexpr std::pair<std::string_view, CollectiveMeans> kMeansSuffixes[] = {{"-cores", CollectiveMeans::cores},
                                                                           {"-stores", CollectiveMeans::stores}};

constexpr std::array kExchangeNames{"auto", "pcpy", "bcst", "b2b"};  // in the order of ExchangeVariant

Result<FiccoSchedule> with_chunks(FiccoSchedule schedule, std::string_view chunks) {
  schedule.means = take_means(chunks).value_or(schedule.means);
  const bool is_cut = schedule.grain != Grain::whole && schedule.grain != Grain::shards;
  if (chunks.empty() && !is_cut) return schedule;
  const char* const end = chunks.data() + chunks.size();
  const auto [read_to, error] = std::from_chars(chunks.data(), end, schedule.chunks);
  if (error != std::errc() || read_to != end || schedule.chunks == 0) {
    return fail("ficco.schedule", fmt::format("'{}' is not a number of chunks", chunks),
                "put 1 or more after the name: hetero-fused-1d/16");
  }
  if (!is_cut) {
    return fail("ficco.schedule", fmt::format("{} is not split into chunks", name_of(schedule)),
                fmt::format("drop /{}", chunks));
  }
  return schedule;
}

}  // namespace

std::string name_of(const FiccoSchedule& schedule) {
  switch (schedule.grain) {
    case Grain::whole:
      return "serial-dma";
    case Grain::shards:
      return "shard-p2p";
    case Grain::tiles:
      return "tiles";
    case Grain::waves:
      return "waves";
    case Grain::chunks:
      break;
  }
  return fmt::format("{}-{}-{}", schedule.uniform ? "uniform" : "hetero", schedule.fused ? "fused" : "unfused",
                     schedule.shape == CommShape::rows_1d ? "1d" : "2d");
}

std::string full_name(const FiccoSchedule& schedule) {
  const std::string name = name_of(schedule);
  const std::string_view means = suffix_of(schedule.means);
  if (schedule.chunks > 0) return fmt::format("{}/{}{}", name, schedule.chunks, means);
  return means.empty() ? name : fmt::format("{}/{}", name, means.substr(1));
}

std::string_view suffix_of(CollectiveMeans means) {
  for (const auto& [suffix, known] : kMeansSuffixes) {
    if (known == means) return suffix;
  }
  return "";
}

std::optional<CollectiveMeans> take_means(std::string_view& text) {
  for (const auto& [suffix, means] : kMeansSuffixes) {
    const std::string_view word = suffix.substr(1);
    if (!text.ends_with(word)) continue;
    text.remove_suffix(text.ends_with(suffix) ? suffix.size() : word.size());
    return means;
  }
  return std::nullopt;
}

std::vector<FiccoScheduleInfo> list_schedules() {
  using enum CommShape;
  return {
      info({.grain = Grain::whole}, "the whole collective, then one GEMM"),
      info({.grain = Grain::shards}, "own shard first, then the shard of one peer per step"),
      info(chunked(true, true, rows_1d), "each step: some rows of every rank, one GEMM", true),
      info(chunked(false, true, rows_1d), "own rows first; each step: some rows of every other rank, one GEMM", true),
      info(chunked(false, false, rows_1d),
           "own rows first; each step: some rows of every other rank, one GEMM per rank", true),
      info(chunked(true, true, panels_2d), "each step: some columns of all rows, one accumulating GEMM", true),
      info(chunked(true, false, rows_1d), "each step: some rows of every rank, one GEMM per rank"),
      info(chunked(true, false, panels_2d), "each step: some columns of all rows, one accumulating GEMM per rank"),
      info(chunked(false, true, panels_2d), "own rows first; each step: some columns of all others, one GEMM"),
      info(chunked(false, false, panels_2d),
           "own rows first; each step: some columns of all others, one GEMM per rank"),
  };
}

std::vector<FiccoScheduleInfo> list_tile_schedules() {
  return {info({.grain = Grain::tiles}, "one GEMM whose tiles wait for chunks or release them"),
          info({.grain = Grain::waves}, "one GEMM that releases what some waves of its tiles have written")};
}

Result<FiccoSchedule> find_schedule(std::string_view name) {
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    CORTADO_ASSIGN_OR_RETURN(const FiccoSchedule schedule, find_schedule(name.substr(0, slash)));
    return with_chunks(schedule, name.substr(slash + 1));
  }
  std::vector<std::string> known;
  for (const auto& list : {list_schedules(), list_tile_schedules()}) {
    for (const FiccoScheduleInfo& one : list) {
      if (one.name == name) return one.schedule;
      known.push_back(one.name);
    }
  }
  if (name == kIdealSchedule) {
    return fail("ficco.schedule", "ideal is the bound of perfect overlap: it has no program", suggestion(name, known));
  }
  return fail("ficco.schedule", fmt::format("unknown schedule '{}'", name), suggestion(name, known));
}

std::string name_of(ExchangeVariant exchange) {
  return kExchangeNames[static_cast<std::size_t>(exchange)];
}

Result<ExchangeVariant> find_exchange(std::string_view name) {
  const auto found = std::find(kExchangeNames.begin(), kExchangeNames.end(), name);
  if (found != kExchangeNames.end()) return static_cast<ExchangeVariant>(found - kExchangeNames.begin());
  return fail("ficco.exchange", fmt::format("unknown exchange '{}'", name),
              suggestion(name, {kExchangeNames.begin(), kExchangeNames.end()}));
}

}  // namespace cortado
