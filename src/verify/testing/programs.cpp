#include "verify/testing/programs.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "verify/testing/mapped.hpp"
#include "verify/testing/products.hpp"

namespace cortado::verifier::testing {
namespace {

/// Inputs of one block and outputs of one block per rank, with their contract; shared by all the all-gathers.
struct Gather {
  Gather(std::uint32_t rank_count, std::uint64_t bytes)
      : ranks(rank_count), block{bytes}, builder("test", "test", ranks) {
    std::vector<Region> in_regions;
    std::vector<Region> out_regions;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      in.push_back(builder.buffer(fmt::format("in{}", r), {r}, block, BufferRole::input));
      out.push_back(builder.buffer(fmt::format("out{}", r), {r}, block * ranks, BufferRole::output));
      in_regions.push_back(make_region(in[r], {0}, block));
      out_regions.push_back(make_region(out[r], {0}, block * ranks));
    }
    builder.contract(all_gather_contract(in_regions, out_regions));
  }

  QueueId queue(std::uint32_t from, std::uint32_t to) {
    return builder.dma_queue(fmt::format("dma{}.{}", from, to), {from}, {kFirstPeerEngine + to});
  }
  Copy copy(std::uint32_t from, std::uint32_t to) const {
    return {make_region(in[from], {0}, block), make_region(out[to], block * from, block)};
  }

  std::uint32_t ranks;
  Bytes block;
  ProgramBuilder builder;
  std::vector<BufferId> in;
  std::vector<BufferId> out;
};

}  // namespace

Machine test_machine(std::uint32_t gpus) {
  Machine machine;
  machine.name = "test";
  machine.gpus = gpus;
  machine.compute_units = 8;
  machine.memory_bytes = 1_GiB;
  machine.allocation_alignment = 4_KiB;
  for (std::uint32_t e = 0; e < kFirstPeerEngine + gpus; ++e) {
    machine.engines.push_back({{e}, e < kFirstPeerEngine ? EngineClass::host : EngineClass::peer, true});
  }
  machine.dma.max_copy_bytes = {0x3fffffe0};
  machine.dma.max_swap_bytes = {0x3fffffc0};
  machine.dma.broadcast_alignment = 32_B;
  machine.dma.swap_alignment = 64_B;
  machine.dma.window_alignment = 4_B;
  machine.dma.max_window_elements = 16384;
  machine.dma.max_pitch_elements = 1U << 19;
  machine.dma.ring_bytes = 1_MiB;
  machine.dma.queues_per_engine = 8;
  machine.dma.copy_dwords = 7;
  machine.dma.broadcast_dwords = 9;
  machine.dma.swap_dwords = 7;
  machine.dma.window_dwords = 13;
  machine.dma.poll_dwords = 6;
  machine.dma.atomic_dwords = 8;
  machine.dma.fence_dwords = 4;
  machine.dma.timestamp_dwords = 3;
  machine.dma.add_copy_dwords = 7;
  machine.features = {true, true, true, TrackerLimits{64, 64_B}};
  machine.affinity.assign(gpus, std::vector<std::optional<EngineId>>(gpus));
  machine.linked.assign(gpus, std::vector<bool>(gpus, true));
  return machine;
}

Program all_gather(std::uint32_t ranks, std::uint64_t block) {
  Gather g(ranks, block);
  const QueueId host = g.builder.host_queue("host");
  std::vector<SignalId> done;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    for (std::uint32_t j = 0; j < ranks; ++j) {
      done.push_back(g.builder.signal(fmt::format("done{}.{}", i, j)));
      const QueueId queue = g.queue(i, j);
      g.builder.add(queue, g.copy(i, j)).add(queue, Signal{done.back()});
      g.builder.add(host, Submit{queue});
    }
  }
  for (const SignalId signal : done) g.builder.add(host, Wait{signal});
  return std::move(g.builder).finish();
}

