// Programs and nodes for the tests of the executor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cortado/program.hpp"

#include "device/executor/executor.hpp"
#include "device/soft/soft.hpp"

namespace cortado {

struct ProofForTesting {
  static VerifiedProgram of(CheckedProgram program) { return VerifiedProgram(std::move(program)); }
};

}  // namespace cortado

namespace cortado::device::testing {

/// The 8-GPU MI300X node, with a ring of the given size.
inline Machine machine_with_ring(Bytes ring = 2_MiB, const std::string& name = "mi300x-8") {
  auto machine = load_machine(name);
  EXPECT_TRUE(machine) << machine.error().message;
  machine->dma.ring_bytes = ring;
  return *machine;
}

inline VerifiedProgram verified(Program program, const Machine& machine, std::vector<std::string> skip_rules = {}) {
  VerifyOptions options;
  options.skip_rules = std::move(skip_rules);
  auto result = check_program(std::move(program), machine, options);
  if (!result) ADD_FAILURE() << to_string(result.error().front());
  return ProofForTesting::of(std::move(result).value());
}

inline std::unique_ptr<Driver> soft_node(const Machine& machine, std::uint32_t gpus, const SoftOptions& options = {}) {
  auto node = open_soft_node(machine, gpus, options);
  EXPECT_TRUE(node) << node.error().message;
  return std::move(node).value();
}

inline std::unique_ptr<Driver> adversarial_node(const Machine& machine, std::uint32_t gpus, std::uint64_t seed) {
  SoftOptions options;
  options.adversarial_seed = seed;
  return soft_node(machine, gpus, options);
}

/// What nearly all test programs share: a host queue that submits device queues and waits until each has signalled its
/// end.
class TestProgram : public ProgramBuilder {
 public:
  TestProgram(std::string name, std::uint32_t ranks) : ProgramBuilder(std::move(name), "mi300x-8", ranks) {
    host = host_queue("host");
    done = signal("done");
  }

  BufferId input(const std::string& name, std::uint32_t rank, Bytes size) {
    return buffer(name, RankId{rank}, size, BufferRole::input);
  }
  BufferId output(const std::string& name, std::uint32_t rank, Bytes size) {
    return buffer(name, RankId{rank}, size, BufferRole::output);
  }
  QueueId dma(const std::string& name, std::uint32_t rank, std::uint32_t engine) {
    queues_.push_back(dma_queue(name, RankId{rank}, EngineId{engine}));
    return queues_.back();
  }
  QueueId compute(const std::string& name, std::uint32_t rank) {
    queues_.push_back(compute_queue(name, RankId{rank}));
    return queues_.back();
  }

  /// Ends every device queue with a Signal and makes the host submit them all and wait.
  Program close() && {
    add(host, Timestamp{"begin"});
    for (const QueueId queue : queues_) {
      add(queue, Signal{done});
      add(host, Submit{queue});
    }
    add(host, Wait{done, queues_.size()});
    add(host, Timestamp{"end"});
    return std::move(*this).finish();
  }

  QueueId host;
  SignalId done;

