#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "gemm/kernels.hpp"
#include "serve/fetch_ways.hpp"
#include "serve/serve.hpp"

namespace cortado::serve {
namespace {

constexpr std::size_t kTraceSpans = 200'000;     // of a replica
constexpr std::uint32_t kMostTokens = 1U << 18;  // per step; tables have an entry for each

/// Element types of a step, and as much of a prompt as a step may have.
Phase types_of(const ServeRequest& request) {
  return {.kind = PhaseKind::prefill,
          .batch = 1,
          .tokens = std::min<std::uint64_t>(request.limits.max_tokens, request.model.context),
          .dtype = request.dtype,
          .kv_dtype = request.kv_dtype};
}

Status check_request(const ServeRequest& request, const Machine& machine) {
  const std::uint64_t gpus = std::uint64_t{request.layout.tp} * request.replicas;
  if (request.replicas == 0 || gpus > machine.gpus) {
    return fail("model.layout",
                fmt::format("{} of {} {} not fit on the {} of {}", counted(request.replicas, "replica"),
                            counted(request.layout.tp, "GPU"), request.replicas == 1 ? "does" : "do",
                            counted(machine.gpus, "GPU"), machine.name),
                "use fewer --replicas or a smaller --tp");
  }
  if (request.limits.max_tokens > kMostTokens) {
    return fail("serve.limits", fmt::format("steps of {} tokens", request.limits.max_tokens),
                fmt::format("use --max-tokens up to {}", kMostTokens));
  }
  if (!(request.memory_share > 0 && request.memory_share <= 1)) {
    return fail("serve.limits", fmt::format("{} is not a valid share of GPU memory", request.memory_share),
                "use --memory-share above 0 and up to 1");
  }
  if (std::holds_alternative<std::string>(request.arrivals) && kTraceBlock % request.page != 0) {
    return fail("serve.limits",
                fmt::format("blocks of {} tokens, but the trace has blocks of {}", request.page, kTraceBlock),
                "use a --block that divides 512");
  }
  if (request.limits.max_tokens < request.limits.max_sequences) {
    return fail("serve.limits",
                fmt::format("a step of {} tokens cannot hold one token of each of {} sequences",
                            request.limits.max_tokens, request.limits.max_sequences),
                "use --max-tokens at least as large as --max-seqs");
  }
  for (std::size_t i = 1; i < request.ways.size(); ++i) {
    const auto until = request.ways.begin() + static_cast<std::ptrdiff_t>(i);
    if (request.ways[i].empty() || std::find(request.ways.begin(), until, request.ways[i]) == until) continue;
    return fail("serve.way", fmt::format("{} is compared with itself", request.ways[i]), "name every way once");
  }
  if (request.host_tier && request.host_tier->value == 0) {
    return fail("serve.tier", "a host tier of 0 bytes holds nothing", "use --kv-tier host:500GB, or leave it out");
  }
  const auto* const generated = std::get_if<Generated>(&request.arrivals);
  if (generated == nullptr) return {};
  CORTADO_RETURN_IF_ERROR(check(*generated));
  if (generated->hit_rate > 0 && !request.host_tier) {
    return fail(
        "serve.tier",
        fmt::format("{:g} % of the prompts are in host memory, but there is no host tier", 100 * generated->hit_rate),
        "pass --kv-tier host:500GB, or drop --hit-rate");
  }
  return {};
}

/// Bytes per GPU that keys and values of a token take, windows or not.
double token_bytes(const ServeRequest& request) {
  Phase one{.kind = PhaseKind::decode, .batch = 1, .context = 1, .dtype = request.dtype, .kv_dtype = request.kv_dtype};
  return static_cast<double>(memory_need(request.model, request.layout, one).cache.value);
}

/// Pages that fit in the engine's share of the memory, besides weights and activations of the largest step.
Result<std::uint64_t> pages_of_pool(const ServeRequest& request, const Machine& machine) {
  const MemoryNeed need = memory_need(request.model, request.layout, types_of(request));
  const double all = static_cast<double>(machine.memory_bytes.value) * request.memory_share;
  const double left = all - static_cast<double>((need.weights + need.activations).value);
  const double pages = left / (token_bytes(request) * request.page);
  if (pages >= 1) return static_cast<std::uint64_t>(pages);
  if (pages * request.page >= 1) {
    return fail("serve.limits",
                fmt::format("blocks of {}, but the KV cache has room for only {:.0f}", counted(request.page, "token"),
                            std::floor(pages * request.page)),
                "use a smaller --block, such as 16");
  }
  constexpr double kGiB = 1ULL << 30;
  return fail(
      "model.memory",
      fmt::format("{:.0f} % of the memory of {} is {:.1f} GiB; weights take {:.1f} and activations of a step {:.1f}, "
                  "leaving no room for a KV cache",
                  100 * request.memory_share, machine.name, all / kGiB, static_cast<double>(need.weights.value) / kGiB,
                  static_cast<double>(need.activations.value) / kGiB),
      "use a larger --memory-share, a larger --tp, --dtype f8, or a smaller --max-tokens");
}

Result<std::unique_ptr<Source>> source_of(const ServeRequest& request, const Share& share, double tier_share,
                                          Reuse reuse) {
  if (const auto* path = std::get_if<std::string>(&request.arrivals)) return open_trace(*path, share, request.page);
  Generated generated = std::get<Generated>(request.arrivals);
  generated.block = request.page;
  generated.hit_rate *= tier_share;
  generated.named = reuse == Reuse::host;
  return generate(generated, share);
}

/// The fraction of what requests expect in host memory that fits there.
double share_in_tier(const ServeRequest& request, std::uint64_t tier_blocks) {
  const auto* generated = std::get_if<Generated>(&request.arrivals);
  if (generated == nullptr || generated->hit_rate == 0) return 1;
  const double tokens = (generated->input.least + static_cast<double>(generated->input.most)) / 2 * generated->hit_rate;
  const double blocks = tokens / request.page * static_cast<double>(generated->requests) / generated->turns;
  return std::min(1.0, static_cast<double>(tier_blocks) * request.replicas / blocks);
}

/// Steps and transfers of replicas as tracks.
class TraceMaker {
 public:
  void add(std::uint32_t replica, const std::vector<ReplicaSpan>& spans) {
    const auto first = static_cast<std::uint32_t>(timeline_.tracks.size());
    for (const char* name : {"steps", "host to GPU", "GPU to host"}) {
      timeline_.tracks.push_back({fmt::format("replica {} {}", replica, name), RankId{replica}, false});
    }
    for (const ReplicaSpan& span : spans) {
      using Kind = ReplicaSpan::Kind;
      const std::uint32_t track = first + (span.kind == Kind::load ? 1 : span.kind == Kind::store ? 2 : 0);
      std::string name;
      switch (span.kind) {
        case Kind::step:
          name = fmt::format("{} prompt tokens, {} decodes", span.prompt_tokens, span.sequences);
          break;
        case Kind::decodes:
          name = fmt::format("{} x {} decodes", span.count, span.sequences);
          break;
        case Kind::load:
        case Kind::store:
          name = fmt::format("{} {} blocks", span.kind == Kind::load ? "fetch" : "store", span.count);
          break;
      }
      timeline_.spans.push_back({track, std::move(name), track == first ? SpanKind::kernel : SpanKind::copy,
                                 Nanoseconds{span.begin_ns}, Nanoseconds{span.end_ns}});
    }
  }
  Timeline finish(const std::string& machine) {
    timeline_.simulated = true;
    timeline_.where = fmt::format("simulated {}", machine);
    return std::move(timeline_);
  }

