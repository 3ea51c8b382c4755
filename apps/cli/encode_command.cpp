// cortado encode: the dwords that a GPU would get.
#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/device/executor.hpp"
#include "cortado/ir/text.hpp"

#include "number_option.hpp"
#include "packet_text.hpp"
#include "program_input.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

class EncodeCommand : public Subcommand {
 public:
  std::string_view name() const override { return "encode"; }
  std::string_view description() const override { return "Print a program's DMA queues as the dwords a GPU would get"; }
  std::vector<Example> examples() const override {
    return {{"cortado encode ag.json --rank 0", "all queues of GPU 0, with the command above its packet"},
            {"cortado encode ag.json | cortado decode -", "to dwords and back"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("file", file_, "Program file, or - for standard input")->required()->type_name("");
    add_number(app, "--rank", rank_, "Only the queues of this rank")->type_name("RANK");
    app.add_option("--queue", queue_, "Only this queue, by name")->type_name("NAME");
    app.add_option("--machine", machine_, "Instead of the program's own machine")->type_name("NAME");
  }

  Result<Exit> run(Console& console) override {
    console.stage("reading");
    CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(file_, machine_));
    CORTADO_RETURN_IF_ERROR(check_selection(input.program));
    console.stage("proving");
    const auto verified = verify(std::move(input.program), input.machine);
    if (!verified) return console.failure({Stage::verify, verified.error()});
    CORTADO_ASSIGN_OR_RETURN(const auto packets, device::encode_program(*verified));

    const Program& program = verified->program();
    std::string text = comment(
        fmt::format("{} on {}, first iteration; addresses are from a fixed layout", program.name, input.machine.name));
    for (const device::QueuePackets& queue : packets) {
      if (selected(program.queue(queue.queue))) text += queue_text(program, queue);
    }
    console.out(text);
    return Exit::ok;
  }

 private:
  bool selected(const Queue& queue) const {
    return (!rank_ || queue.rank == RankId{*rank_}) && (!queue_ || queue.name == *queue_);
  }

  Status check_selection(const Program& program) const {
    if (rank_ && *rank_ >= program.ranks) {
      return fail("usage.rank", fmt::format("there is no rank {}", *rank_),
                  fmt::format("the program has ranks 0 to {}", program.ranks - 1));
    }
    std::vector<std::string> names;
    for (const Queue& queue : program.queues) {
      if (queue.kind != QueueKind::dma) continue;
      if (selected(queue)) return {};
      if (rank_ && queue_ && queue.name == *queue_) {
        return fail("usage.queue",
                    fmt::format("queue {} is one of rank {}, not of rank {}", *queue_, queue.rank->value, *rank_),
                    "give --rank or --queue alone");
      }
      names.push_back(queue.name);
    }
    const std::string nearest = queue_ ? nearest_name(*queue_, names) : "";
    return fail("usage.queue", "no DMA queue of the program is selected",
                nearest.empty() ? "cortado show program lists the queues" : fmt::format("did you mean {}?", nearest));
  }

  static std::string queue_text(const Program& program, const device::QueuePackets& packets) {
    const Queue& queue = program.queue(packets.queue);
    std::string text = queue_comment(queue.name);
    for (std::size_t i = 0; i < queue.commands.size(); ++i) {
      text += comment(fmt::format("{}: {}", i, to_string(program, queue.commands[i])));
      const std::uint32_t first = packets.start[i];
      text += format_dwords(std::span(packets.dwords).subspan(first, packets.start[i + 1] - first));
    }
    return text;
  }

  std::string file_;
  std::optional<std::uint32_t> rank_;
  std::optional<std::string> queue_;
  std::optional<std::string> machine_;
};

}  // namespace

std::unique_ptr<Subcommand> make_encode() {
  return std::make_unique<EncodeCommand>();
}

}  // namespace cortado::cli
