#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/parse_testing.hpp"

namespace cortado::internal {
namespace parse_test {

using testing::HasSubstr;

std::string sourced(const std::string& key, const std::string& value) {
  return key + " = { value = " + value + ", source = \"test\", confidence = \"D\" }";
}

TEST(ParseMachine, NamesTheLineOfBrokenToml) {
  const Diagnostic error = refusal("[machine]\nname = \n");
  EXPECT_EQ(error.code, "machine.toml");
  EXPECT_EQ(error.place.file, "test.toml");
  EXPECT_EQ(error.place.line, 2U);
}

// Cut within a value, the file is not TOML; cut between lines, it lacks something, unless all of that was optional.
TEST(ParseMachine, TruncatedFilesAreRefused) {
  const std::string text = text_of("mi300x-8");
  for (std::size_t at = text.find("source"); at != std::string::npos; at = text.find("source", at + 1)) {
    EXPECT_THAT(refusal(text.substr(0, at)).code, testing::StartsWith("machine.")) << at;
  }
  const std::size_t timing = text.find("\nrate_GBps");
  const std::size_t affinity = text.find("\n[affinity]");
  const std::size_t units = text.find("\ncollective_units");  // from here on what is left out may be
  const std::size_t compute = text.find("\ndies");
  const std::size_t types = text.find("\nf32_flops_per_clock");
  for (std::size_t at = text.find('\n'); at < types; at = text.find('\n', at + 1)) {
    if (at == timing || (at >= units && at < compute)) continue;
    EXPECT_THAT(refusal(text.substr(0, at)).code, testing::StartsWith("machine.")) << at;
  }
  EXPECT_FALSE(parse_machine(text.substr(0, units), "cut.toml")->timing->compute.has_value());
  EXPECT_EQ(parse_machine(text.substr(0, types), "cut.toml")->timing->compute->f32.flops_per_clock, 0U);
  EXPECT_EQ(refusal(text.substr(0, text.find("\nf16_clock_GHz"))).code, "machine.missing");
  EXPECT_FALSE(parse_machine(text.substr(0, timing), "cut.toml")->timing.has_value());
  EXPECT_TRUE(parse_machine(text.substr(0, affinity), "cut.toml")->affinity.empty());
}

TEST(ParseMachine, DeepNestingIsRefused) {
  EXPECT_EQ(refusal("a = " + std::string(100000, '[')).code, "machine.toml");
  std::string dotted = "a";
  for (int i = 0; i < 50000; ++i) dotted += ".a";
  for (const std::string& text : {dotted + " = 1", "[" + dotted + "]"}) {
    const Diagnostic error = refusal("# first line\n" + text);
    EXPECT_EQ(error.code, "machine.toml");
    EXPECT_EQ(error.place.line, 2U);
  }
}

TEST(ParseMachine, PartialTopologyIsAListOfPeersForEachGpu) {
  std::string text = text_of("mi355x-8");
  text = replaced(text, "gpus = { value = 8", "gpus = { value = 3");
  text = replaced(text, "value = \"full-mesh\"", "value = [[1], [0, 2], [1]]");
  const Result<Machine> machine = parse_machine(text, "ring.toml");
  ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
  EXPECT_EQ(machine->linked,
            (std::vector<std::vector<bool>>{{true, true, false}, {true, true, true}, {false, true, true}}));
}

TEST(ParseMachineRefusal, Values) {
  expect_refused(
      "mi300x-8",
      {{"value = 304", "value = 0", "machine.range", "machine.compute_units", "from 1 to 65536"},
       {"value = 304", "value = -304", "machine.range", "machine.compute_units", "is -304"},
       {"value = 304", "value = 304.0", "machine.type", "machine.compute_units", "not a whole number"},
       {"value = 304", "value = nan", "machine.type", "machine.compute_units", "is nan"},
       {"value = 304", "value = inf", "machine.type", "machine.compute_units", "is inf"},
       {"value = 304", "value = \"304\"", "machine.type", "machine.compute_units", "not a whole number"},
       {"value = 304", "value = 9223372036854775808", "machine.toml", "", ""},
       {"gpus = { value = 8", "gpus = { value = 100000", "machine.range", "machine.gpus", "to 1024"},
       {"value = \"MI300X\"", "value = \"\"", "machine.type", "machine.gpu", "non-empty"},
       {"\"mi300x-8\"", "\"MI300X 8\"", "machine.range", "machine.name", "a-z"},
       {"swap = { value = true", "swap = { value = 1", "machine.type", "features.swap", "true or false"},
       {"value = [0, 1]", "value = [0, 300]", "machine.range", "engines.host", "from 0 to 255"},
       {"value = [0, 1]", "value = [0, \"1\"]", "machine.type", "engines.host", "list of whole numbers"},
       {"value = [0, 1]", "value = 0", "machine.type", "engines.host", "list of whole numbers"},
       {"\"full-mesh\"", "\"torus\"", "machine.type", "links.topology", "full-mesh"},
       {"copy_dwords = { value = 7", "copy_dwords = { value = 65", "machine.range", "dma.copy_dwords", "to 64"}});
}

TEST(ParseMachineRefusal, Sources) {
  expect_refused(
      "mi300x-8",
      {{"absent = { value = [], source = \"AMD-DMA-Latte needs all 16 engines visible\",", "absent = { value = [],",
        "machine.source", "engines.absent.source", "has no source"},
       {"engines visible\", confidence = \"A\"", "engines visible\"", "machine.source", "engines.absent.confidence",
        "has no confidence"},
       {"engines visible\", confidence = \"A\"", "engines visible\", confidence = \"E\"", "machine.source",
        "engines.absent.confidence", "one of A"},
       {"engines visible\", confidence = \"A\"", "engines visible\", confidence = 1", "machine.source",
        "engines.absent.confidence", "must be a non-empty string"},
       {"value = [], ", "", "machine.missing", "engines.absent", "no value"},
       {"absent = { value = [], source = \"AMD-DMA-Latte needs all 16 engines visible\", confidence = \"A\" }",
        "absent = []", "machine.source", "engines.absent", "without a source"}});
}

TEST(ParseMachineRefusal, Keys) {
  expect_refused("mi300x-8",
                 {{"ring_bytes", "ring_byte", "machine.key", "dma.ring_byte", "did you mean ring_bytes?"},
                  {"[links]", "[link]", "machine.key", "link", "did you mean links?"},
                  {"[affinity]", "[afinity]", "machine.key", "afinity", "did you mean affinity?"},
                  {"value = 304", "valeu = 304", "machine.key", "machine.compute_units.valeu", "did you mean value?"},
                  {"title =", "colour =", "machine.key", "machine.colour", "known keys"}});
}

TEST(ParseMachineRefusal, Contradictions) {
  expect_refused(
      "mi300x-8",
      {{"value = 2097152", "value = 2097151", "machine.contradiction", "dma.ring_bytes", "1048576 or 2097152"},
       {"0x3fffffc0", "0x3fffffe0", "machine.contradiction", "dma.max_swap_bytes", "not a multiple"},
       {"swap_alignment = { value = 64", "swap_alignment = { value = 48", "machine.contradiction", "dma.swap_alignment",
        "power of two"},
       {"broadcast_alignment = { value = 32", "broadcast_alignment = { value = 8192", "machine.contradiction",
        "dma.broadcast_alignment", "no buffer could meet it"},
       {"value = 206141652992", "value = 4095", "machine.contradiction", "machine.memory_bytes", "one allocation"},
       {"value = [0, 1]", "value = [0, 0]", "machine.engine", "engines.host", "a second time"},
       {"value = [2, 3,", "value = [1, 3,", "machine.engine", "engines.peer", "lists engine 1 a second time"},
       {"value = []", "value = [16]", "machine.engine", "engines.absent", "neither host nor peer"},
       {"value = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]", "value = []", "machine.engine", "engines.peer",
        "no working engine"},
       {"\"full-mesh\"", "[[1], [0]]", "machine.contradiction", "links.topology", "2 lists of peers for 8 GPUs"},
       {"\"full-mesh\"", "[[8], [], [], [], [], [], [], []]", "machine.contradiction", "links.topology",
        "there are 8 GPUs"},
       {"\"full-mesh\"", "[[0], [], [], [], [], [], [], []]", "machine.contradiction", "links.topology",
        "its own peer"},
       {"\"full-mesh\"", "[[1, 1], [], [], [], [], [], [], []]", "machine.contradiction", "links.topology", "twice"}});
}

TEST(ParseMachineRefusal, Affinity) {
  expect_refused("mi300x-8",
                 {{"[-1, 14, 12,", "[-1, 1, 12,", "machine.contradiction", "affinity", "host engine"},
                  {"[-1, 14, 12,", "[-1, 16, 12,", "machine.contradiction", "affinity", "no such engine"},
                  {"[-1, 14, 12,", "[14, 14, 12,", "machine.contradiction", "affinity", "itself"},
                  {"[-1, 14, 12,", "[-1, 14,", "machine.contradiction", "affinity", "has 7 columns for 8 GPUs"},
                  {"[-1, 14, 12,", "[-1, -2, 12,", "machine.range", "affinity", "from -1 to 255"},
                  {"[affinity]\n# Row = source GPU, column = destination GPU, by xGMI physical id; -1 = none.\nvalue = "
                   "[\n  [-1, 14, 12,  2,  4,  8, 10,  6],",
                   "[affinity]\nvalue = [", "machine.contradiction", "affinity", "has 7 rows for 8 GPUs"}});
}

TEST(ParseMachine, AffinityMayNotNameAnAbsentEngine) {
  const Diagnostic error = refusal(replaced(text_of("mi300x-8"), "value = []", "value = [14]"));
  EXPECT_EQ(error.place.key, "affinity");
  EXPECT_THAT(error.message, HasSubstr("absent"));
}

TEST(ParseMachine, AffinityOfAnotherNumberOfGpusIsRefused) {
  const Diagnostic error = refusal(replaced(text_of("mi300x-8"), "gpus = { value = 8", "gpus = { value = 9"));
  EXPECT_THAT(error.message, HasSubstr("has 8 rows for 9 GPUs"));
}

TEST(ParseMachine, MissingKeysAndSectionsAreNamed) {
  std::string text = text_of("mi300x-8");
  const std::size_t from = text.find("ring_bytes");
  text.erase(from, text.find('\n', from) - from);
  const Diagnostic key = refusal(text);
  EXPECT_EQ(key.code, "machine.missing");
  EXPECT_EQ(key.place.key, "dma.ring_bytes");
  EXPECT_EQ(key.place.line, line_with(text, "[dma]"));

  const Diagnostic section = refusal("[machine]\nname = \"x\"\ntitle = \"x\"\n" + sourced("gpu", "\"x\"") + "\n" +
                                     sourced("gpus", "2") + "\n" + sourced("compute_units", "1") + "\n" +
                                     sourced("memory_bytes", "4096") + "\n" + sourced("allocation_alignment", "256"));
  EXPECT_EQ(section.code, "machine.missing");
  EXPECT_THAT(section.message, HasSubstr("[engines] is missing"));
}

TEST(ParseMachine, AFileMayBuildOnABuiltInMachine) {
  const Machine base = parse_machine(text_of("mi300x-8"), "base.toml").value();
  const Result<Machine> machine = parse_machine(
      "[machine]\nbase = \"mi300x-8\"\nname = \"half\"\ntitle = \"half a node\"\n"
      "[memory]\nrate_GBps = { value = 1234, source = \"s\", confidence = \"B\" }\n",
      "test.toml");
  ASSERT_TRUE(machine) << to_string(machine.error());
  EXPECT_EQ(machine->name, "half");
  EXPECT_EQ(machine->timing->memory.rate.value, 1234);
  EXPECT_EQ(machine->timing->memory.peak.value, base.timing->memory.peak.value);
  EXPECT_EQ(machine->affinity, base.affinity);
  EXPECT_EQ(machine->provenance.size(), base.provenance.size());
}

TEST(ParseMachineRefusal, LinesAreThoseOfTheFileAndNotOfItsBase) {
  const std::string head = "[machine]\nbase = \"mi300x-8\"\nname = \"x\"\ntitle = \"x\"\n[memory]\n";
  const Diagnostic own = refusal(head + "rate_GBps = { value = -1, source = \"s\", confidence = \"B\" }\n");
  EXPECT_EQ(own.place.key, "memory.rate_GBps");
  EXPECT_EQ(own.place.line, 6U);
  const Diagnostic unknown = refusal(head + "\n\nrate = { value = 1, source = \"s\", confidence = \"B\" }\n");
  EXPECT_EQ(unknown.place.key, "memory.rate");
  EXPECT_EQ(unknown.place.line, 8U);
  // What is wrong is the rate of the base, which has no line in this file.
  const Diagnostic of_base = refusal(head + "peak_GBps = { value = 1, source = \"s\", confidence = \"B\" }\n");
  EXPECT_EQ(of_base.place.key, "memory.rate_GBps");
  EXPECT_EQ(of_base.place.line, 0U);
}

TEST(ParseMachine, OnlyBuiltInMachinesWithoutABaseAreBuiltOn) {
  for (const char* base : {"mi300", "t3-ring-8", ""}) {
    const Diagnostic error = refusal(std::string("[machine]\nname = \"x\"\nbase = \"") + base + "\"\n");
    EXPECT_EQ(error.code, "machine.base") << base;
    EXPECT_EQ(error.place.line, 3U) << base;
  }
}

}  // namespace parse_test
}  // namespace cortado::internal