 private:
  std::vector<QueueId> queues_;
};

inline Region all_of(BufferId buffer, Bytes bytes) {
  return make_region(buffer, 0_B, bytes);
}

/// in of rank 0 -> mid of rank 1 -> out of rank 2, with the second copy held until the first is visible.
inline Program copy_chain(Bytes bytes = 1000_B) {
  TestProgram p("chain", 3);
  const BufferId in = p.input("in", 0, bytes);
  const BufferId mid = p.buffer("mid", RankId{1}, bytes, BufferRole::scratch);
  const BufferId out = p.output("out", 2, bytes);
  const SignalId arrived = p.signal("arrived", RankId{1});
  const QueueId first = p.dma("first", 0, 14);
  const QueueId second = p.dma("second", 1, 2);
  p.add(first, Copy{all_of(in, bytes), all_of(mid, bytes)}).add(first, Signal{arrived});
  p.add(second, Wait{arrived}).add(second, Copy{all_of(mid, bytes), all_of(out, bytes)});
  p.contract(point_to_point_contract(all_of(in, bytes), all_of(out, bytes)));
  return std::move(p).close();
}

/// A copy that is submitted in advance and released by a trigger, with a signal that is set and one waited for by
/// equality.
inline Program prelaunched_copy() {
  ProgramBuilder p("prelaunch", "mi300x-8", 2);
  const BufferId in = p.buffer("in", RankId{0}, 512_B, BufferRole::input);
  const BufferId out = p.buffer("out", RankId{1}, 512_B, BufferRole::output);
  const SignalId go = p.signal("go");
  const SignalId done = p.signal("done");
  const QueueId host = p.host_queue("host");
  const QueueId dma = p.dma_queue("dma", RankId{0}, EngineId{14});
  p.add(dma, Wait{go}).add(dma, Copy{all_of(in, 512_B), all_of(out, 512_B)}).add(dma, Signal{done, 3, SignalOp::set});
  p.add(host, Submit{dma}).add(host, Timestamp{"begin"}).add(host, Trigger{go});
  p.add(host, Wait{done, 3, Compare::eq}).add(host, Timestamp{"end"});
  p.contract(point_to_point_contract(all_of(in, 512_B), all_of(out, 512_B)));
  return std::move(p).finish();
}

/// Copies 16 rows of 96 bytes from a matrix with rows of 256 bytes into one with rows of 128 bytes.
inline Program window_copy() {
  TestProgram p("window", 2);
  const Region from{p.input("in", 0, 4_KiB), 32_B, 96_B, 16, 256_B};
  const Region to{p.buffer("out", RankId{1}, 2_KiB, BufferRole::inout), 16_B, 96_B, 16, 128_B};
  const QueueId dma = p.dma("dma", 0, 14);
  p.add(dma, Copy{from, to});
  p.contract(point_to_point_contract(from, to));
  return std::move(p).close();
}

/// Swaps the ranks' buffers in place.
inline Program swapped_buffers() {
  TestProgram p("swap", 2);
  const Region a = all_of(p.buffer("a", RankId{0}, 640_B, BufferRole::inout), 640_B);
  const Region b = all_of(p.buffer("b", RankId{1}, 640_B, BufferRole::inout), 640_B);
  const QueueId dma = p.dma("dma", 0, 14);
  p.add(dma, Swap{a, b});
  p.contract({"swap", {{a, {b}, DType::u8}, {b, {a}, DType::u8}}});
  return std::move(p).close();
}

/// Rank 0's input goes to ranks 1 and 2.
inline Program broadcast_to_two() {
  TestProgram p("broadcast", 3);
  const Region in = all_of(p.input("in", 0, 777_B), 777_B);
  const Region one = all_of(p.output("one", 1, 777_B), 777_B);
  const Region two = all_of(p.output("two", 2, 777_B), 777_B);
  const QueueId dma = p.dma("dma", 0, 14);
  p.add(dma, Broadcast{in, one, two});
  p.contract(broadcast_contract(in, {one, two}));
  return std::move(p).close();
}

/// out of rank 0 = in0 + in1: a DMA copy brings in1, a reduction kernel adds.
inline Program summed_inputs(DType dtype) {
  constexpr Bytes kBytes{4096};
  TestProgram p("sum", 2);
  const Region in0 = all_of(p.input("in0", 0, kBytes), kBytes);
  const Region in1 = all_of(p.input("in1", 1, kBytes), kBytes);
  const Region staged = all_of(p.buffer("staged", RankId{0}, kBytes, BufferRole::scratch), kBytes);
  const Region out = all_of(p.output("out", 0, kBytes), kBytes);
  const SignalId arrived = p.signal("arrived", RankId{0});
  const QueueId dma = p.dma("dma", 1, 14);
  const QueueId compute = p.compute("compute", 0);
  p.add(dma, Copy{in1, staged}).add(dma, Signal{arrived});
  p.add(compute, Wait{arrived}).add(compute, Kernel{KernelOp::reduce, {in0, staged}, out, dtype});
  p.contract({"sum", {{out, {in0, in1}, dtype}}});
  return std::move(p).close();
}

/// gathered = rows 3 0 2 1 of in, and scattered puts them back, through a compute copy.
inline Program gathered_and_scattered_rows() {
  TestProgram p("rows", 1);
  const auto matrix = [](BufferId buffer) { return Region{buffer, 0_B, 64_B, 4, 64_B}; };
  const Region in = matrix(p.input("in", 0, 256_B));
  const Region gathered = matrix(p.output("gathered", 0, 256_B));
  const Region scattered = matrix(p.buffer("scattered", RankId{0}, 256_B, BufferRole::scratch));
  const Region copied = matrix(p.output("copied", 0, 256_B));
  const std::vector<std::uint64_t> rows{3, 0, 2, 1};
  const QueueId compute = p.compute("compute", 0);
  p.add(compute, Kernel{KernelOp::gather_rows, {in}, gathered, DType::u8, rows});
  p.add(compute, Kernel{KernelOp::scatter_rows, {gathered}, scattered, DType::u8, rows});
  p.add(compute, Copy{scattered, copied});
  Contract contract{"rows", {{copied, {in}, DType::u8}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    contract.clauses.push_back(
        {make_region(gathered.buffer, 64_B * i, 64_B), {make_region(in.buffer, 64_B * rows[i], 64_B)}, DType::u8});
  }
  p.contract(contract);
  return std::move(p).close();
}

/// A matrix without gaps.
inline Region matrix_of(BufferId buffer, std::uint64_t rows, std::uint64_t columns, DType dtype) {
  return {buffer, 0_B, size_of(dtype) * columns, rows, size_of(dtype) * columns};
}

/// A Gemm of 2 x 2 tiles raises a signal when its first row of tiles is written; a DMA queue then sends that row to
/// rank 1.
inline Program gemm_that_releases_a_copy() {
  constexpr std::uint64_t kSide = 32;
  constexpr Bytes kBytes{kSide * kSide * 4};
  TestProgram p("gemm", 2);
  const auto matrix = [&](BufferId buffer) { return matrix_of(buffer, kSide, kSide, DType::f32); };
  const Region a = matrix(p.input("a", 0, kBytes));
  const Region b = matrix(p.input("b", 0, kBytes));
  const Region c = matrix(p.output("c", 0, kBytes));
  const Region out = matrix_of(p.output("out", 1, Bytes{kBytes.value / 2}), kSide / 2, kSide, DType::f32);
  const SignalId half = p.signal("half");
  const QueueId compute = p.compute("compute", 0);
  const QueueId dma = p.dma("dma", 0, 14);
  const Gemm gemm{a, b, c, kSide, kSide, kSide, DType::f32, false, 16, 16, {{2, half, 1}}};
  Region upper_a = a;
  Region upper_c = c;
  upper_a.rows = upper_c.rows = kSide / 2;
  p.add(compute, gemm);
  p.add(dma, Wait{half}).add(dma, Copy{upper_c, out});
  p.contract({"product", {}, {product_clause(gemm), {out, {{{upper_a}, b}}, DType::f32}}});
  return std::move(p).close();
}

/// c of rank 0 = A * B, where the lower half of A comes from rank 1 and the GEMM consists of four panels of k.
inline Program product_in_panels(DType dtype) {
  constexpr std::uint64_t kSide = 24;
  constexpr std::uint64_t kPanel = kSide / 4;
  const Bytes row = size_of(dtype) * kSide;
  TestProgram p("panels", 2);
  const Region upper = matrix_of(p.input("upper", 0, row * (kSide / 2)), kSide / 2, kSide, dtype);
  const Region lower = matrix_of(p.input("lower", 1, row * (kSide / 2)), kSide / 2, kSide, dtype);
  const Region b = matrix_of(p.input("b", 0, row * kSide), kSide, kSide, dtype);
  const Region gathered =
      matrix_of(p.buffer("gathered", RankId{0}, row * kSide, BufferRole::scratch), kSide, kSide, dtype);
  const Region c = matrix_of(p.output("c", 0, row * kSide), kSide, kSide, dtype);
  const SignalId arrived = p.signal("arrived", RankId{0});
  const QueueId mine = p.dma("mine", 0, 14);
  const QueueId other = p.dma("other", 1, 14);
  const QueueId compute = p.compute("compute", 0);
  Region half = gathered;
  half.rows = kSide / 2;
  p.add(mine, Copy{upper, half}).add(mine, Signal{arrived});
  half.offset = half.row_offset(kSide / 2);
  p.add(other, Copy{lower, half}).add(other, Signal{arrived});
  p.add(compute, Wait{arrived, 2});
  for (std::uint64_t k = 0; k < kSide; k += kPanel) {
    const Region columns{gathered.buffer, size_of(dtype) * k, size_of(dtype) * kPanel, kSide, row};
    const Region rows{b.buffer, row * k, row, kPanel, row};
    p.add(compute, Gemm{columns, rows, c, kSide, kSide, kPanel, dtype, k > 0, 16, 16});
  }
  p.contract({"product", {}, {{c, {{{upper, lower}, b}}, dtype}}});
  return std::move(p).close();
}

/// c of rank 0 = A0 * B0 + A1 * B1, where the second GEMM runs on rank 1.
inline Program summed_products(DType dtype) {
  constexpr std::uint64_t kSide = 16;
  const Bytes bytes = size_of(dtype) * (kSide * kSide);
  TestProgram p("summed products", 2);
  const auto matrix = [&](BufferId buffer) { return matrix_of(buffer, kSide, kSide, dtype); };
  const auto scratch = [&](const char* name, std::uint32_t rank) {
    return matrix(p.buffer(name, RankId{rank}, bytes, BufferRole::scratch));
  };
  const Region a0 = matrix(p.input("a0", 0, bytes));
  const Region b0 = matrix(p.input("b0", 0, bytes));
  const Region a1 = matrix(p.input("a1", 1, bytes));
  const Region b1 = matrix(p.input("b1", 1, bytes));
  const Region here = scratch("here", 0);
  const Region there = scratch("there", 1);
  const Region sent = scratch("sent", 0);
  const Region c = matrix(p.output("c", 0, bytes));
  const SignalId made = p.signal("made", RankId{1});
  const SignalId arrived = p.signal("arrived", RankId{0});
  const QueueId compute0 = p.compute("compute0", 0);
  const QueueId compute1 = p.compute("compute1", 1);
  const QueueId dma = p.dma("dma", 1, 14);
  p.add(compute1, Gemm{a1, b1, there, kSide, kSide, kSide, dtype}).add(compute1, Signal{made});
  p.add(dma, Wait{made}).add(dma, Copy{there, sent}).add(dma, Signal{arrived});
  p.add(compute0, Gemm{a0, b0, here, kSide, kSide, kSide, dtype}).add(compute0, Wait{arrived});
  p.add(compute0, Kernel{KernelOp::reduce, {here, sent}, c, dtype});
  p.contract({"sum of products", {}, {{c, {{{a0}, b0}, {{a1}, b1}}, dtype}}});
  return std::move(p).close();
}

/// A ring of ranks, each with its own host queue: rank r sends its input to rank r + 1. A rank starts when its receiver
/// has entered, and ends when its own output has arrived and its own input has been sent.
inline Program ring_of_hosts(std::uint32_t ranks) {
  ProgramBuilder p("ring", "mi300x-8", ranks);
  std::vector<Region> in;
  std::vector<Region> out;
  std::vector<SignalId> entered;
  std::vector<SignalId> arrived;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::string number = std::to_string(r);
    in.push_back(all_of(p.buffer("in" + number, RankId{r}, 300_B, BufferRole::input), 300_B));
    out.push_back(all_of(p.buffer("out" + number, RankId{r}, 300_B, BufferRole::output), 300_B));
    entered.push_back(p.signal("entered" + number, RankId{r}));
    arrived.push_back(p.signal("arrived" + number, RankId{r}));
  }
  Contract contract{"ring", {}};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::uint32_t next = (r + 1) % ranks;
    const std::string number = std::to_string(r);
    const SignalId sent = p.signal("sent" + number);
    const QueueId host = p.host_queue("host" + number, RankId{r});
    const QueueId dma = p.dma_queue("dma" + number, RankId{r}, EngineId{2});
    p.add(dma, Wait{entered[next]})
        .add(dma, Copy{in[r], out[next]})
        .add(dma, Signal{arrived[next]})
        .add(dma, Signal{sent});
    p.add(host, Signal{entered[r]}).add(host, Submit{dma}).add(host, Wait{arrived[r]}).add(host, Wait{sent});
    contract.clauses.push_back({out[next], {in[r]}, DType::u8});
  }
  p.contract(contract);
  return std::move(p).finish();
}