 private:
  Timeline timeline_;
};

/// What both kinds of costs depend on besides the machine.
std::string key_of(const ServeRequest& request) {
  return fmt::format("{} {} {} tp {} ep {} {} {}", request.model.name, request.model.file, request.model.layers.size(),
                     request.layout.tp, request.layout.ep, to_string(request.dtype), to_string(request.kv_dtype));
}

Status check_serving_machine(const ServeRequest& request, const Phase& phase, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_kernels(machine));
  CORTADO_RETURN_IF_ERROR(check_gemm({16, 16, 16, request.dtype}, machine));
  return check_layout(request.model, request.layout, phase, machine);
}

Result<ServeReport> prepare(const ServeRequest& request, const Machine& machine) {
  CORTADO_RETURN_IF_ERROR(check_request(request, machine));
  CORTADO_RETURN_IF_ERROR(check_serving_machine(request, types_of(request), machine));
  ServeReport report{.request = request, .machine = machine.name};
  CORTADO_ASSIGN_OR_RETURN(report.pool_pages, pages_of_pool(request, machine));
  report.page_bytes = {static_cast<std::uint64_t>(token_bytes(request) * request.page)};
  if (request.host_tier) {
    // Host memory holds what all GPUs of the replica have, including replicated heads.
    const double block_bytes = token_bytes(request) * request.page * request.layout.tp;
    report.tier_blocks =
        static_cast<std::uint64_t>(static_cast<double>(request.host_tier->value) / request.replicas / block_bytes);
    if (report.tier_blocks == 0) {
      return fail("serve.tier",
                  fmt::format("a host tier of {} bytes does not hold a block of {:.0f} bytes{}",
                              request.host_tier->value, block_bytes,
                              request.replicas > 1 ? fmt::format(" for each of {} replicas", request.replicas) : ""),
                  "use --kv-tier host:500GB, or leave it out");
    }
  }
  if (const auto* generated = std::get_if<Generated>(&request.arrivals); generated && generated->hit_rate > 0) {
    const double share = share_in_tier(request, report.tier_blocks);
    if (share < 1) {
      report.notes.push_back(
          fmt::format("host memory can hold {:.0f} % of the prefixes that should already be stored", 100 * share));
    }
  }
  return report;
}

/// Runs all replicas with one way after another.
class WayRunner {
 public:
  WayRunner(const ServeOptions& options, ServeReport& report)
      : request_(report.request), options_(options), report_(report) {}

