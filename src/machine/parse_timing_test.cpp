#include "machine/parse_testing.hpp"

namespace cortado::internal {
namespace parse_timing_test {

using testing::HasSubstr;

Machine parsed(const std::string& text) {
  Result<Machine> machine = parse_machine(text, "test.toml");
  EXPECT_TRUE(machine.has_value()) << to_string(machine.error());
  return machine.value_or(Machine{});
}

/// The text without the lines from the one that starts with `from` up to the one that starts with `to`.
std::string without(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find("\n" + from) + 1;
  const std::size_t end = to.empty() ? text.size() : text.find("\n" + to, begin) + 1;
  return text.substr(0, begin) + text.substr(end);
}

// The numbers are those of machines/virtual-64.toml.
TEST(ParseTiming, EveryKeyHasItsField) {
  const Timing timing = parsed(text_of("virtual-64")).timing.value();
  EXPECT_EQ(timing.host.packet.value, 50);
  EXPECT_EQ(timing.host.submit.value, 500);
  EXPECT_EQ(timing.host.trigger.value, 100);
  EXPECT_EQ(timing.host.poll.value, 20);
  EXPECT_EQ(timing.host.signal.value, 100);
  EXPECT_EQ(timing.engine.fetch.value, 1000);
  EXPECT_EQ(timing.engine.wake.value, 1000);
  EXPECT_EQ(timing.engine.copy_start.value, 1000);
  EXPECT_EQ(timing.engine.copy_issue.value, 500);
  EXPECT_EQ(timing.engine.copies_in_flight, 2U);
  EXPECT_EQ(timing.engine.sync.value, 1000);
  EXPECT_EQ(timing.engine.rate.value, 50);
  EXPECT_EQ(timing.engine.broadcast_rate.value, 50);
  EXPECT_EQ(timing.engine.local_rate.value, 100);
  EXPECT_EQ(timing.link.rate.value, 50);
  EXPECT_EQ(timing.link.peak.value, 50);
  EXPECT_EQ(timing.link.latency.value, 500);
  EXPECT_EQ(timing.memory.peak.value, 5000);
  EXPECT_EQ(timing.memory.rate.value, 4000);
  EXPECT_EQ(timing.memory.cache_bytes, 256_MiB);
  EXPECT_EQ(timing.memory.cache_rate.value, 10000);
  EXPECT_EQ(timing.cores.launch.value, 5000);
  EXPECT_EQ(timing.cores.start.value, 2000);
  EXPECT_EQ(timing.cores.flag.value, 1000);
  EXPECT_EQ(timing.cores.copy_rate.value, 10);
  EXPECT_EQ(timing.cores.local_rate.value, 40);
  EXPECT_EQ(timing.cores.wire_efficiency, 1);
}

TEST(ParseTiming, SharpnessMayBeLeftOut) {
  const std::string text = text_of("virtual-64");
  EXPECT_EQ(parsed(text).timing->cores.sharpness, 0);
  const std::string given =
      "sharpness = { value = 2.5, source = \"test\", confidence = \"assumption\" }\nwire_efficiency";
  EXPECT_EQ(parsed(replaced(text, "wire_efficiency", given)).timing->cores.sharpness, 2.5);
  EXPECT_EQ(refusal(replaced(replaced(text, "wire_efficiency", given), "value = 2.5", "value = 0.5")).code,
            "machine.range");
}

// virtual-64 has the same clock for all element types; here each key has a number of its own.
TEST(ParseTiming, EveryKeyOfProductsHasItsField) {
  std::string text = text_of("virtual-64");
  const std::pair<const char*, const char*> changes[] = {
      {"operand_cost = { value = 0", "operand_cost = { value = 12.5"},
      {"thrash_ramp = { value = 0.25", "thrash_ramp = { value = 0.2"},
      {"fabric_products = { value = 0", "fabric_products = { value = 0.7"},
      {"fabric_links = { value = 0", "fabric_links = { value = 0.6"},
      {"fabric_cores = { value = 1", "fabric_cores = { value = 1.5"},
      {"bf16_clock_GHz = { value = 1", "bf16_clock_GHz = { value = 1.2"},
      {"bf16_efficiency = { value = 1", "bf16_efficiency = { value = 0.9"}};
  for (const auto& [from, to] : changes) text = replaced(text, from, to);
  const Timing timing = parsed(text).timing.value();
  EXPECT_EQ(timing.cores.collective_units, 64U);
  const ComputeTiming compute = timing.compute.value();
  EXPECT_EQ(compute.dies, 8U);
  EXPECT_EQ(compute.l2_bytes, 4_MiB);
  EXPECT_EQ(compute.l2_rate.value, 4000);
  EXPECT_EQ(compute.unit_rate.value, 40);
  EXPECT_EQ(compute.operand_cost, 12.5);
  EXPECT_EQ(compute.tile_overhead.value, 1000);
  EXPECT_EQ(compute.stream_window, 128_KiB);
  EXPECT_EQ(compute.thrash_ramp, 0.2);
  EXPECT_EQ(compute.fabric_products, 0.7);
  EXPECT_EQ(compute.fabric_links, 0.6);
  EXPECT_EQ(compute.fabric_cores, 1.5);
  EXPECT_EQ(compute.f32.flops_per_clock, 256U);
  EXPECT_EQ(compute.f16.flops_per_clock, 2048U);
  EXPECT_EQ(compute.bf16.flops_per_clock, 2048U);
  EXPECT_EQ(compute.bf16.clock_ghz, 1.2);
  EXPECT_EQ(compute.bf16.efficiency, 0.9);
  EXPECT_EQ(compute.f8.flops_per_clock, 4096U);
}

TEST(ParseTiming, KeysOfKernelsMayBeLeftOut) {
  const ComputeTiming plain = parsed(text_of("virtual-64")).timing->compute.value();
  EXPECT_EQ(plain.start.value, 0);
  EXPECT_EQ(plain.wave_rounding, 1);
  EXPECT_EQ(plain.overlap_sharpness, 0);
  EXPECT_EQ(plain.tile_sides, (std::vector<std::uint32_t>{32, 64, 128, 256}));
  const ComputeTiming fitted = parsed(text_of("h100-8")).timing->compute.value();
  EXPECT_EQ(fitted.start.value, 2700);
  EXPECT_EQ(fitted.step_latency_ns, 1.3);
  EXPECT_EQ(fitted.stream_window.value, 0U);
  EXPECT_EQ(fitted.anchor_sides, (std::vector<std::uint32_t>{64, 128, 256}));
  EXPECT_EQ(fitted.most_tile, 32768U);
  EXPECT_EQ(fitted.splits.back(), 32U);
  EXPECT_EQ(parsed(text_of("h100-8")).power->burst_ms, 60);
}

/// virtual-64 as a node whose engines are software and whose GPUs share one memory.
std::string node_text() {
  std::string text = replaced(text_of("virtual-64"), "copies_in_flight = { value = 2",
                              "threads = { value = 3, source = \"s\", confidence = \"B\" }\n"
                              "copies_in_flight = { value = 1");
  return replaced(text, "\n[memory]\n",
                  "\n[memory]\n"
                  "node_cache_bytes = { value = [1000, 2000], source = \"s\", confidence = \"B\" }\n"
                  "node_rate_GBps = { value = [20, 10.5], source = \"s\", confidence = \"B\" }\n");
}

TEST(ParseTiming, SoftwareEnginesAndSharedMemory) {
  const Machine machine = parsed(node_text());
  EXPECT_EQ(machine.timing->engine.threads, 3U);
  EXPECT_EQ(machine.timing->memory.node, (std::vector<NodeLevel>{{Bytes{1000}, GBps{20}}, {Bytes{2000}, GBps{10.5}}}));
  const auto fact = std::find_if(machine.provenance.begin(), machine.provenance.end(),
                                 [](const Provenance& p) { return p.key == "memory.node_rate_GBps"; });
  ASSERT_NE(fact, machine.provenance.end());
  EXPECT_EQ(fact->value, "[20, 10.5]");

  const Timing hardware = parsed(text_of("virtual-64")).timing.value();
  EXPECT_EQ(hardware.engine.threads, 0U);
  EXPECT_TRUE(hardware.memory.node.empty());
}

TEST(ParseTimingRefusal, SoftwareEnginesAndSharedMemory) {
  const auto expect_bad = [](const std::string& from, const std::string& to, const std::string& code,
                             const std::string& key, const std::string& message) {
    const Diagnostic error = refusal(replaced(node_text(), from, to));
    EXPECT_EQ(error.code, code) << to_string(error);
    EXPECT_EQ(error.place.key, key);
    EXPECT_THAT(to_string(error), HasSubstr(message));
  };
  expect_bad("threads = { value = 3", "threads = { value = 0", "machine.range", "engine_timing.threads", "from 1 to");
  expect_bad("copies_in_flight = { value = 1", "copies_in_flight = { value = 2", "machine.contradiction",
             "engine_timing.copies_in_flight", "one copy at a time");
  expect_bad("[1000, 2000]", "[2000, 1000]", "machine.contradiction", "memory.node_cache_bytes", "ascending");
  expect_bad("[1000, 2000]", "[-1, 2000]", "machine.range", "memory.node_cache_bytes", "has -1");
  expect_bad("[1000, 2000]", "[1000]", "machine.contradiction", "memory.node_rate_GBps", "2 rates for 1 values");
  expect_bad("[20, 10.5]", "[20, 0]", "machine.range", "memory.node_rate_GBps", "has 0");
  expect_bad("[20, 10.5]", "[20, nan]", "machine.range", "memory.node_rate_GBps", "has nan");
  expect_bad("[20, 10.5]", "20", "machine.type", "memory.node_rate_GBps", "not a list of numbers");
  expect_bad("[20, 10.5]", "[20, \"10\"]", "machine.type", "memory.node_rate_GBps", "not a list of numbers");
  expect_bad("node_rate_GBps", "# ", "machine.missing", "memory.node_rate_GBps", "missing");
}

// The smallest tile of h100-8 is 64 x 16.
TEST(ParseTimingRefusal, NoTileForGemms) {
  const auto with = [](const std::string& key, const std::string& value) {
    std::string text = text_of("h100-8");
    const std::size_t begin = text.find("\n" + key + " = { value = ") + 1;
    const std::size_t end = text.find(", source", begin);
    return text.replace(begin, end - begin, std::string(key).append(" = { value = ").append(value));
  };
  const auto expect_bad = [&](const std::string& key, const std::string& value, const std::string& message) {
    const Diagnostic error = refusal(with(key, value));
    EXPECT_EQ(error.code, "machine.contradiction") << to_string(error);
    EXPECT_EQ(error.place.key, "compute." + key);
    EXPECT_GT(error.place.line, 0U);
    EXPECT_THAT(to_string(error), HasSubstr(message));
  };
  expect_bad("tile_sides", "[]", "is an empty list");
  expect_bad("anchor_sides", "[]", "is an empty list");
  expect_bad("anchor_sides", "[640]", "has none of the values of compute.tile_sides");
  expect_bad("most_tile", "1000",
             "is 1000, but the smallest tile of compute.tile_sides and compute.anchor_sides is "
             "64 x 16 (hint: use at least 1024)");
  EXPECT_EQ(parsed(with("most_tile", "1024")).name, "h100-8");
  EXPECT_EQ(parsed(with("most_tile", "3276")).name, "h100-8");
  EXPECT_EQ(parsed(with("anchor_sides", "[640, 128, 256]")).name, "h100-8");
  EXPECT_EQ(parsed(with("tile_sides", "[64]")).name, "h100-8");
  EXPECT_EQ(refusal(with("tile_sides", "[16]")).place.key, "compute.anchor_sides");
}

/// Engines 0 to 15.
TEST(ParseTimingRefusal, EnginesOfTheHostLink) {
  const auto expect_bad = [](const std::string& from, const std::string& to, const std::string& key,
                             const std::string& message) {
    const Diagnostic error = refusal(replaced(text_of("mi300x-8"), from, to));
    EXPECT_EQ(error.code, "machine.contradiction") << to_string(error);
    EXPECT_EQ(error.place.key, "host_link." + key);
    EXPECT_THAT(to_string(error), HasSubstr(message));
  };
  expect_bad("[0, 2, 4, 6, 5, 1, 7, 3]", "[99]", "engines_to_gpu", "names engine 99, which the machine does not have");
  expect_bad("[0, 2, 4, 6, 5, 1, 7, 3]", "[]", "engines_to_gpu", "names no engine");
  expect_bad("[0, 2, 4, 6, 5, 1, 7, 3]", "[0, 2, 0]", "engines_to_gpu", "names engine 0 twice");
  expect_bad("[1, 2, 4, 6, 5, 7, 0, 3]", "[16]", "engines_from_gpu", "names engine 16");
  expect_bad("[8, 9, 10, 11, 12, 13, 14, 15]", "[8, 99]", "slow_engines", "names engine 99");
  EXPECT_EQ(parsed(replaced(text_of("mi300x-8"), "[8, 9, 10, 11, 12, 13, 14, 15]", "[]")).name, "mi300x-8");
}

TEST(ParseTiming, EnginesOffTheAffinityTable) {
  EXPECT_EQ(parsed(text_of("mi300x-8")).timing->engine.detour_rate.value, 161);
  EXPECT_EQ(parsed(text_of("mi325x-8")).timing->engine.detour_rate.value, 0);
  const Diagnostic error =
      refusal(replaced(text_of("mi300x-8"), "detour_rate_GBps = { value = 161", "detour_rate_GBps = { value = 0"));
  EXPECT_EQ(error.code, "machine.range");
  EXPECT_EQ(error.place.key, "engine_timing.detour_rate_GBps");
}

TEST(ParseTiming, ArbitrationStagesAndUpdates) {
  const Timing timing = parsed(text_of("t3-ring-16")).timing.value();
  EXPECT_EQ(timing.memory.update_cost, 2);
  ASSERT_TRUE(timing.memory.arbitration);
  EXPECT_EQ(timing.memory.arbitration->policy, ArbitrationPolicy::round_robin);
  EXPECT_EQ(timing.memory.arbitration->thresholds, (std::vector<std::uint32_t>{5, 10, 30, 64}));
  EXPECT_EQ(timing.memory.arbitration->intensities.size(), 3U);
  ASSERT_TRUE(timing.compute->stages);
  EXPECT_GT(timing.compute->stages->cache_ways, 0U);

  const Timing plain = parsed(text_of("mi300x-8")).timing.value();
  EXPECT_EQ(plain.memory.update_cost, 1);
  EXPECT_FALSE(plain.memory.arbitration);
  EXPECT_FALSE(plain.compute->stages);
}

TEST(ParseTimingRefusal, ArbitrationStagesAndUpdates) {
  expect_refused(
      "t3-ring-16",
      {{"policy = { value = \"round-robin\"", "policy = { value = \"random\"", "machine.range", "arbitration.policy",
        "round-robin, compute-first or mca"},
       {"[5, 10, 30, 64]", "[5, 10, 64]", "machine.contradiction", "arbitration.thresholds", "3 values for 3"},
       {"[5, 10, 30, 64]", "[5, 10, 30, 65]", "machine.range", "arbitration.thresholds", "65"},
       {"read_share = { value = ", "read_share = { value = 1", "machine.range", "stages.read_share", "1"},
       {"cache_ways = { value = ", "cache_ways = { value = -", "machine.range", "stages.cache_ways", ""},
       {"entries = { value = 256", "entries = { value = 0", "machine.range", "tracker.entries", ""},
       {"update_cost = { value = 2", "update_cost = { value = 0", "machine.range", "memory.update_cost", ""}});
  // Descending classes, and a cost of what the memory cannot do.
  const auto error = refusal(replaced(text_of("mi300x-8"), "\n[memory]\n",
                                      "\n[memory]\nupdate_cost = { value = 2, source = \"s\", confidence = \"B\" }\n"));
  EXPECT_EQ(error.code, "machine.contradiction");
  EXPECT_EQ(error.place.key, "memory.update_cost");
}

TEST(ParseTiming, RatesMayBeDecimalAndTimesAreRounded) {
  std::string text = replaced(text_of("virtual-64"), "packet_ns = { value = 50", "packet_ns = { value = 52.6");
  text = replaced(text, "rate_GBps = { value = 50", "rate_GBps = { value = 45.25");
  const Timing timing = parsed(text).timing.value();
  EXPECT_EQ(timing.host.packet.value, 53);
  EXPECT_EQ(timing.link.rate.value, 45.25);
}

TEST(ParseTiming, AFileWithoutAnyIsAMachineWithoutTiming) {
  EXPECT_FALSE(parsed(text_of("mi308x-8")).timing.has_value());
  EXPECT_FALSE(parsed(without(without(text_of("virtual-64"), "rate_GBps", "[host]"), "[host]", "")).timing.has_value());
}

TEST(ParseTiming, WithoutCacheOrBroadcastTheirRatesAreZero) {
  const Timing timing = parsed(text_of("h100-8")).timing.value();
  EXPECT_EQ(timing.memory.cache_bytes.value, 0U);
  EXPECT_EQ(timing.memory.cache_rate.value, 0);
  EXPECT_EQ(timing.engine.broadcast_rate.value, 0);
}

TEST(ParseTimingRefusal, SomePartsWithoutOthers) {
  const std::string good = text_of("virtual-64");
  const Diagnostic cores = refusal(without(good, "[cores]", ""));
  EXPECT_EQ(cores.code, "machine.missing");
  EXPECT_EQ(cores.place.key, "host");
  EXPECT_EQ(cores.place.line, line_with(good, "[host]"));
  EXPECT_THAT(cores.message, testing::EndsWith("but not [cores]"));
  EXPECT_THAT(cores.hint, HasSubstr("or none"));

  const Diagnostic most = refusal(without(good, "[host]", "[memory]"));
  EXPECT_EQ(most.place.key, "links.rate_GBps");
  EXPECT_EQ(most.place.line, line_with(good, "rate_GBps"));
  EXPECT_THAT(most.message, testing::EndsWith("but not [host], [engine_timing]"));

  const Diagnostic links = refusal(without(good, "rate_GBps", "[host]"));
  EXPECT_THAT(links.message, testing::EndsWith("but not the rates of [links]"));

  const Diagnostic products = refusal(without(good, "rate_GBps", "[compute]"));
  EXPECT_EQ(products.place.key, "compute");
  EXPECT_THAT(products.message, HasSubstr("has timing in [compute], but not [host], [engine_timing]"));
}

TEST(ParseTimingRefusal, MissingKeys) {
  const std::string good = text_of("virtual-64");
  const auto expect_missing = [&good](const std::string& line, const std::string& section, const std::string& key) {
    const Diagnostic error = refusal(replaced(good, "\n" + line, "\n# " + line));
    EXPECT_EQ(error.code, "machine.missing") << to_string(error);
    EXPECT_EQ(error.place.key, key);
    EXPECT_EQ(error.place.line, line_with(good, section));
  };
  expect_missing("submit_ns", "[host]", "host.submit_ns");
  expect_missing("wake_ns", "[engine_timing]", "engine_timing.wake_ns");
  expect_missing("broadcast_rate_GBps", "[engine_timing]", "engine_timing.broadcast_rate_GBps");
  expect_missing("rate_GBps", "[links]", "links.rate_GBps");
  expect_missing("latency_ns", "[links]", "links.latency_ns");
  expect_missing("cache_rate_GBps", "[memory]", "memory.cache_rate_GBps");
  expect_missing("wire_efficiency", "[cores]", "cores.wire_efficiency");
  expect_missing("thrash_ramp", "[compute]", "compute.thrash_ramp");
  expect_missing("bf16_clock_GHz", "[compute]", "compute.bf16_clock_GHz");
}

TEST(ParseTimingRefusal, Values) {
  expect_refused(
      "virtual-64",
      {{"packet_ns = { value = 50", "packet_ns = { value = 0", "machine.range", "host.packet_ns", "from 1 to"},
       {"packet_ns = { value = 50", "packet_ns = { value = -50", "machine.range", "host.packet_ns", "is -50"},
       {"packet_ns = { value = 50", "packet_ns = { value = 0.4", "machine.range", "host.packet_ns", "is 0.4"},
       {"packet_ns = { value = 50", "packet_ns = { value = nan", "machine.range", "host.packet_ns", "is nan"},
       {"packet_ns = { value = 50", "packet_ns = { value = 2000000000", "machine.range", "host.packet_ns",
        "1000000000"},
       {"packet_ns = { value = 50", "packet_ns = { value = \"50\"", "machine.type", "host.packet_ns", "not a number"},
       {"packet_ns = { value = 50", "packet_ns = { value = [50]", "machine.type", "host.packet_ns", "not a number"},
       {"rate_GBps = { value = 50", "rate_GBps = { value = 0", "machine.range", "links.rate_GBps", "from 0.001 to"},
       {"rate_GBps = { value = 50", "rate_GBps = { value = inf", "machine.range", "links.rate_GBps", "is inf"},
       {"rate_GBps = { value = 50", "rate_GBps = { value = -inf", "machine.range", "links.rate_GBps", "is -inf"},
       {"broadcast_rate_GBps = { value = 50", "broadcast_rate_GBps = { value = -1.5", "machine.range",
        "engine_timing.broadcast_rate_GBps", "is -1.5"},
       {"cache_bytes = { value = 268435456", "cache_bytes = { value = -1", "machine.range", "memory.cache_bytes",
        "from 0 to"},
       {"cache_bytes = { value = 268435456", "cache_bytes = { value = 206158430209", "machine.range",
        "memory.cache_bytes", "to 206158430208"},
       {"wire_efficiency = { value = 1.0", "wire_efficiency = { value = 0", "machine.range", "cores.wire_efficiency",
        "from 0.001 to 1"},
       {"wire_efficiency = { value = 1.0", "wire_efficiency = { value = 1.01", "machine.range", "cores.wire_efficiency",
        "is 1.01"},
       {"packet_ns = { value = 50, source = \"idealised\"", "packet_ns = { value = 50", "machine.source",
        "host.packet_ns.source", "has no source"},
       {"packet_ns = { value = 50, source = \"idealised\", confidence = \"assumption\" }", "packet_ns = 50",
        "machine.source", "host.packet_ns", "without a source"}});
}

TEST(ParseTimingRefusal, ValuesOfProducts) {
  expect_refused(
      "virtual-64",
      {{"dies = { value = 8", "dies = { value = 0", "machine.range", "compute.dies", "from 1 to 256"},
       {"dies = { value = 8", "dies = { value = 257", "machine.range", "compute.dies", "from 1 to 256"},
       {"l2_bytes = { value = 4194304", "l2_bytes = { value = 0", "machine.range", "compute.l2_bytes", "from 1 to"},
       {"stream_window_bytes = { value = 131072", "stream_window_bytes = { value = 4194305", "machine.range",
        "compute.stream_window_bytes", "to 4194304"},
       {"operand_cost = { value = 0", "operand_cost = { value = -1", "machine.range", "compute.operand_cost", "is -1"},
       {"thrash_ramp = { value = 0.25", "thrash_ramp = { value = 0", "machine.range", "compute.thrash_ramp",
        "from 0.001"},
       {"fabric_products = { value = 0", "fabric_products = { value = 1.1", "machine.range", "compute.fabric_products",
        "from 0 to 1"},
       {"fabric_cores = { value = 1", "fabric_cores = { value = 0.9", "machine.range", "compute.fabric_cores",
        "from 1 to"},
       {"fabric_links = { value = 0", "fabric_links = { value = nan", "machine.range", "compute.fabric_links",
        "is nan"},
       {"bf16_efficiency = { value = 1", "bf16_efficiency = { value = 1.1", "machine.range", "compute.bf16_efficiency",
        "from 0.001 to 1"},
       {"collective_units = { value = 64", "collective_units = { value = 257", "machine.range",
        "cores.collective_units", "from 1 to 256"}});
}

TEST(ParseTiming, ElementTypesMayBeLeftOut) {
  std::string text = text_of("virtual-64");
  for (const char* key : {"f8_flops_per_clock", "f8_clock_GHz", "f8_efficiency"}) {
    text = replaced(text, std::string("\n") + key, std::string("\n# ") + key);
  }
  EXPECT_EQ(parsed(text).timing->compute->f8.flops_per_clock, 0U);
}

TEST(ParseTimingRefusal, Keys) {
  expect_refused("virtual-64",
                 {{"packet_ns", "packet_us", "machine.key", "host.packet_us", "did you mean packet_ns?"},
                  {"latency_ns", "latency", "machine.key", "links.latency", "did you mean latency_ns?"},
                  {"[cores]", "[core]", "machine.key", "core", "did you mean cores?"},
                  {"f8_clock_GHz", "f9_clock_GHz", "machine.key", "compute.f9_clock_GHz", "did you mean f8_clock_GHz?"},
                  {"[engine_timing]", "[engines_timing]", "machine.key", "engines_timing", "engine_timing?"}});
}

TEST(ParseTimingRefusal, Contradictions) {
  expect_refused("virtual-64",
                 {{"rate_GBps = { value = 50", "rate_GBps = { value = 50.5", "machine.contradiction", "links.rate_GBps",
                   "is 50.5, more than links.peak_GBps, 50"},
                  {"rate_GBps = { value = 4000", "rate_GBps = { value = 5001", "machine.contradiction",
                   "memory.rate_GBps", "more than memory.peak_GBps, 5000"},
                  {"local_rate_GBps = { value = 100", "local_rate_GBps = { value = 5001", "machine.contradiction",
                   "engine_timing.local_rate_GBps", "more than memory.peak_GBps, 5000"},
                  {"local_rate_GBps = { value = 40", "local_rate_GBps = { value = 5001", "machine.contradiction",
                   "cores.local_rate_GBps", "more than memory.peak_GBps, 5000"},
                  {"cache_rate_GBps = { value = 10000", "cache_rate_GBps = { value = 3999", "machine.contradiction",
                   "memory.cache_rate_GBps", "less than memory.rate_GBps, 4000"}});
}

TEST(ParseTimingRefusal, SmallCopiesOfBatches) {
  expect_refused("h100-8", {{"small_batch_rate_GBps = { value = 7", "small_batch_rate_GBps = { value = 52",
                             "machine.contradiction", "runtime.small_batch_rate_GBps", "more than runtime.rate_GBps"}});
  for (const char* left_out : {"small_batch_bytes = ", "small_batch_rate_GBps = "}) {
    const Diagnostic error = refusal(replaced(text_of("h100-8"), left_out, "# "));
    EXPECT_EQ(error.code, "machine.contradiction");
    EXPECT_THAT(error.message, testing::HasSubstr("is given without runtime.small_batch_"));
  }
}

TEST(ParseTimingRefusal, RatesOfWhatTheMachineDoesNotHave) {
  const std::string good = text_of("virtual-64");
  const Diagnostic cache = refusal(replaced(good, "cache_bytes = { value = 268435456", "cache_bytes = { value = 0"));
  EXPECT_EQ(cache.code, "machine.contradiction");
  EXPECT_EQ(cache.place.key, "memory.cache_rate_GBps");
  EXPECT_EQ(cache.place.line, line_with(good, "cache_rate_GBps"));
  EXPECT_THAT(cache.message, HasSubstr("memory.cache_bytes is 0"));

  const Diagnostic broadcast = refusal(replaced(good, "broadcast = { value = true", "broadcast = { value = false"));
  EXPECT_EQ(broadcast.place.key, "engine_timing.broadcast_rate_GBps");
  EXPECT_THAT(broadcast.message, HasSubstr("features.broadcast is false"));
}

TEST(ParseLinks, ARingOfTwoHasOnePairAndARingOfOneHasNone) {
  const std::string ring = replaced(text_of("t3-ring-16"), "gpus = { value = 16", "gpus = { value = 2");
  EXPECT_EQ(parsed(ring).link_count({0}, {1}), 1U);
  EXPECT_EQ(parsed(ring).link_count({1}, {0}), 1U);
  EXPECT_EQ(parsed(replaced(ring, "gpus = { value = 2", "gpus = { value = 1")).link_count({0}, {0}), 0U);
}

TEST(ParseLinks, ATopologyIsAKnownWordOrLists) {
  expect_refused("t3-ring-16", {{"\"ring\"", "\"torus\"", "machine.type", "links.topology",
                                 "\"full-mesh\", \"ring\", \"switch\" or a list of lists"}});
}

TEST(ParseLinks, CountsAgreeWithTheTopology) {
  expect_refused("mi250x-8",
                 {{"[0, 4, 1, 0,", "[0, 0, 1, 0,", "machine.contradiction", "links.counts",
                   "0 links from GPU 0 to GPU 1, which links.topology joins"},
                  {"[0, 4, 1, 0,", "[0, 4, 1, 2,", "machine.contradiction", "links.counts",
                   "2 links from GPU 0 to GPU 3, which links.topology does not join"},
                  {"[0, 4, 1, 0,", "[1, 4, 1, 0,", "machine.contradiction", "links.counts", "and from a GPU to itself"},
                  {"[0, 4, 1, 0,", "[0, 4, 1,", "machine.contradiction", "links.counts", "has 7 columns for 8 GPUs"},
                  {"[0, 4, 1, 0,", "[0, -4, 1, 0,", "machine.range", "links.counts", "from 0 to 64"},
                  {"[0, 4, 1, 0,", "[0, 4.5, 1, 0,", "machine.type", "links.counts", "not a list of whole numbers"}});
  const Diagnostic on_a_switch =
      refusal(text_of("h100-8") + "\n[links.counts]\nvalue = [[0]]\nsource = \"x\"\nconfidence = \"D\"\n");
  EXPECT_EQ(on_a_switch.place.key, "links.counts");
  EXPECT_THAT(on_a_switch.message, HasSubstr("the topology is a switch"));
}

}  // namespace parse_timing_test
}  // namespace cortado::internal