Program all_gather_counter(std::uint32_t ranks, std::uint64_t block) {
  Gather g(ranks, block);
  const QueueId host = g.builder.host_queue("host");
  const SignalId done = g.builder.signal("done");
  for (std::uint32_t i = 0; i < ranks; ++i) {
    for (std::uint32_t j = 0; j < ranks; ++j) {
      const QueueId queue = g.queue(i, j);
      g.builder.add(queue, g.copy(i, j)).add(queue, Signal{done});
      g.builder.add(host, Submit{queue});
    }
  }
  g.builder.add(host, Wait{done, std::uint64_t{ranks} * ranks});
  return std::move(g.builder).finish();
}

Program all_gather_prelaunched(std::uint32_t ranks, std::uint64_t block) {
  Gather g(ranks, block);
  const QueueId host = g.builder.host_queue("host");
  const SignalId go = g.builder.signal("go");
  const SignalId done = g.builder.signal("done");
  for (std::uint32_t i = 0; i < ranks; ++i) {
    for (std::uint32_t j = 0; j < ranks; ++j) {
      const QueueId queue = g.queue(i, j);
      g.builder.add(queue, Wait{go}).add(queue, g.copy(i, j)).add(queue, Signal{done});
      g.builder.add(host, Submit{queue});
    }
  }
  g.builder.add(host, Trigger{go}).add(host, Wait{done, std::uint64_t{ranks} * ranks});
  return std::move(g.builder).finish();
}

Program all_gather_b2b(std::uint32_t ranks, std::uint64_t block) {
  Gather g(ranks, block);
  const QueueId host = g.builder.host_queue("host");
  const SignalId done = g.builder.signal("done");
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const QueueId queue = g.queue(i, i);
    for (std::uint32_t j = 0; j < ranks; ++j) g.builder.add(queue, g.copy(i, j));
    g.builder.add(queue, Signal{done});
    g.builder.add(host, Submit{queue});
  }
  g.builder.add(host, Wait{done, ranks});
  return std::move(g.builder).finish();
}

Program all_to_all(std::uint32_t ranks, std::uint64_t block) {
  ProgramBuilder builder("test", "test", ranks);
  const Bytes size{block};
  std::vector<std::vector<Region>> send(ranks);
  std::vector<std::vector<Region>> receive(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const BufferId in = builder.buffer(fmt::format("in{}", r), {r}, size * ranks, BufferRole::input);
    const BufferId out = builder.buffer(fmt::format("out{}", r), {r}, size * ranks, BufferRole::output);
    for (std::uint32_t p = 0; p < ranks; ++p) {
      send[r].push_back(make_region(in, size * p, size));
      receive[r].push_back(make_region(out, size * p, size));
    }
  }
  builder.contract(all_to_all_contract(send, receive));
  const QueueId host = builder.host_queue("host");
  std::vector<SignalId> done;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    for (std::uint32_t j = 0; j < ranks; ++j) {
      done.push_back(builder.signal(fmt::format("done{}.{}", i, j)));
      const QueueId queue = builder.dma_queue(fmt::format("dma{}.{}", i, j), {i}, {kFirstPeerEngine + j});
      builder.add(queue, Copy{send[i][j], receive[j][i]}).add(queue, Signal{done.back()});
      builder.add(host, Submit{queue});
    }
  }
  for (const SignalId signal : done) builder.add(host, Wait{signal});
  return std::move(builder).finish();
}

Program all_gather_per_rank(std::uint32_t ranks, std::uint64_t block, bool sent_first) {
  Gather g(ranks, block);
  const SignalId enter = g.builder.signal("enter");
  std::vector<SignalId> sent;
  std::vector<SignalId> arrived;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    sent.push_back(g.builder.signal(fmt::format("sent{}", r)));
    arrived.push_back(g.builder.signal(fmt::format("arrived{}", r)));
  }
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const QueueId host = g.builder.host_queue(fmt::format("host{}", i), RankId{i});
    g.builder.add(host, Signal{enter}).add(host, Wait{enter, ranks});
    for (std::uint32_t j = 0; j < ranks; ++j) {
      const QueueId queue = g.queue(i, j);
      g.builder.add(queue, g.copy(i, j));
      g.builder.add(queue, Signal{sent_first ? sent[i] : arrived[j]});
      g.builder.add(queue, Signal{sent_first ? arrived[j] : sent[i]});
      g.builder.add(host, Submit{queue});
    }
    g.builder.add(host, Wait{sent[i], ranks}).add(host, Wait{arrived[i], ranks});
  }
  return std::move(g.builder).finish();
}

