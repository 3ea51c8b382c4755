#include "plan_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/ir/visit.hpp"
#include "cortado/target/target.hpp"

#include "number_option.hpp"

namespace cortado::cli {

void CollectiveOptions::add_to(CLI::App& app) {
  CLI::Option* in_place =
      app.add_flag("--in-place", in_place_, "Output replaces the input (default: what suits the variant)");
  CLI::Option* out_of_place = app.add_flag("--out-of-place", out_of_place_, "Output in buffers of its own");
  CLI::Option* ranks =
      add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 2})
          ->type_name("N");
  dtype_option_ = app.add_option("--dtype", dtype_, "Element type of reductions: u8, i32, f16, bf16, f32, f8")
                      ->type_name("TYPE")
                      ->capture_default_str();
  options_.insert(
      options_.end(),
      {ranks, in_place, out_of_place, dtype_option_,
       add_number(app, "--root", root_, "Root of broadcast, gather, scatter; source of point-to-point")
           ->type_name("RANK")
           ->capture_default_str(),
       add_number(app, "--peer", peer_, "Destination of point-to-point")->type_name("RANK")->capture_default_str(),
       add_number(app, "--ways", ways_, "b2b: copies per engine at most; 0 = all on one engine")
           ->type_name("N")
           ->capture_default_str(),
       add_number(app, "--cus", compute_units_,
                  "cores-*: compute units of a GPU that the collective may use (default: all)", {.least = 1})
           ->type_name("N"),
       app.add_flag("--leave-own-block", leave_own_block_, "all-to-all: a rank's block for itself stays where it is"),
       app.add_option("--hosts", hosts_, "Who drives the engines: single (one thread) or per-rank")
           ->type_name("HOSTS")
           ->capture_default_str()});
  auto_.add_to(app);
  options_.insert(options_.end(), auto_.options().begin(), auto_.options().end());
}

std::optional<bool> CollectiveOptions::in_place() const {
  if (in_place_) return true;
  if (out_of_place_) return false;
  return {};
}

std::string CollectiveOptions::first_given(const std::vector<std::string>& but) const {
  for (const CLI::Option* option : options_) {
    const bool named = std::find(but.begin(), but.end(), option->get_name()) != but.end();
    if (option->count() > 0 && !named) return option->get_name();
  }
  return {};
}

Result<CollectiveRequest> CollectiveOptions::request(Collective collective) const {
  CollectiveRequest request;
  request.collective = collective;
  if (in_place_ && out_of_place_) {
    return fail("usage.place", "--in-place and --out-of-place exclude each other", "give one of them or none");
  }
  if (ranks_ && *ranks_ == 0)
    return fail("usage.ranks", "0 ranks asked for", "give --ranks 2 or more, or leave it out");
  request.ranks = ranks_.value_or(0);
  CORTADO_ASSIGN_OR_RETURN(request.dtype, parse_dtype(dtype_));
  request.root = RankId{root_};
  request.peer = RankId{peer_};
  request.ways = ways_;
  if (compute_units_ && *compute_units_ == 0) {
    return fail("usage.cus", "0 compute units asked for", "give --cus 2 or more, or leave it out");
  }
  request.compute_units = compute_units_.value_or(0);
  request.own_block = !leave_own_block_;
  if (hosts_ != "single" && hosts_ != "per-rank") {
    return fail("usage.hosts", fmt::format("--hosts {} is not known", hosts_), "give single or per-rank");
  }
  request.host = hosts_ == "single" ? HostThreads::single : HostThreads::per_rank;
  return request;
}

void PlanOptions::add_to(CLI::App& app) {
  if (variant_ != kAutoVariant) {
    options_.push_back(
        app.add_option("--variant", variant_, "How: pcpy, bcst, b2b, swap, ... (cortado list variants), or auto")
            ->type_name("NAME")
            ->capture_default_str());
  }
  CLI::Option* bytes =
      app.add_option("--bytes", bytes_, "Size of the whole buffer, as nccl-tests count it: 4096, 64KiB, 1MiB")
          ->type_name("SIZE");
  CLI::Option* prelaunch = app.add_flag("--prelaunch", prelaunch_, "Queues are submitted first and start on a trigger");
  CLI::Option* trigger_words =
      app.add_option("--trigger-words", trigger_words_, "Words that start prelaunched queues: shared or per-queue")
          ->type_name("WORDS")
          ->capture_default_str();
  options_.insert(options_.end(), {bytes, prelaunch, trigger_words});
  CollectiveOptions::add_to(app);
}

Result<CollectiveRequest> PlanOptions::request(const std::string& collective) const {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  CORTADO_ASSIGN_OR_RETURN(CollectiveRequest request, CollectiveOptions::request(named));
  if (!bytes_) return fail("usage.bytes", "no size given", "give --bytes, e.g. --bytes 1MiB");
  CORTADO_ASSIGN_OR_RETURN(request.bytes, parse_bytes(*bytes_));
  request.variant = variant_;
  CORTADO_RETURN_IF_ERROR(automatic().check(variant_ == kAutoVariant));
  request.prelaunch = prelaunch_;
  if (trigger_words_ != "shared" && trigger_words_ != "per-queue") {
    return fail("usage.trigger_words", fmt::format("--trigger-words {} is not known", trigger_words_),
                "give shared or per-queue");
  }
  request.trigger_words = trigger_words_ == "shared" ? TriggerWords::shared : TriggerWords::per_queue;
  request.in_place = in_place().value_or(default_in_place(request.collective, variant_));
  return request;
}

ChoiceRequest PlanOptions::choice(const CollectiveRequest& request) const {
  return {request, in_place(), automatic().among()};
}

Result<CollectiveRequest> PlanOptions::settled(const CollectiveRequest& request, const Machine& machine,
                                               Console& console) const {
  if (request.variant != kAutoVariant) return request;
  pipeline::Chooser chooser(machine, automatic().chooser_options());
  CORTADO_ASSIGN_OR_RETURN(const ChoiceRow row, chooser.row(choice(request)));
  keep_times(chooser, console);
  console.talk(fmt::format("auto: {}, {:.2f} us by simulation, best of {}; cortado explain says why",
                           way_name(row.best().request), microseconds(row.best().time), row.fitting.size()));
  return row.best().request;
}

std::string describe(const CollectiveRequest& request, const Program& program) {
  return fmt::format("{} {}{} of {} on {} ranks of {}, {}", request.collective, request.variant,
                     request.prelaunch ? " prelaunch" : "", format_bytes(request.bytes), program.ranks, program.machine,
                     request.in_place ? "in place" : "out of place");
}

std::string describe_counts(const Program& program) {
  const ProgramCounts counts = count(program);
  const auto counted = [](std::uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::vector<std::string> parts{counted(counts.commands, "command"), counted(counts.signals, "signal"),
                                 counted(counts.doorbells, "doorbell")};
  if (counts.triggers > 0) parts.push_back(counted(counts.triggers, "trigger"));
  if (counts.kernels > 0) parts.push_back(counted(counts.kernels, "kernel"));
  return join(parts);
}

}  // namespace cortado::cli