  Result<ServeRow> run(const std::string& way, const ReplicaConfig& config, const StepCosts& costs, bool trace) {
    ServeRow row{.way = way};
    TraceMaker maker;
    const double tier_share = share_in_tier(request_, report_.tier_blocks);
    const bool together = request_.shared_tier && config.reuse == Reuse::host;
    HostTier all(config.host_blocks * request_.replicas);
    std::vector<std::unique_ptr<Running>> running;
    for (std::uint32_t replica = 0; replica < request_.replicas; ++replica) {
      CORTADO_ASSIGN_OR_RETURN(auto source,
                               source_of(request_, {replica, request_.replicas}, tier_share, config.reuse));
      running.push_back(std::make_unique<Running>(std::move(source), config.host_blocks));
      Running& one = *running.back();
      one.observer = {[this, &one](std::uint64_t ended) { return tell(one, ended); }, trace ? &one.spans : nullptr,
                      kTraceSpans};
      one.replica.emplace(*one.source, costs, config, one.observer, together ? all : one.tier);
    }
    CORTADO_RETURN_IF_ERROR(together ? serve_in_turns(running) : serve_one_by_one(running));
    std::vector<Tally> tallies;
    std::int64_t last_ns = 0;
    for (const auto& one : running) last_ns = std::max(last_ns, tallies.emplace_back(one->replica->finish()).end_ns);
    for (std::uint32_t replica = 0; replica < request_.replicas; ++replica) {
      Running& one = *running[replica];
      tallies[replica].close(last_ns);
      row.tally.merge(std::move(tallies[replica]), request_.replicas);
      if (trace) maker.add(replica, one.spans);
      report_.timeline_cut = report_.timeline_cut || one.spans.size() == kTraceSpans;
    }
    if (trace) report_.timeline = maker.finish(report_.machine);
    const auto* generated = std::get_if<Generated>(&request_.arrivals);
    if (generated == nullptr || !generated->users) {  // users do not ask faster than they are answered
      row.overload = overload_of(row.tally);
      row.ends_early = ends_early(row.tally);
    }
    row.tally.arrivals = {};
    row.ttft = spread_of(std::exchange(row.tally.ttft, {}));
    row.tpot = spread_of(std::exchange(row.tally.tpot, {}));
    row.latency = spread_of(std::exchange(row.tally.latency, {}));
    return row;
  }

 private:
  struct Running {
    Running(std::unique_ptr<Source> requests, std::uint64_t tier_blocks)
        : source(std::move(requests)), tier(tier_blocks) {}

    std::unique_ptr<Source> source;
    HostTier tier;
    ReplicaObserver observer{};
    std::vector<ReplicaSpan> spans{};
    std::optional<Replica> replica{};
    std::uint64_t ended = 0;
  };
  using Replicas = std::vector<std::unique_ptr<Running>>;

  static Status serve_one_by_one(Replicas& running) {
    for (const auto& one : running) {
      for (bool more = true; more;) {
        CORTADO_ASSIGN_OR_RETURN(more, one->replica->turn());
      }
    }
    return {};
  }