Program reduce_scatter(std::uint32_t ranks, std::uint64_t block) {
  ProgramBuilder builder("test", "test", ranks);
  const Bytes size{block};
  std::vector<std::vector<Region>> blocks(ranks);
  std::vector<Region> outputs;
  std::vector<BufferId> scratch;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const BufferId in = builder.buffer(fmt::format("in{}", r), {r}, size * ranks, BufferRole::input);
    const BufferId out = builder.buffer(fmt::format("out{}", r), {r}, size, BufferRole::output);
    scratch.push_back(builder.buffer(fmt::format("scratch{}", r), {r}, size * ranks, BufferRole::scratch));
    for (std::uint32_t p = 0; p < ranks; ++p) blocks[r].push_back(make_region(in, size * p, size));
    outputs.push_back(make_region(out, {0}, size));
  }
  builder.contract(reduce_scatter_contract(blocks, outputs, DType::f32));
  const QueueId host = builder.host_queue("host");
  const SignalId reduced = builder.signal("reduced");
  for (std::uint32_t j = 0; j < ranks; ++j) {
    const SignalId arrived = builder.signal(fmt::format("arrived{}", j));
    std::vector<Region> sources;
    for (std::uint32_t i = 0; i < ranks; ++i) {
      sources.push_back(make_region(scratch[j], size * i, size));
      const QueueId queue = builder.dma_queue(fmt::format("dma{}.{}", i, j), {i}, {kFirstPeerEngine + j});
      builder.add(queue, Copy{blocks[i][j], sources.back()}).add(queue, Signal{arrived});
      builder.add(host, Submit{queue});
    }
    const QueueId stream = builder.compute_queue(fmt::format("stream{}", j), {j});
    builder.add(stream, Wait{arrived, ranks});
    builder.add(stream, Kernel{KernelOp::reduce, sources, outputs[j], DType::f32, {}});
    builder.add(stream, Signal{reduced});
    builder.add(host, Submit{stream});
  }
  builder.add(host, Wait{reduced, ranks});
  return std::move(builder).finish();
}

Program swap_in_place(std::uint64_t block) {
  ProgramBuilder builder("test", "test", 2);
  const Bytes size{block};
  std::vector<std::vector<Region>> blocks(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const BufferId buffer = builder.buffer(fmt::format("buffer{}", r), {r}, size * 2, BufferRole::inout);
    for (std::uint32_t p = 0; p < 2; ++p) blocks[r].push_back(make_region(buffer, size * p, size));
  }
  builder.contract(all_to_all_contract(blocks, blocks));
  const SignalId done = builder.signal("done");
  const QueueId dma = builder.dma_queue("dma", {0}, {kFirstPeerEngine + 1});
  builder.add(dma, Swap{blocks[0][1], blocks[1][0]}).add(dma, Signal{done});
  const QueueId host = builder.host_queue("host");
  builder.add(host, Submit{dma}).add(host, Wait{done});
  return std::move(builder).finish();
}

