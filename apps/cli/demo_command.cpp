// cortado demo: the whole story on one screen, for someone who sees it for the first time.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/base/text.hpp"
#include "cortado/device/sdma.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/bench.hpp"
#include "cortado/pipeline/devices.hpp"
#include "cortado/pipeline/simulate.hpp"
#include "cortado/report/trace.hpp"

#include "dependent_story.hpp"
#include "output_file.hpp"
#include "overlap_story.hpp"
#include "packet_text.hpp"
#include "plan_options.hpp"
#include "power_story.hpp"
#include "subcommand.hpp"
#include "tracked_story.hpp"

namespace cortado::cli {
namespace {

struct Story {
  Collective collective;
  std::string_view meaning;
};

constexpr std::array kStories{Story{"all-gather", "every GPU ends with the blocks of all GPUs"},
                              Story{"all-to-all", "every GPU sends a different block to every other GPU"}};

class DemoCommand : public Subcommand {
 public:
  std::string_view name() const override { return "demo"; }
  std::string_view description() const override {
    return "Plan, prove, predict, run and show 8-GPU collectives, and products beside and after them";
  }
  std::vector<Example> examples() const override {
    return {{"cortado demo", "start here; takes a few seconds"},
            {"cortado demo --bytes 4MiB --trace big.json", "larger buffers, trace where you want it"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    app.add_option("--on", device_, "Where to run (cortado list devices)")->type_name("DEVICE")->capture_default_str();
    app.add_option("--bytes", bytes_, "Size of the whole buffer")->type_name("SIZE")->capture_default_str();
    app.add_option("--trace", trace_, "Where to write the trace")->type_name("FILE")->capture_default_str();
  }

  Result<Exit> run(Console& console) override {
    CORTADO_ASSIGN_OR_RETURN(const Bytes bytes, parse_bytes(bytes_));
    CORTADO_RETURN_IF_ERROR(check_output_path(trace_, {machine_}));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    CORTADO_ASSIGN_OR_RETURN(const auto driver, pipeline::open_device({device_, machine.gpus, {}}, machine));

    console.out(introduction(machine, *driver));
    Exit exit = Exit::ok;
    for (const Story& story : kStories) {
      const auto table = run_story(story, bytes, machine, *driver);
      if (!table) return console.failure(table.error());
      console.out(table->text);
      if (table->wrong > 0) exit = Exit::failed;
    }
    console.out(proof_text());
    const auto closing = packets_and_trace(bytes, machine, *driver);
    if (!closing) return console.failure(closing.error());
    console.out(*closing);
    for (const auto story : {overlap_story, dependent_story, tracked_story, power_story}) {
      const auto part = story(machine, *driver);
      if (!part) return console.failure(part.error());
      console.out(part->text);
      if (part->wrong > 0) exit = Exit::failed;
    }
    console.out("Next: cortado --help, or cortado bench all-gather --on sim --sizes 1KiB:64MiB\n");
    return exit;
  }

 private:
  struct Table {
    std::string text;
    std::uint64_t wrong = 0;
  };

  struct Fastest {
    std::string variant;
    bool prelaunch = false;
    Nanoseconds time;
  };

  static std::string introduction(const Machine& machine, const device::Driver& driver) {
    return fmt::format(
        "Cortado moves data between GPUs with their DMA engines, so that the compute units stay free.\n"
        "Each line below is a program that was planned for {} ({} x {}), proved correct, turned into\n"
        "the packets those engines read, and executed on real bytes by: {}.\n\n"
        "  predicted: what the simulator says that {} {} GPUs would take\n"
        "  run here: median time on this computer, which has no such GPUs; it shows that the program works\n"
        "  copies, signals, doorbells: commands of all engines, raised counters, and submissions by the host\n"
        "  prelaunch: the engines get their packets first and hold at a poll; the time starts at the trigger\n"
        "  busbw: bytes per predicted time, scaled as nccl-tests do so that it compares with the speed of a link\n\n",
        machine.name, machine.gpus, machine.gpu, driver.topology().node, machine.gpus, machine.gpu);
  }

  /// The demo is about DMA engines.
  static std::vector<VariantInfo> variants_of(const Story& story) {
    std::vector<VariantInfo> variants = list_variants(story.collective);
    std::erase_if(variants, [](const VariantInfo& info) { return info.on_cores; });
    return variants;
  }

  pipeline::Outcome<Table> run_story(const Story& story, Bytes bytes, const Machine& machine, device::Driver& driver) {
    pipeline::BenchRequest request;
    request.base.collective = story.collective;
    request.sizes = {bytes};
    const std::vector<VariantInfo> variants = variants_of(story);
    for (const VariantInfo& info : variants) request.variants.push_back(info.variant);
    const auto plan = pipeline::plan_bench(request, machine);
    if (!plan) return tl::unexpected(plan.error());

    Table result;
    std::optional<Fastest> fastest;
    TextTable table({"variant", "prelaunch", "in place", "copies", "signals", "doorbells", "predicted us", "busbw GB/s",
                     "run here us", "wrong bytes"});
    for (const pipeline::BenchPoint& point : plan->points) {
      const auto row = pipeline::run_point(point, driver, request, {});
      if (!row) return tl::unexpected(row.error());
      std::string predicted_us = "-";
      std::string busbw = "-";
      if (machine.timing) {
        const auto predicted = pipeline::simulate_verified(point.program);
        if (!predicted) return tl::unexpected(predicted.error());
        predicted_us = fmt::format("{:.1f}", microseconds(predicted->time));
        busbw = fmt::format("{:.2f}", predicted->bandwidths->bus);
        if (!fastest || predicted->time < fastest->time) fastest = {row->variant, row->prelaunch, predicted->time};
      }
      table.add_row({row->variant, row->prelaunch ? "yes" : "no", row->in_place ? "yes" : "no",
                     fmt::format("{}", row->counts.commands), fmt::format("{}", row->counts.signals),
                     fmt::format("{}", row->counts.doorbells), predicted_us, busbw,
                     fmt::format("{:.1f}", microseconds(row->time)), fmt::format("{}", row->wrong.value_or(0))});
      result.wrong += row->wrong.value_or(0);
    }
    result.text =
        fmt::format("{} of {}: {}\n{}", story.collective, format_bytes(bytes), story.meaning, table.to_string("  "));
    for (const VariantInfo& info : variants) {
      result.text += fmt::format("  {} = {}\n", info.variant, info.summary);
    }
    for (const report::SkippedRow& row : plan->skipped) result.text += "  " + report::bench_line(row);
    if (fastest) result.text += verdict(story, bytes, machine, *fastest);
    result.text += "\n";
    return result;
  }

  /// The DMA engines against what a library of GPU kernels would take.
  static std::string verdict(const Story& story, Bytes bytes, const Machine& machine, const Fastest& dma) {
    std::string text = fmt::format("  predicted fastest: {}{}, {:.1f} us", dma.variant,
                                   dma.prelaunch ? " prelaunched" : "", microseconds(dma.time));
    std::optional<Fastest> cores;
    for (const VariantInfo& info : list_variants(story.collective)) {
      if (!info.on_cores) continue;
      CollectiveRequest request;
      request.collective = story.collective;
      request.variant = info.variant;
      request.bytes = bytes;
      request.in_place = default_in_place(request.collective, request.variant);
      const auto predicted = pipeline::simulate_collective(request, machine);
      if (predicted && (!cores || predicted->time < cores->time)) cores = {info.variant, false, predicted->time};
    }
    if (cores) {
      text += fmt::format("; kernels on the compute units instead ({}): {:.1f} us", cores->variant,
                          microseconds(cores->time));
    }
    return text + "\n";
  }

  static std::string proof_text() {
    TextTable table({"rule", "what was proved before anything ran, for two iterations in a row"});
    for (const RuleInfo& rule : verify_rules()) table.add_row({std::string(rule.code), std::string(rule.summary)});
    return table.to_string("  ") + "\n";
  }

  pipeline::Outcome<std::string> packets_and_trace(Bytes bytes, const Machine& machine, device::Driver& driver) const {
    CollectiveRequest request;
    request.collective = kStories[0].collective;
    request.variant = machine.features.broadcast ? "bcst" : "pcpy";
    request.bytes = bytes;
    request.prelaunch = true;
    request.in_place = default_in_place(request.collective, request.variant);
    pipeline::RunSettings settings;
    settings.prepare.trace = true;
    settings.run.iterations = 2;
    const auto traced = pipeline::run_collective(request, machine, driver, settings);
    if (!traced) return tl::unexpected(traced.error());
    const Program& program = traced->program.program();
    const auto packets = device::encode_program(traced->program);
    if (!packets) return pipeline::fail_at(pipeline::Stage::prepare, packets.error());

    std::string text = fmt::format("What an engine gets: the queue {} of {}, dword by dword\n",
                                   program.queue(packets->front().queue).name, describe(request, program));
    text += packets_text(program, packets->front());
    const std::string trace = report::perfetto_trace(traced->result.timeline, program);
    if (const auto written = write_file(trace_, trace); !written) {
      return pipeline::fail_at(pipeline::Stage::prepare, written.error());
    }
    return text +
           fmt::format("\nTrace of that program in {}: open https://ui.perfetto.dev and drop the file there.\n\n",
                       trace_);
  }

  static std::string packets_text(const Program& program, const device::QueuePackets& packets) {
    const Queue& queue = program.queue(packets.queue);
    std::string text;
    for (std::size_t i = 0; i < queue.commands.size(); ++i) {
      text += fmt::format("  {}\n", to_string(program, queue.commands[i]));
      std::span<const std::uint32_t> rest =
          std::span(packets.dwords).subspan(packets.start[i], packets.start[i + 1] - packets.start[i]);
      while (!rest.empty()) {
        const auto decoded = sdma::decode(rest);
        if (!decoded) break;
        text += format_dwords(rest.first(decoded->dwords), "    ");
        text += fmt::format("    = {}\n", sdma::to_string(decoded->packet));
        rest = rest.subspan(decoded->dwords);
      }
    }
    return text;
  }

  std::string machine_ = kDefaultMachine;
  std::string device_ = "soft";
  std::string bytes_ = "1MiB";
  std::string trace_ = "cortado-trace.json";
};

}  // namespace

std::unique_ptr<Subcommand> make_demo() {
  return std::make_unique<DemoCommand>();
}

}  // namespace cortado::cli