/// Every function once, with two sequences of two new tokens each; the caches have room for three.
inline Program functions_of_a_layer() {
  TestProgram p("functions", 1);
  const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns, BufferRole role) {
    const Bytes width = size_of(DType::f32) * columns;
    return Region{p.buffer(name, RankId{0}, width * rows, role), {}, width, rows, rows > 1 ? width : Bytes{}};
  };
  const Region x = matrix("x", 4, 8, BufferRole::input);
  const Region weight = matrix("weight", 1, 8, BufferRole::input);
  const Region positions = matrix("positions", 4, 1, BufferRole::input);
  const Region tokens = matrix("tokens", 4, 1, BufferRole::input);
  const Region table = matrix("table", 5, 8, BufferRole::input);
  const Region rows = matrix("rows", 4, 4, BufferRole::input);
  const Region keys = matrix("keys", 6, 4, BufferRole::inout);
  const Region values = matrix("values", 6, 4, BufferRole::input);
  const std::vector<Call> calls{
      {Function::rms_norm, {x, weight}, matrix("normed", 4, 8, BufferRole::output), {10'000}},
      {Function::rope, {x, positions}, matrix("turned", 4, 8, BufferRole::output), {4, 10}},
      {Function::swiglu, {x, x}, matrix("gated", 4, 8, BufferRole::output), {}},
      {Function::embedding, {tokens, table}, matrix("found", 4, 8, BufferRole::output), {}},
      {Function::argmax, {x}, matrix("best", 4, 1, BufferRole::output), {}},
      {Function::append, {keys, rows, positions}, keys, {2}},
      {Function::attention, {x, keys, values, positions}, matrix("attended", 4, 8, BufferRole::output), {2, 2, 1}},
      {Function::route, {x}, matrix("gates", 4, 8, BufferRole::output), {3}},
      {Function::scale, {x, rows}, matrix("scaled", 4, 8, BufferRole::output), {2}}};
  const QueueId stream = p.compute("stream", 0);
  Contract contract{"functions", {}};
  Formula& formula = contract.formula;
  const auto first = static_cast<std::uint32_t>(p.peek().buffers.size());
  std::map<BufferId, BufferId> value_of;  // the formula values that correspond to results of earlier calls
  for (const Call& call : calls) {
    p.add(stream, call);
    Call step = call;
    for (Region& operand : step.operands) {
      if (value_of.contains(operand.buffer)) operand.buffer = value_of.at(operand.buffer);
    }
    step.result.buffer = BufferId{first + static_cast<std::uint32_t>(formula.values.size())};
    value_of[call.result.buffer] = step.result.buffer;
    formula.values.push_back({"value", call.result.bytes()});
    formula.steps.emplace_back(step);
    formula.outputs.push_back({call.result, step.result});
  }
  p.contract(std::move(contract));
  return std::move(p).close();
}

/// The first copy of an iteration waits until the second one of the previous iteration has read what the first wrote.
/// Nothing else does: the hosts do not wait for each other.
inline Program relay_with_credit(Bytes bytes = 1000_B) {
  ProgramBuilder p("relay", "mi300x-8", 2);
  const Region in = all_of(p.buffer("in", RankId{0}, bytes, BufferRole::input), bytes);
  const Region middle = all_of(p.buffer("middle", RankId{1}, bytes, BufferRole::scratch), bytes);
  const Region out = all_of(p.buffer("out", RankId{1}, bytes, BufferRole::output), bytes);
  p.contract(point_to_point_contract(in, out));
  const SignalId arrived = p.signal("arrived", RankId{1});
  const SignalId credit = p.signal("credit", RankId{0});
  const SignalId sent = p.signal("sent");
  const QueueId first = p.dma_queue("first", RankId{0}, EngineId{14});
  const QueueId second = p.dma_queue("second", RankId{1}, EngineId{14});
  const QueueId sender = p.host_queue("sender", RankId{0});
  const QueueId receiver = p.host_queue("receiver", RankId{1});
  p.add(first, Wait{credit, 0}).add(first, Copy{in, middle}).add(first, Signal{arrived}).add(first, Signal{sent});
  p.add(second, Wait{arrived}).add(second, Copy{middle, out}).add(second, Signal{credit});
  p.add(sender, Submit{first}).add(sender, Wait{sent});
  p.add(receiver, Submit{second}).add(receiver, Wait{credit});
  return std::move(p).finish();
}

/// One program of each kind.
inline std::vector<Program> one_of_each() {
  return {copy_chain(),
          prelaunched_copy(),
          relay_with_credit(),
          window_copy(),
          swapped_buffers(),
          broadcast_to_two(),
          summed_inputs(DType::f32),
          summed_inputs(DType::bf16),
          summed_inputs(DType::i32),
          summed_inputs(DType::f8),
          gathered_and_scattered_rows(),
          functions_of_a_layer(),
          gemm_that_releases_a_copy(),
          product_in_panels(DType::f32),
          product_in_panels(DType::bf16),
          product_in_panels(DType::f8),
          summed_products(DType::f16),
          summed_products(DType::f8),
          ring_of_hosts(4)};
}

}  // namespace cortado::device::testing