Program gemm_with_tile_signals() {
  // 4 x 4 elements of f32 in tiles of 2 x 4: two tiles, one below the other.
  ProgramBuilder builder("test", "test", 2);
  const auto matrix = [](BufferId id) { return Region{id, {0}, {16}, 4, {16}}; };
  const BufferId a = builder.buffer("a", {0}, {64}, BufferRole::input);
  const BufferId b = builder.buffer("b", {0}, {64}, BufferRole::input);
  const BufferId c = builder.buffer("c", {0}, {64}, BufferRole::scratch);
  const BufferId remote = builder.buffer("remote", {1}, {64}, BufferRole::output);
  const BufferId copy = builder.buffer("copy", {1}, {64}, BufferRole::output);
  Contract contract = point_to_point_contract(make_region(a, {0}, {64}), make_region(copy, {0}, {64}));
  contract.products.push_back({matrix(remote), {{{matrix(a)}, matrix(b)}}, DType::f32});
  builder.contract(contract);
  const SignalId tile = builder.signal("tile");
  const SignalId done = builder.signal("done");
  Gemm gemm{matrix(a), matrix(b), matrix(c), 4, 4, 4};
  gemm.tile_m = 2;
  gemm.tile_n = 4;
  gemm.raises = {{1, tile, 1}, {2, tile, 1}};
  const QueueId stream = builder.compute_queue("stream", {0});
  builder.add(stream, gemm);
  const QueueId dma = builder.dma_queue("dma", {0}, {kFirstPeerEngine + 1});
  builder.add(dma, Copy{make_region(a, {0}, {64}), make_region(copy, {0}, {64})});
  builder.add(dma, Wait{tile, 1}).add(dma, Copy{make_region(c, {0}, {32}), make_region(remote, {0}, {32})});
  builder.add(dma, Wait{tile, 2}).add(dma, Copy{make_region(c, {32}, {32}), make_region(remote, {32}, {32})});
  builder.add(dma, Signal{done});
  const QueueId host = builder.host_queue("host");
  builder.add(host, Submit{stream}).add(host, Submit{dma}).add(host, Wait{done});
  return std::move(builder).finish();
}

Program gemm_whose_tiles_wait() {
  // 4 x 4 elements of f32 in tiles of 2 x 4: two tiles, one below the other.
  ProgramBuilder builder("test", "test", 2);
  const auto matrix = [](BufferId id, std::uint64_t row, std::uint64_t rows) {
    return Region{id, Bytes{16 * row}, {16}, rows, {16}};
  };
  const BufferId a = builder.buffer("a", {0}, {64}, BufferRole::input);
  const BufferId b = builder.buffer("b", {0}, {64}, BufferRole::input);
  const BufferId c = builder.buffer("c", {0}, {64}, BufferRole::output);
  const BufferId rows = builder.buffer("rows", {1}, {32}, BufferRole::input);
  Contract contract{"product", {}};
  contract.products.push_back(
      {matrix(c, 0, 4), {{{matrix(a, 0, 2), matrix(rows, 0, 2)}, matrix(b, 0, 4)}}, DType::f32});
  builder.contract(contract);
  const SignalId arrived = builder.signal("arrived", RankId{0});
  const SignalId done = builder.signal("done");
  const QueueId dma = builder.dma_queue("dma", {1}, {kFirstPeerEngine + 1});
  builder.add(dma, Copy{make_region(rows, {0}, {32}), make_region(a, {32}, {32})}).add(dma, Signal{arrived});
  Gemm gemm{matrix(a, 0, 4), matrix(b, 0, 4), {}, 4, 4, 4};
  gemm.tile_m = 2;
  gemm.tile_n = 4;
  gemm.outputs = {{0, 0, 2, 4, matrix(c, 0, 2)}, {2, 0, 2, 4, matrix(c, 2, 2)}};
  gemm.waits = {{1, arrived, 1}};
  const QueueId stream = builder.compute_queue("stream", {0});
  builder.add(stream, gemm).add(stream, Signal{done});
  const QueueId host = builder.host_queue("host");
  builder.add(host, Submit{dma}).add(host, Submit{stream}).add(host, Wait{done});
  return std::move(builder).finish();
}

Program point_to_point(std::uint64_t bytes) {
  ProgramBuilder builder("test", "test", 2);
  const Region in = make_region(builder.buffer("in", {0}, {bytes}, BufferRole::input), {0}, {bytes});
  const Region out = make_region(builder.buffer("out", {1}, {bytes}, BufferRole::output), {0}, {bytes});
  builder.contract(point_to_point_contract(in, out));
  const SignalId done = builder.signal("done");
  const QueueId host = builder.host_queue("host");
  const QueueId dma = builder.dma_queue("dma", {0}, {kFirstPeerEngine + 1});
  builder.add(host, Submit{dma}).add(host, Wait{done});
  builder.add(dma, Copy{in, out}).add(dma, Signal{done});
  return std::move(builder).finish();
}

