#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "base/random.hpp"
#include "ir/command_table.hpp"

namespace cortado {
namespace json_test {

using testing::HasSubstr;

constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

/// One command of every kind, with every field away from its default.
std::vector<Command> every_command() {
  const Region plain = make_region({3}, {7}, {128});
  const Region strided{{4}, {0}, {16}, 8, {64}};
  return {
      Copy{plain, strided, CopyOp::add, DType::bf16},
      Broadcast{plain, strided, plain},
      Swap{plain, strided},
      Wait{{5}, kMax64, Compare::eq},
      Signal{{6}, 9, SignalOp::set},
      Gemm{strided,
           plain,
           strided,
           1,
           2,
           3,
           DType::i32,
           true,
           16,
           32,
           {{4, {1}, 2}, {8, {2}, 3}},
           5,
           {{1, 2, 3, 4, plain, CopyOp::add}, {5, 6, 7, 8, strided, CopyOp::store}}},
      Kernel{KernelOp::scatter_rows, {plain, strided}, plain, DType::f16, {2, 0, kMax64}},
      Call{Function::rope, {plain, strided}, plain, {64, kMax64}},
      Submit{{11}},
      Trigger{{12}, 13},
      Timestamp{"begin"},
  };
}

Program sample() {
  Program program;
  program.name = "sample";
  program.machine = "mi300x-8";
  program.ranks = 2;
  program.buffers = {{"in0", {0}, {1024}, BufferRole::input}, {"out1", {1}, {1024}, BufferRole::output}};
  program.signals = {{"done", {}}, {"ready", RankId{1}}};
  program.queues = {
      {"dma0", QueueKind::dma, RankId{0}, EngineId{14}, 0, {}, {Copy{}, Signal{}}},
      {"stream1", QueueKind::compute, RankId{1}, {}, -3, 38U, {}, "cores", 2},
      {.name = "host", .kind = QueueKind::host, .commands = {Submit{}, Wait{}}, .role = QueueRole::control}};
  program.trackers = {{"chunk0", make_region({1}, {16}, {64}), 3, {1}, 2},
                      {"chunk1", {{1}, {80}, {8}, 2, {16}}, 1, {0}}};
  program.contract = {"point-to-point", {{make_region({1}, {}, {8}), {make_region({0}, {}, {8})}, DType::u8}}};
  return program;
}

/// Fails the test if the text is not a program.
Program parsed(const std::string& text) {
  Result<Program> program = parse_program(text, "test.json");
  EXPECT_TRUE(program.has_value()) << to_string(program.error()) << "\n" << text;
  return program.value_or(Program{});
}

/// Fails the test if the text is a program.
Diagnostic refusal(const std::string& text) {
  const Result<Program> program = parse_program(text, "test.json");
  EXPECT_FALSE(program.has_value()) << text;
  return program.has_value() ? Diagnostic{} : program.error();
}

/// The sample as JSON with one piece of text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = to_json(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ProgramJson, HasOneLineABufferSignalCommandAndClause) {
  EXPECT_EQ(to_json(sample()), R"({
  "schema": "cortado.program",
  "version": 1,
  "name": "sample",
  "machine": "mi300x-8",
  "ranks": 2,
  "buffers": [
    {"name": "in0", "rank": 0, "size": 1024, "role": "input"},
    {"name": "out1", "rank": 1, "size": 1024, "role": "output"}
  ],
  "signals": [
    {"name": "done"},
    {"name": "ready", "home": 1}
  ],
  "trackers": [
    {"name": "chunk0", "region": {"buffer": 1, "offset": 16, "bytes": 64}, "updates": 3, "signal": 1, "value": 2},
    {"name": "chunk1", "region": {"buffer": 1, "offset": 80, "width": 8, "rows": 2, "pitch": 16}, "updates": 1, "signal": 0}
  ],
  "queues": [
    {"name": "dma0", "kind": "dma", "rank": 0, "engine": 14, "commands": [
      {"command": "copy", "src": {"buffer": 0, "offset": 0, "bytes": 0}, "dst": {"buffer": 0, "offset": 0, "bytes": 0}},
      {"command": "signal", "signal": 0, "value": 1}
    ]},
    {"name": "stream1", "kind": "compute", "rank": 1, "priority": -3, "compute_units": 38, "kernel": "cores", "calls": 2, "commands": []},
    {"name": "host", "kind": "host", "commands": [
      {"command": "submit", "queue": 0},
      {"command": "wait", "signal": 0, "value": 1}
    ]}
  ],
  "contract": {"name": "point-to-point", "clauses": [
    {"output": {"buffer": 1, "offset": 0, "bytes": 8}, "terms": [{"buffer": 0, "offset": 0, "bytes": 8}]}
  ]}
}
)");
}

