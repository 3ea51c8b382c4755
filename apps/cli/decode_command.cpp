// cortado decode: raw SDMA dwords as readable packets.
#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/device/sdma.hpp"

#include "json.hpp"
#include "packet_text.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

struct Line {
  std::size_t offset;  ///< in dwords
  std::size_t dwords;
  std::string text;
};

/// The packets of one stream up to its end or to the first that cannot be read.
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

class DecodeCommand : public Subcommand {
 public:
  std::string_view name() const override { return "decode"; }
  std::string_view description() const override { return "Print raw SDMA dwords as readable packets"; }
  std::vector<Example> examples() const override {
    return {{"cortado encode ag.json --rank 0 | cortado decode -", "the packets that GPU 0 would get"},
            {"echo '0 0x00000001 fff 0 1000 0 2000 0' | cortado decode -", "a no-op, then a copy of 4096 bytes"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option("file", file_, "Hexadecimal words separated by white space, # comments; - for standard input")
        ->required()
        ->type_name("");
    app.add_flag("--binary", binary_, "The file holds raw little-endian dwords");
    app.add_flag("--json", json_, "JSON");
  }

  Result<Exit> run(Console& console) override {
    CORTADO_ASSIGN_OR_RETURN(const std::string content, read_file(file_));
    const std::string name = file_ == "-" ? "standard input" : file_;
    CORTADO_ASSIGN_OR_RETURN(const auto streams,
                             binary_ ? parse_binary_dwords(content, name) : parse_dwords(content, name));
    std::size_t total = 0;
    for (const DwordStream& stream : streams) total += stream.dwords.size();
    if (total == 0) return fail("decode.input", fmt::format("{} has no dwords", name), "give packets to decode");

    Exit exit = Exit::ok;
    Json streams_json = Json::array();
    for (const DwordStream& stream : streams) {
      const DecodedStream listing = decode_stream(stream);
      if (json_) {
        streams_json.push_back(stream_json(stream, listing));
      } else {
        print(console, stream, listing);
      }
      if (!listing.error) continue;
      console.error(*listing.error);
      exit = Exit::failed;
    }
    if (json_) {
      Json json = document("cortado.decode");
      json["streams"] = std::move(streams_json);
      console.out(to_text(json));
    }
    return exit;
  }

 private:
  static void print(Console& console, const DwordStream& stream, const DecodedStream& listing) {
    std::string text = stream.queue.empty() ? "" : fmt::format("queue {}\n", stream.queue);
    for (const Line& line : listing.lines) text += fmt::format("  {:#06x}  {}\n", line.offset * 4, line.text);
    console.out(text);
  }

  static Json stream_json(const DwordStream& stream, const DecodedStream& listing) {
    Json packets = Json::array();
    for (const Line& line : listing.lines) {
      packets.push_back({{"offset", line.offset * 4}, {"dwords", line.dwords}, {"packet", line.text}});
    }
    Json json{{"queue", stream.queue.empty() ? Json() : Json(stream.queue)}, {"packets", std::move(packets)}};
    if (listing.error) json["error"] = to_json_value(*listing.error);
    return json;
  }

  std::string file_;
  bool binary_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_decode() {
  return std::make_unique<DecodeCommand>();
}

}  // namespace cortado::cli