Program relay_with_credit(std::uint64_t bytes) {
  ProgramBuilder builder("test", "test", 2);
  const Region in = make_region(builder.buffer("in", {0}, {bytes}, BufferRole::input), {0}, {bytes});
  const Region middle = make_region(builder.buffer("middle", {1}, {bytes}, BufferRole::scratch), {0}, {bytes});
  const Region out = make_region(builder.buffer("out", {1}, {bytes}, BufferRole::output), {0}, {bytes});
  builder.contract(point_to_point_contract(in, out));
  const SignalId arrived = builder.signal("arrived");
  const SignalId credit = builder.signal("credit");
  const SignalId sent = builder.signal("sent");
  const QueueId first = builder.dma_queue("first", {0}, {kFirstPeerEngine + 1});
  const QueueId second = builder.dma_queue("second", {1}, {kFirstPeerEngine});
  const QueueId sender = builder.host_queue("sender", RankId{0});
  const QueueId receiver = builder.host_queue("receiver", RankId{1});
  builder.add(first, Wait{credit, 0}).add(first, Copy{in, middle});
  builder.add(first, Signal{arrived}).add(first, Signal{sent});
  builder.add(second, Wait{arrived}).add(second, Copy{middle, out}).add(second, Signal{credit});
  builder.add(sender, Submit{first}).add(sender, Wait{sent});
  builder.add(receiver, Submit{second}).add(receiver, Wait{credit});
  return std::move(builder).finish();
}

void promise_nothing(ProgramBuilder& builder) {
  const Region kept = make_region(builder.buffer("kept", {0}, {1}, BufferRole::inout), {0}, {1});
  builder.contract({"nothing", {{kept, {kept}}}, {}});
}

std::vector<Named> good_programs() {
  return {
      {"point_to_point", point_to_point()},
      {"relay_with_credit", relay_with_credit()},
      {"all_gather", all_gather(3)},
      {"all_gather_counter", all_gather_counter(3)},
      {"all_gather_prelaunched", all_gather_prelaunched(2)},
      {"all_gather_b2b", all_gather_b2b(3)},
      {"all_to_all", all_to_all(3)},
      {"all_gather_per_rank", all_gather_per_rank(3)},
      {"reduce_scatter", reduce_scatter(3)},
      {"swap_in_place", swap_in_place()},
      {"gemm_with_tile_signals", gemm_with_tile_signals()},
      {"gemm_whose_tiles_wait", gemm_whose_tiles_wait()},
      {"product_in_row_pieces", product_in_row_pieces()},
      {"product_in_k_panels", product_in_k_panels()},
      {"product_of_gathered_blocks", product_of_gathered_blocks(3)},
      {"product_of_chosen_rows", product_of_chosen_rows()},
      {"sum_of_products", sum_of_products(3)},
      {"ring_of_products", ring_of_products({3, 2, 1})},
      {"ring_of_products_split", ring_of_products({3, 1, 2})},
      {"ring_of_two", ring_of_products({2, 1, 1})},
      {"direct_sum_of_products", direct_sum_of_products({3, 2, 1})},
      {"direct_sum_of_products_split", direct_sum_of_products({2, 1, 2})},
  };
}

std::vector<Command>& commands_of(Program& program, const std::string& queue) {
  return std::ranges::find(program.queues, queue, &Queue::name)->commands;
}

std::vector<Diagnostic> errors_of(const Program& program, const VerifyOptions& options) {
  const auto result = check_program(program, test_machine(std::max(program.ranks, 1U)), options);
  return result ? std::vector<Diagnostic>{} : result.error();
}

std::vector<std::string> codes_of(const Program& program, const VerifyOptions& options) {
  std::vector<std::string> codes;
  for (const Diagnostic& error : errors_of(program, options)) codes.push_back(error.code);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

}  // namespace cortado::verifier::testing
