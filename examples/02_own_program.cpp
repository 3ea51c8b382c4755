// A program written by hand: rank 0 sends a block to rank 1, rank 1 passes it on to rank 2.
//
// The first version forgets to wait for the first copy. The verifier refuses it and says why; with the wait it is
// proved and run.
#include <cstdio>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

using namespace cortado;

Program relay(bool with_wait) {
  constexpr Bytes kBlock = 64_KiB;
  ProgramBuilder b("relay", "mi300x-8", 3);
  const Region in = make_region(b.buffer("in0", RankId{0}, kBlock, BufferRole::input), {}, kBlock);
  const Region middle = make_region(b.buffer("middle1", RankId{1}, kBlock, BufferRole::scratch), {}, kBlock);
  const Region out = make_region(b.buffer("out2", RankId{2}, kBlock, BufferRole::output), {}, kBlock);
  const SignalId arrived = b.signal("arrived");
  const SignalId done = b.signal("done");

  const QueueId first = b.dma_queue("rank0 to rank1", RankId{0}, EngineId{14});
  b.add(first, Copy{in, middle}).add(first, Signal{arrived});

  const QueueId second = b.dma_queue("rank1 to rank2", RankId{1}, EngineId{2});
  if (with_wait) b.add(second, Wait{arrived});
  b.add(second, Copy{middle, out}).add(second, Signal{done});

  const QueueId host = b.host_queue("host");
  b.add(host, Submit{first}).add(host, Submit{second}).add(host, Wait{done}).add(host, Wait{arrived});
  b.contract(point_to_point_contract(in, out));
  return std::move(b).finish();
}

int main() {
  const auto machine = load_machine("mi300x-8");
  if (!machine) return 1;

  const auto refused = verify(relay(false), *machine);
  if (refused) return 1;  // the verifier must catch the missing wait
  std::printf("without the wait: %s\n", to_string(refused.error().front()).c_str());

  const auto verified = verify(relay(true), *machine);
  if (!verified) {
    std::printf("%s\n", to_string(verified.error().front()).c_str());
    return 1;
  }
  const auto node = open_target({.name = "soft", .gpus = 3, .soft = {.adversarial_seed = 7}}, *machine);
  if (!node) return 1;
  const auto run = (*node)->run(*verified, {.iterations = 20, .device = {.check = device::CheckOutputs::every}});
  if (!run) {
    std::printf("%s\n", to_string(run.error().errors.front()).c_str());
    return 1;
  }
  std::printf("with the wait: proved, and run 20 times in adversarial order: %llu bytes checked, %llu wrong\n",
              static_cast<unsigned long long>(run->check->checked), static_cast<unsigned long long>(run->check->wrong));
  return run->check->wrong == 0 ? 0 : 1;
}
