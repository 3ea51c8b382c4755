#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/lines.hpp"
#include "base/text.hpp"
#include "serve/source.hpp"

namespace cortado::serve {
namespace {

constexpr double kLongestMs = 1e12;  // some thirty years

// The longest prompt has 2^22 hash_ids of up to 20 digits.
constexpr LineReader::Limits kLimits{{Bytes{128ULL << 20}, "lines of traces"}};

class TraceSource : public Source {
 public:
  TraceSource(std::ifstream file, std::string path, const Share& share, std::uint32_t block)
      : file_(std::move(file)), path_(std::move(path)), share_(share), block_(block), lines_(file_, path_, kLimits) {}

  Result<std::optional<std::int64_t>> next_ns() override {
    if (!next_) CORTADO_RETURN_IF_ERROR(read());
    return next_ ? std::optional(next_->arrival_ns) : std::nullopt;
  }

  Request take() override {
    Request request = *std::move(next_);
    next_.reset();
    return request;
  }

  void ended(const Request&, std::int64_t) override {}

 private:
  Unexpected<Diagnostic> wrong(std::string message, std::string hint) const {
    Diagnostic error{"serve.trace", std::move(message), std::move(hint)};
    error.place.file = path_;
    error.place.line = lines_.number();
    return fail(std::move(error));
  }

  /// The next request of this share. All lines are checked, whichever share they belong to.
  Status read() {
    std::string text;
    while (true) {
      CORTADO_ASSIGN_OR_RETURN(const bool found, lines_.next(text));
      if (!found) break;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      CORTADO_ASSIGN_OR_RETURN(Request request, parse(text));
      if (requests_++ % share_.of != share_.index) continue;
      next_ = std::move(request);
      return {};
    }
    if (file_.bad()) {
      Diagnostic error = system_error("serve.trace", "read", errno);
      error.place.file = path_;
      return fail(std::move(error));
    }
    if (requests_ == 0)
      return wrong("no requests", "write one JSON object per line: timestamp, input_length, output_length");
    return {};
  }

  /// Of a value that is refused. A number beyond 64 bits would not look as it was written.
  static std::string text_of(const Json& value) {
    constexpr double kBeyond = 18446744073709551616.0;
    const bool beyond = value.is_number() && !value.is_number_integer() && value.number() >= kBeyond;
    return beyond ? "a number above 18446744073709551615" : value.dump();
  }

  Result<std::uint32_t> length(const Json& object, const char* key) const {
    const Json* const found = object.find(key);
    const char* const hint = "use a whole number of tokens";
    if (found == nullptr) return wrong(fmt::format("{} is missing", key), hint);
    const bool whole = found->is_number_unsigned() && found->whole() <= std::numeric_limits<std::int32_t>::max();
    if (!whole) return wrong(fmt::format("{} is {}", key, text_of(*found)), hint);
    return static_cast<std::uint32_t>(found->whole());
  }

  Result<Request> parse(const std::string& text) {
    const auto parsed = Json::parse(text, {.repeated_keys = false});
    if (!parsed && Json::parse(text)) return wrong(parsed.error().message, "give every key once");
    if (!parsed || !parsed->is_object()) {
      return wrong("not a JSON object",
                   "write one per line: {\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 64}");
    }
    const Json& object = *parsed;
    const Json* const time = object.find("timestamp");
    const bool timed = time != nullptr && time->is_number();
    if (!timed) return wrong("timestamp is missing or not a number", "use milliseconds since the start of the trace");
    const double at = time->number();
    if (!(at <= kLongestMs)) {
      return wrong(fmt::format("timestamp {} is more than {:.0f}, some thirty years", time->dump(), kLongestMs),
                   "use milliseconds since the start of the trace, not since 1970");
    }
    if (at < 0)
      return wrong(fmt::format("timestamp {} is negative", time->dump()),
                   "use milliseconds since the start of the trace");
    if (at < last_ms_) {
      return wrong(fmt::format("timestamp {} is before that of the request above, {}", time->dump(), last_ms_),
                   "sort the lines by timestamp");
    }
    last_ms_ = at;
    const auto at_ns = static_cast<std::int64_t>(at * 1e6);
    if (!first_ns_) first_ns_ = at_ns;
    Request request{.arrival_ns = at_ns - *first_ns_};
    CORTADO_ASSIGN_OR_RETURN(request.input, length(object, "input_length"));
    CORTADO_ASSIGN_OR_RETURN(request.output, length(object, "output_length"));
    if (request.input == 0) return wrong("input_length is 0", "a prompt needs at least one token");
    CORTADO_ASSIGN_OR_RETURN(request.blocks, names(object, request.input));
    return request;
  }

  Result<BlockNames> names(const Json& object, std::uint32_t input) const {
    BlockNames names{.parts = kTraceBlock / block_};
    std::vector<std::uint64_t>& listed = names.listed;
    const Json* const found = object.find("hash_ids");
    if (found == nullptr) return names;
    const char* const hint = "use a list of whole numbers, one per 512 tokens of the prompt, or leave it out";
    if (!found->is_array()) return wrong("hash_ids is not a list", hint);
    for (const Json& id : *found) {
      if (!id.is_number_unsigned()) return wrong(fmt::format("hash_ids has {}", text_of(id)), hint);
      listed.push_back(id.whole());
    }
    const std::uint32_t most = (input + kTraceBlock - 1) / kTraceBlock;
    const std::uint32_t least = listed.empty() ? 0 : input / kTraceBlock;  // the last one, if not full, may be unnamed
    if (listed.size() > most || listed.size() < least) {
      return wrong(fmt::format("{} for {}", counted(listed.size(), "hash_id"), counted(input, "token")), hint);
    }
    const auto named =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(input, listed.size() * std::uint64_t{kTraceBlock}));
    names.count = named / block_;
    names.filled = named % kTraceBlock;
    return names;
  }

  std::ifstream file_;
  std::string path_;
  Share share_;
  std::uint32_t block_;
  LineReader lines_;
  std::uint64_t requests_ = 0;
  double last_ms_ = 0;
  std::optional<std::int64_t> first_ns_;
  std::optional<Request> next_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_trace(const std::string& path, const Share& share, std::uint32_t block) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    Diagnostic error =
        system_error("serve.trace", "open", file ? EISDIR : errno, "use a file with one request per line");
    error.place.file = path;
    return fail(std::move(error));
  }
  return std::make_unique<TraceSource>(std::move(file), path, share, block);
}

}  // namespace cortado::serve
