#include "plan/collective/testing.hpp"
#include "plan/collective/variant.hpp"

namespace cortado::plan {
namespace collective_request_test {

TEST(Request, UnknownNamesGetTheNearestKnownOne) {
  const Machine machine = machine_for_test("mi300x-8");
  const Diagnostic collective = find_collective("all-gathr").error();
  EXPECT_EQ(collective.code, "plan.unknown_collective");
  EXPECT_NE(collective.hint.find("did you mean all-gather?"), std::string::npos) << collective.hint;
  const Diagnostic variant = refusal({.collective = "all-gather", .variant = "swap", .bytes = 1_KiB}, machine);
  EXPECT_EQ(variant.code, "plan.unknown_variant");
  EXPECT_NE(variant.hint.find("pcpy, bcst, mcast, b2b"), std::string::npos) << variant.hint;
}

TEST(Request, RankCountsMustFitTheMachine) {
  const Machine machine = machine_for_test("mi300x-8");
  EXPECT_EQ(refusal({.collective = "all-gather", .bytes = 1_KiB, .ranks = 1}, machine).code, "plan.ranks");
  const Diagnostic many = refusal({.collective = "all-gather", .bytes = 1_KiB, .ranks = 9}, machine);
  EXPECT_EQ(many.code, "plan.ranks");
  EXPECT_EQ(many.hint, "use 2 to 8 ranks");
  EXPECT_EQ(plan_for_test({.collective = "all-gather", .bytes = 1_KiB}, machine).ranks, 8u);  // 0 = all GPUs
}

TEST(Request, RootsAndPeersMustBeRanks) {
  const Machine machine = machine_for_test("mi300x-8");
  EXPECT_EQ(refusal({.collective = "broadcast", .bytes = 1_KiB, .ranks = 4, .root = {4}}, machine).code, "plan.ranks");
  EXPECT_EQ(refusal({.collective = "point-to-point", .bytes = 1_KiB, .root = {1}, .peer = {1}}, machine).code,
            "plan.ranks");
  EXPECT_EQ(refusal({.collective = "point-to-point", .bytes = 1_KiB, .peer = {8}}, machine).code, "plan.ranks");
}

TEST(Request, OptionsThatAVariantDoesNotLookAtAreRefused) {
  const Machine machine = machine_for_test("mi300x-8");
  EXPECT_EQ(refusal({.collective = "all-gather", .bytes = 1_KiB, .root = {2}}, machine).code, "plan.ranks");
  EXPECT_EQ(refusal({.collective = "all-gather", .bytes = 1_KiB, .peer = {2}}, machine).code, "plan.ranks");
  EXPECT_EQ(refusal({.collective = "all-gather", .bytes = 1_KiB, .ways = 2}, machine).code, "plan.ways");
}

TEST(Request, SizesOutOfReachAreRefusedBeforePlanning) {
  const Machine machine = machine_for_test("mi300x-8");
  for (const VariantInfo& variant : list_variants()) {
    CollectiveRequest request{
        .collective = variant.collective, .variant = variant.variant, .in_place = !variant.out_of_place};
    // mi300x-8 has no memory, engine or switch that adds, no multicast, and RCCL no LL128 there.
    const bool lacks = variant.variant.starts_with("add") || variant.variant == "nvls" ||
                       variant.variant == "ring-ll128" || variant.variant == "mcast";
    const char* code = lacks ? "plan.feature" : "plan.size";
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      request.bytes = Bytes{bytes};
      EXPECT_EQ(refusal(request, machine).code, code)
          << variant.collective.name() << " " << variant.variant << " " << bytes;
    }
  }
}

TEST(Request, AllBuffersOfARankMustFitItsMemory) {
  Machine machine = machine_for_test("mi300x-8");
  machine.memory_bytes = Bytes{1000};
  CollectiveRequest request{.collective = "all-to-all", .bytes = Bytes{504}, .ranks = 8};  // 504 in + 504 out
  EXPECT_EQ(refusal(request, machine).code, "plan.size");
  request.bytes = Bytes{496};
  plan_for_test(request, machine);
}

TEST(Request, MissingFeaturesAreNamed) {
  Machine machine = machine_for_test("mi300x-8");
  machine.features = {};
  EXPECT_EQ(refusal({.collective = "all-gather", .variant = "bcst", .bytes = 1_KiB}, machine).code, "plan.feature");
  const Diagnostic swap =
      refusal({.collective = "all-to-all", .variant = "swap", .bytes = 1_KiB, .in_place = true}, machine);
  EXPECT_EQ(swap.code, "plan.feature");
  EXPECT_NE(swap.message.find("swap packets"), std::string::npos);
}

TEST(Request, MachinesThatCannotDoItAreRefused) {
  const Machine good = machine_for_test("mi300x-8");
  const CollectiveRequest request{.collective = "all-gather", .bytes = 1_MiB};
  Machine machine = good;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) machine.linked[2][gpu] = machine.linked[gpu][2] = false;
  const Diagnostic link = refusal(request, machine);
  EXPECT_EQ(link.code, "plan.link");
  EXPECT_NE(link.message.find("GPU 2"), std::string::npos);

  machine = good;
  for (Engine& engine : machine.engines) engine.present = engine.id != EngineId{14};  // preferred from 0 to 1
  EXPECT_EQ(refusal(request, machine).code, "plan.engine");

  machine = good;
  std::erase_if(machine.engines, [](const Engine& e) { return e.kind == EngineClass::peer; });
  EXPECT_EQ(refusal(request, machine).code, "plan.engine");

  machine = good;
  machine.dma.max_copy_bytes = Bytes{4};
  machine.dma.ring_bytes = 1_KiB;  // 128 KiB in copies of 4 bytes
  EXPECT_EQ(refusal(request, machine).code, "plan.ring");

  machine = good;
  machine.dma.max_copy_bytes = Bytes{3};
  EXPECT_EQ(refusal(request, machine).code, "plan.machine");
}

TEST(Request, NearestMultiples) {
  EXPECT_EQ(nearest_multiples(Bytes{1000}, Bytes{512}), "use 512B or 1KiB");
  EXPECT_EQ(nearest_multiples(Bytes{3}, Bytes{4}), "use 4B");
}

TEST(Request, InPlaceDefaults) {
  EXPECT_TRUE(default_in_place("all-gather", "pcpy"));
  EXPECT_FALSE(default_in_place("all-to-all", "pcpy"));
  EXPECT_TRUE(default_in_place("all-to-all", "swap"));  // swap exchanges in place and can do nothing else
}

}  // namespace collective_request_test
}  // namespace cortado::plan