TEST(ProgramJson, EveryCommandOfTheTableRoundTrips) {
  const std::vector<Command> commands = every_command();
  ASSERT_EQ(commands.size(), kCommandTable.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    ASSERT_EQ(commands[i].index(), i) << "one command of every kind, in the order of the table";
    Program program = sample();
    program.queues[0].commands = {commands[i]};
    const std::string text = to_json(program);
    EXPECT_THAT(text, HasSubstr("{\"command\": \"" + std::string(kCommandTable[i].name) + "\""));
    EXPECT_EQ(parsed(text), program) << text;
  }
}

TEST(ProgramJson, ProductsHaveOneLineAClause) {
  Program program = sample();
  const Region a{{0}, {0}, {4}, 2, {8}};
  const Region b{{0}, {64}, {3}, 4, {3}};
  const Region c{{1}, {0}, {3}, 4, {3}};
  program.contract.products = {{c, {{{a, a}, b}}, DType::f8}, {c, {{{a, a}, b}, {{a, a}, b}}, DType::bf16}};
  const std::string text = to_json(program);
  EXPECT_THAT(text,
              HasSubstr(R"(], "products": [
    {"output": {"buffer": 1, "offset": 0, "width": 3, "rows": 4, "pitch": 3}, "products": [{"a": [{"buffer": 0, )"
                        R"("offset": 0, "width": 4, "rows": 2, "pitch": 8}, {"buffer": 0, "offset": 0, "width": 4, )"
                        R"("rows": 2, "pitch": 8}], "b": {"buffer": 0, "offset": 64, "width": 3, "rows": 4, )"
                        R"("pitch": 3}}], "dtype": "f8"},
)"));
  EXPECT_EQ(parsed(text), program);
}

TEST(ParseDtype, TakesTheUsualNames) {
  for (const DType dtype : {DType::u8, DType::i32, DType::f16, DType::bf16, DType::f32, DType::f8}) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("fp32"), DType::f32);
  EXPECT_EQ(parse_dtype("fp16"), DType::f16);
  EXPECT_EQ(parse_dtype("fp8"), DType::f8);
  EXPECT_FALSE(parse_dtype("fp64").has_value());
}

TEST(ProgramJson, NumbersBeyondDoublePrecisionAreExact) {
  Program program = sample();
  program.buffers[0].size = {kMax64};
  program.buffers[1].size = {(1ULL << 53) + 1};  // the first whole number that a double cannot hold
  EXPECT_EQ(parsed(to_json(program)), program);
}

TEST(ProgramJson, OneRowWithAPitchKeepsIt) {
  Program program = sample();
  program.queues[0].commands = {Swap{{{0}, {0}, {8}, 1, {64}}, {{0}, {0}, {8}, 0, {}}}};
  EXPECT_EQ(parsed(to_json(program)), program);
}

TEST(ProgramJson, NamesMayHoldAnyText) {
  Program program = sample();
  program.name = "quote \" backslash \\ newline \n tab \t bell \x07 del \x7f slash /";
  program.machine = "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x98\x80";
  program.buffers[0].name = std::string("zero \0 byte", 11);
  program.buffers[1].name = "";
  EXPECT_EQ(parsed(to_json(program)), program);
}

TEST(ProgramJson, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  Program program = sample();
  program.name = "a\xff\xc3";
  EXPECT_EQ(parsed(to_json(program)).name, "a\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(ProgramJson, WritingWhatWasReadIsCanonical) {
  const std::string canonical = to_json(sample());
  std::string loose;  // keys in another order, defaults written out, no line breaks
  for (const char c : changed("{\"command\": \"signal\", \"signal\": 0, \"value\": 1}",
                              "{\"op\": \"add\", \"value\": 1, \"signal\": 0, \"command\": \"signal\"}")) {
    if (c != '\n') loose += c;
  }
  ASSERT_NE(loose, canonical);
  EXPECT_EQ(to_json(parsed(loose)), canonical);
}

/// A meaningless program of random shape whose numbers, names and optionals often take extreme values.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

  Program make() {
    Program program{text(), text(), static_cast<std::uint32_t>(random_.below(65537)), {}, {}, {}, {text(), {}}};
    repeat([&] { program.buffers.push_back({text(), {id()}, {number()}, pick<BufferRole>(4)}); });
    repeat([&] { program.signals.push_back({text(), maybe<RankId>()}); });
    repeat([&] {
      Queue queue{text(), pick<QueueKind>(3), maybe<RankId>(), maybe<EngineId>(), static_cast<std::int32_t>(id()), {},
                  {}};
      if (random_.chance(2)) queue.compute_units = id();
      queue.protocol = pick<Protocol>(6);
      queue.chunk = {number()};
      repeat([&] { queue.commands.push_back(command()); });
      program.queues.push_back(std::move(queue));
    });
    repeat([&] { program.contract.clauses.push_back({region(), regions(), dtype()}); });
    repeat([&] {
      ProductClause clause{region(), {}, dtype()};
      repeat([&] { clause.products.push_back({regions(), region()}); });
      program.contract.products.push_back(std::move(clause));
    });
    return program;
  }

 private:
  template <class F>
  void repeat(F f) {
    for (std::uint64_t n = random_.below(5); n > 0; --n) f();
  }

  std::uint64_t number() { return random_.chance(4) ? kMax64 - random_.below(2) : random_.next() >> random_.below(64); }
  std::uint32_t id() { return static_cast<std::uint32_t>(number()); }

  template <class E>
  E pick(std::uint64_t count) {
    return static_cast<E>(random_.below(count));
  }
  DType dtype() { return pick<DType>(6); }

  template <class T>
  std::optional<T> maybe() {
    if (random_.chance(2)) return std::nullopt;
    return T{id()};
  }

  std::string text() {
    std::string result;
    repeat([&] { result += static_cast<char>(random_.below(128)); });
    return result;
  }

  Region region() {
    if (random_.chance(2)) return make_region({id()}, {number()}, {number()});
    return {{id()}, {number()}, {number()}, number(), {number()}};
  }

  std::vector<Region> regions() {
    std::vector<Region> result;
    repeat([&] { result.push_back(region()); });
    return result;
  }

  Command command() {
    switch (random_.below(kCommandTable.size())) {
      case 0:
        return Copy{region(), region(), pick<CopyOp>(2), dtype()};
      case 1:
        return Broadcast{region(), region(), region()};
      case 2:
        return Swap{region(), region()};
      case 3:
        return Wait{{id()}, number(), pick<Compare>(2)};
      case 4:
        return Signal{{id()}, number(), pick<SignalOp>(2)};
      case 5: {
        Gemm gemm{region(), region(),          region(), number(), number(), number(),
                  dtype(),  random_.chance(2), number(), number(), {}};
        repeat([&] { gemm.raises.push_back({number(), {id()}, number()}); });
        gemm.split_k = number();
        return gemm;
      }
      case 6: {
        Kernel kernel{pick<KernelOp>(3), regions(), region(), dtype(), {}};
        repeat([&] { kernel.rows.push_back(number()); });
        kernel.also = regions();
        return kernel;
      }
      case 7:
        return Submit{{id()}};
      case 8:
        return Trigger{{id()}, number()};
      default:
        return Timestamp{text()};
    }
  }

  Random random_;
};

TEST(ProgramJson, RandomProgramsRoundTrip) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Program program = RandomProgram(seed).make();
    const std::string text = to_json(program);
    const Result<Program> again = parse_program(text);
    ASSERT_TRUE(again.has_value()) << "seed " << seed << ": " << to_string(again.error());
    ASSERT_EQ(*again, program) << "seed " << seed << "\n" << text;
    ASSERT_EQ(to_json(*again), text) << "seed " << seed;
  }
}

TEST(ProgramJsonRefusal, NamesLineAndColumnOfBrokenJson) {
  const Diagnostic error = refusal("{\n  \"schema\": \"cortado.program\",\n  \"version\": ,\n}");
  EXPECT_EQ(error.code, "program.json");
  EXPECT_EQ(error.place.file, "test.json");
  EXPECT_EQ(error.place.line, 3U);
  EXPECT_THAT(error.message, HasSubstr("column 14"));  // two spaces, "version": is ten, a space: the comma is the 14th
}

TEST(ProgramJsonRefusal, EveryTruncationIsRefused) {
  const std::string text = to_json(sample());
  const std::size_t last = text.rfind('}');
  for (std::size_t size = 0; size <= last; ++size) EXPECT_EQ(refusal(text.substr(0, size)).code, "program.json");
}

TEST(ProgramJsonRefusal, HundredThousandBracketsAreRefusedNotFollowed) {
  EXPECT_THAT(refusal(std::string(100000, '[')).message, HasSubstr("nested deeper"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(objects).message, HasSubstr("nested deeper"));
}

struct Case {
  std::string from;
  std::string to;
  std::string code;
  std::string key;
  std::string message;
};

/// Expects every case to be rejected with its code, place and reason.
void expect_refused(const std::vector<Case>& cases) {
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.from + " -> " + wrong.to);
    const Diagnostic error = refusal(changed(wrong.from, wrong.to));
    EXPECT_EQ(error.code, wrong.code);
    EXPECT_EQ(error.place.key, wrong.key);
    EXPECT_EQ(error.place.file, "test.json");
    EXPECT_THAT(error.message + " | " + error.hint, HasSubstr(wrong.message));
  }
}

const std::string kCopySrc = "\"src\": {\"buffer\": 0, \"offset\": 0, \"bytes\": 0}";

TEST(ProgramJsonRefusal, Document) {
  expect_refused({{"cortado.program", "other", "program.schema", "schema", "is \"other\""},
                  {"\"schema\": \"cortado.program\",", "", "program.schema", "schema", "missing"},
                  {"\"version\": 1,", "", "program.schema", "version", "missing"},
                  {"\"version\": 1", "\"version\": 2", "program.schema", "version",
                   "version 2 is newer than this Cortado, which reads 1"},
                  {"\"version\": 1", "\"version\": 0", "program.schema", "version", "is 0, not 1"},
                  {"\"version\": 1", "\"version\": -1", "program.schema", "version", "is -1"},
                  {"\"version\": 1", "\"version\": 1.0", "program.schema", "version", "is 1.0"},
                  {"\"version\": 1", "\"version\": \"1\"", "program.schema", "version", "is \"1\""},
                  {"\"ranks\": 2", "\"ranks\": 2, \"ranks\": 3", "program.json", "", "\"ranks\" appears twice"},
                  {"\"name\": \"sample\"", "\"name\": \"\xff\"", "program.json", "", "ill-formed UTF-8"},
                  {"  ]}\n}", "  ]}\n} 1", "program.json", "", "column 3"}});
}

TEST(ProgramJsonRefusal, Values) {
  expect_refused(
      {{"\"ranks\": 2", "\"ranks\": -2", "program.key", "ranks", "is -2"},
       {"\"ranks\": 2", "\"ranks\": 2.0", "program.key", "ranks", "is 2.0"},
       {"\"ranks\": 2", "\"ranks\": 2e3", "program.key", "ranks", "is 2000.0"},
       {"\"ranks\": 2", "\"ranks\": \"2\"", "program.key", "ranks", "is \"2\""},
       {"\"ranks\": 2", "\"ranks\": null", "program.key", "ranks", "is null"},
       {"\"ranks\": 2", "\"ranks\": true", "program.key", "ranks", "is true"},
       {"\"ranks\": 2", "\"ranks\": 65537", "program.key", "ranks", "at most 65536"},
       {"\"ranks\": 2", "\"ranks\": 4294967296", "program.key", "ranks", "to 4294967295"},
       {"\"size\": 1024", "\"size\": 18446744073709551616", "program.key", "buffers[0].size",
        "to 18446744073709551615"},
       {"\"size\": 1024", "\"size\": -1", "program.key", "buffers[0].size", "is -1"},
       {"\"priority\": -3", "\"priority\": -2147483649", "program.key", "queues[1].priority", "from -2147483648"},
       {"\"rank\": 0", "\"rank\": {}", "program.key", "buffers[0].rank", "is an object"},
       {"\"home\": 1", "\"home\": null", "program.key", "signals[1].home", "is null"},
       {"\"role\": \"input\"", "\"role\": \"inptu\"", "program.key", "buffers[0].role", "did you mean input?"},
       {"\"name\": \"done\"", "\"name\": 1", "program.key", "signals[0].name", "not a string"},
       {"\"clauses\": [", "\"clauses\": 0, \"x\": [", "program.key", "contract.clauses", "not a list"}});
}

TEST(ProgramJsonRefusal, Keys) {
  expect_refused(
      {{"\"ranks\": 2", "\"rnaks\": 2", "program.key", "rnaks", "did you mean ranks?"},
       {"  \"ranks\": 2,\n", "", "program.key", "ranks", "missing"},
       {"\"offset\": 0, \"bytes\": 0}", "\"bytes\": 0}", "program.key", "queues[0].commands[0].src.offset", "missing"},
       {kCopySrc, "\"src\": {\"buffer\": 0, \"offset\": 0}", "program.key", "queues[0].commands[0].src.bytes",
        "missing"},
       {kCopySrc, "\"src\": {\"buffer\": 0, \"offset\": 0, \"width\": 1, \"rows\": 2}", "program.key",
        "queues[0].commands[0].src.pitch", "missing"},
       {kCopySrc, "\"src\": {\"buffer\": 0, \"offset\": 0, \"bytes\": 1, \"rows\": 2}", "program.key",
        "queues[0].commands[0].src.rows", "unknown key"},
       {kCopySrc, "\"src\": 3", "program.key", "queues[0].commands[0].src", "not an object"},
       {"\"command\": \"copy\"", "\"command\": \"coppy\"", "program.key", "queues[0].commands[0].command",
        "did you mean copy?"},
       {"\"command\": \"copy\", ", "", "program.key", "queues[0].commands[0].command", "missing"},
       {"\"command\": \"submit\", \"queue\": 0", "\"command\": \"submit\", \"queue\": 0, \"value\": 1", "program.key",
        "queues[2].commands[0].value", "unknown key"}});
}

TEST(ProgramJsonRefusal, WhatIsNotAProgramIsSaidToBeNone) {
  for (const char* text : {"[]", "null", "3", "\"x\"", "{}"}) EXPECT_EQ(refusal(text).code, "program.schema") << text;
  EXPECT_EQ(refusal("").message, "the text is empty");
  EXPECT_EQ(refusal("\xff\xfe").code, "program.json");
}

}  // namespace json_test
}  // namespace cortado
