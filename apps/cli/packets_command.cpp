// cortado packets: a program as the dwords that a GPU would receive, and back.
#include <fmt/format.h>

#include "cortado/packets.hpp"
#include "cortado/program.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "device/executor/executor.hpp"
#include "json.hpp"
#include "packet_text.hpp"
#include "program_input.hpp"

namespace cortado::cli {
namespace {

constexpr Example kPacketsExamples[] = {
    {"cortado packets ag.json --rank 0", "all queues of GPU 0, with each command above its packet"},
    {"cortado packets ag.json | cortado packets --decode -", "encode to dwords, and decode them again"},
    {"echo '0 0x00000001 fff 0 1000 0 2000 0' | cortado packets --decode -", "a no-op, then a copy of 4096 bytes"}};

struct Selection {
  std::optional<std::uint32_t> rank;
  std::optional<std::string> queue;

  bool has(const Queue& one) const { return (!rank || one.rank == RankId{*rank}) && (!queue || one.name == *queue); }
};

Status check_selection(const Selection& selection, const Program& program) {
  const auto& [rank, wanted] = selection;
  if (rank && *rank >= program.ranks) {
    return fail("usage.rank", fmt::format("the program has no rank {}", *rank),
                fmt::format("its ranks are 0 to {}", program.ranks - 1));
  }
  std::vector<std::string> names;
  for (const Queue& queue : program.queues) {
    if (queue.kind != QueueKind::dma) continue;
    if (selection.has(queue)) return {};
    if (rank && wanted && queue.name == *wanted) {
      return fail("usage.queue",
                  fmt::format("queue {} belongs to rank {}, not to rank {}", *wanted, queue.rank->value, *rank),
                  "pass either --rank or --queue");
    }
    names.push_back(queue.name);
  }
  return fail("usage.queue", "no DMA queue of the program is selected",
              did_you_mean(wanted.value_or(""), names, "see cortado show program for the queues"));
}

std::string queue_text(const Program& program, const device::QueuePackets& packets) {
  const Queue& queue = program.queue(packets.queue);
  std::string text = queue_comment(queue.name);
  for (std::size_t i = 0; i < queue.commands.size(); ++i) {
    text += comment(fmt::format("{}: {}", i, to_string(program, queue.commands[i])));
    const std::uint32_t first = packets.start[i];
    text += format_dwords(std::span(packets.dwords).subspan(first, packets.start[i + 1] - first));
  }
  return text;
}

Result<Exit> encode(const Arguments& arguments, Console& console) {
  console.stage("reading");
  CORTADO_ASSIGN_OR_RETURN(ProgramInput input, read_program(arguments.text("file"), arguments.find("--machine")));
  const Selection selection{arguments.number("--rank"), arguments.find("--queue")};
  CORTADO_RETURN_IF_ERROR(check_selection(selection, input.program));
  console.stage("proving");
  const auto verified = verify(std::move(input.program), input.machine);
  if (!verified) return console.failure({Stage::verify, verified.error()});
  CORTADO_ASSIGN_OR_RETURN(const auto packets, device::encode_program(*verified));

  const Program& program = verified->program();
  std::string text = comment(
      fmt::format("{} on {}, first iteration; addresses are from a fixed layout", program.name, input.machine.name));
  for (const device::QueuePackets& queue : packets) {
    if (selection.has(program.queue(queue.queue))) text += queue_text(program, queue);
  }
  console.out(text);
  return Exit::ok;
}

struct Line {
  std::size_t offset;  ///< in dwords
  std::size_t dwords;
  std::string text;
};

/// The packets of one stream up to its end, or up to the first that cannot be decoded.
struct DecodedStream {
  std::vector<Line> lines;
  std::optional<Diagnostic> error;
};

DecodedStream decode_stream(const DwordStream& stream) {
  DecodedStream listing;
  std::span<const std::uint32_t> rest = stream.dwords;
  while (!rest.empty()) {
    const std::size_t offset = stream.dwords.size() - rest.size();
    const auto decoded = sdma::decode(rest);
    if (!decoded) {
      Diagnostic error{"decode.packet",
                       fmt::format("byte {:#x} (dword {}), header {:08x}: {}", offset * 4, offset,
                                   decoded.error().header, decoded.error().message),
                       {},
                       {},
                       About::request};
      error.place.queue = stream.queue;
      listing.error = std::move(error);
      return listing;
    }
    listing.lines.push_back({offset, decoded->dwords, sdma::to_string(decoded->packet)});
    rest = rest.subspan(decoded->dwords);
  }
  return listing;
}

void print_stream(Console& console, const DwordStream& stream, const DecodedStream& listing) {
  std::string text = stream.queue.empty() ? "" : fmt::format("queue {}\n", stream.queue);
  for (const Line& line : listing.lines) text += fmt::format("  {:#06x}  {}\n", line.offset * 4, line.text);
  console.out(text);
}

Json stream_json(const DwordStream& stream, const DecodedStream& listing) {
  Json packets = Json::array();
  for (const Line& line : listing.lines) {
    packets.push_back({{"offset", line.offset * 4}, {"dwords", line.dwords}, {"packet", line.text}});
  }
  Json json{{"queue", stream.queue.empty() ? Json() : Json(stream.queue)}, {"packets", std::move(packets)}};
  if (listing.error) json["error"] = to_json_value(*listing.error);
  return json;
}

Result<Exit> decode(const Arguments& arguments, Console& console) {
  const std::string file = arguments.text("file");
  const bool as_json = arguments.given("--json");
  CORTADO_ASSIGN_OR_RETURN(const std::string content, read_file(file));
  const std::string name = file == "-" ? "standard input" : file;
  CORTADO_ASSIGN_OR_RETURN(const auto streams, arguments.given("--binary") ? parse_binary_dwords(content, name)
                                                                           : parse_dwords(content, name));
  std::size_t total = 0;
  for (const DwordStream& stream : streams) total += stream.dwords.size();
  if (total == 0) return fail("decode.input", fmt::format("{} contains no dwords", name), "provide packets to decode");

  Exit exit = Exit::ok;
  Json streams_json = Json::array();
  for (const DwordStream& stream : streams) {
    const DecodedStream listing = decode_stream(stream);
    if (as_json) {
      streams_json.push_back(stream_json(stream, listing));
    } else {
      print_stream(console, stream, listing);
    }
    if (!listing.error) continue;
    console.error(*listing.error);
    exit = Exit::failed;
  }
  if (as_json) {
    Json json = document("cortado.decode");
    json["streams"] = std::move(streams_json);
    console.out(to_text(json));
  }
  return exit;
}

Result<Exit> run_packets(const Arguments& arguments, Console& console) {
  const bool back = arguments.given("--decode");
  CORTADO_RETURN_IF_ERROR(arguments.check({back ? "decode" : "encode"}));
  return back ? decode(arguments, console) : encode(arguments, console);
}

}  // namespace

constinit const Subcommand kPacketsCommand{
    "packets", "Print a program's DMA queues as the dwords a GPU would receive, or decode such dwords",
    kPacketsExamples, run_packets};

}  // namespace cortado::cli