  /// The replica that is furthest behind has the next turn, so that others find what a replica stores later, never
  /// before.
  static Status serve_in_turns(const Replicas& running) {
    std::vector<Replica*> left;
    for (const auto& one : running) left.push_back(&*one->replica);
    while (!left.empty()) {
      const auto behind = std::ranges::min_element(left, {}, &Replica::now_ns);
      CORTADO_ASSIGN_OR_RETURN(const bool more, (*behind)->turn());
      if (!more) left.erase(behind);
    }
    return {};
  }

  bool tell(Running& one, std::uint64_t ended) {
    done_ += ended - one.ended;
    one.ended = ended;
    if (!options_.progress) return true;
    const auto* generated = std::get_if<Generated>(&request_.arrivals);
    const std::uint64_t total = generated == nullptr ? 0 : generated->requests * request_.ways.size();
    return options_.progress(done_, total);
  }

  const ServeRequest& request_;
  const ServeOptions& options_;
  ServeReport& report_;
  std::uint64_t done_ = 0;
};

}  // namespace

Outcome<const StepCosts*> ServingStudy::step_costs(const ServeRequest& request) {
  const std::string key =
      fmt::format("{} {} {}", key_of(request), request.limits.max_tokens, request.limits.max_sequences);
  if (const auto known = steps_.find(key); known != steps_.end()) return &known->second;
  auto costs = make_step_costs(request.model, request.layout, types_of(request), request.limits, machine_);
  if (!costs) return fail(costs.error());
  return &steps_.emplace(key, *std::move(costs)).first->second;
}

Outcome<const StepCosts*> ServingStudy::steps(const ServeRequest& request, std::uint64_t prompt) {
  Phase last = types_of(request);
  last.tokens = std::min<std::uint64_t>(last.tokens, prompt);
  last.context = prompt - last.tokens;
  if (const Status possible = check_serving_machine(request, last, machine_); !possible) {
    return fail_at(Stage::plan, possible.error());
  }
  return step_costs(request);
}

Outcome<ReplicaConfig> ServingStudy::config_of(const std::string& way, const ServeRequest& request,
                                               const ServeReport& report) {
  ReplicaConfig config{.limits = request.limits,
                       .pages = report.pool_pages,
                       .page = request.page,
                       .context = request.model.context,
                       .request_ns = machine_.timing->serving ? machine_.timing->serving->request.value : 0,
                       .slo_ttft = request.slo_ttft,
                       .slo_tpot = request.slo_tpot};
  if (way == kRecompute) config.reuse = Reuse::none;
  if (way == kRecompute || way == kHbmOnly) return config;
  if (const Status known = check_fetch(way); !known) return fail_at(Stage::plan, known.error());
  if (!request.host_tier) {
    return fail_at(Stage::plan,
                   {"serve.tier", fmt::format("{} fetches from host memory, but there is no host tier", way),
                    "pass --kv-tier host:500GB"});
  }
  config.reuse = Reuse::host;
  config.host_blocks = report.tier_blocks;
  const std::string key = fmt::format("{} {} {} {}", way, key_of(request), request.page, request.kv_layout);
  auto known = fetches_.find(key);
  if (known == fetches_.end()) {
    auto cost =
        fetch_way(way, {request.model, request.layout.tp, request.kv_dtype, request.page, request.kv_layout}, machine_);
    if (!cost) return fail(cost.error());
    known = fetches_.emplace(key, *std::move(cost)).first;
  }
  config.fetch = known->second;
  return config;
}

Outcome<ServeReport> ServingStudy::run(const ServeRequest& request, const ServeOptions& options) {
  auto report = prepare(request, machine_);
  if (!report) return fail_at(Stage::plan, report.error());
  std::vector<ReplicaConfig> configs;
  for (const std::string& way : request.ways) {
    auto config = config_of(way, request, *report);
    if (!config) return fail(config.error());
    configs.push_back(*std::move(config));
  }
  const auto costs = step_costs(request);
  if (!costs) return fail(costs.error());
  WayRunner runner(options, *report);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool last = i + 1 == configs.size();
    auto row = runner.run(request.ways[i], configs[i], **costs, last && options.trace);
    if (!row) {
      const bool interrupted = row.error().code == "serve.interrupted";
      return fail_at(interrupted ? Stage::run : Stage::plan, row.error());
    }
    report->rows.push_back(*std::move(row));
  }
  return *std::move(report);
}

}  // namespace cortado::serve
