#include "verify/testing/products.hpp"

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "verify/testing/programs.hpp"

namespace cortado::verifier::testing {
namespace {

constexpr Bytes kElement{4};

/// A matrix of f32 elements without gaps.
Region matrix(BufferId buffer, std::uint64_t rows, std::uint64_t columns) {
  return {buffer, {0}, kElement * columns, rows, kElement * columns};
}

/// Rows and columns of a matrix.
Region part(const Region& matrix, std::uint64_t row, std::uint64_t rows, std::uint64_t column, std::uint64_t columns) {
  return {matrix.buffer, matrix.row_offset(row) + kElement * column, kElement * columns, rows, matrix.pitch};
}

Gemm product(const Region& a, const Region& b, const Region& c) {
  return {a, b, c, a.rows, b.width.value / kElement.value, b.rows};
}

/// a (4 x 8), b (8 x 3) and c on one rank, and a compute queue that the host waits for.
struct OneRank {
  OneRank() {
    a = matrix(builder.buffer("a", {0}, kElement * 32, BufferRole::input), 4, 8);
    b = matrix(builder.buffer("b", {0}, kElement * 24, BufferRole::input), 8, 3);
    c = matrix(builder.buffer("c", {0}, kElement * 12, BufferRole::output), 4, 3);
    builder.contract({"product", {}, {product_clause(product(a, b, c))}});
    stream = builder.compute_queue("stream", {0});
  }
  Program close() && {
    const SignalId done = builder.signal("done");
    const QueueId host = builder.host_queue("host");
    builder.add(stream, Signal{done}).add(host, Submit{stream}).add(host, Wait{done});
    return std::move(builder).finish();
  }

  ProgramBuilder builder{"test", "test", 1};
  Region a, b, c;
  QueueId stream;
};

}  // namespace

Program whole_product() {
  OneRank p;
  p.builder.add(p.stream, product(p.a, p.b, p.c));
  return std::move(p).close();
}

Program product_in_row_pieces() {
  OneRank p;
  for (const std::uint64_t row : {0ULL, 2ULL}) {
    p.builder.add(p.stream, product(part(p.a, row, 2, 0, 8), p.b, part(p.c, row, 2, 0, 3)));
  }
  return std::move(p).close();
}

Program product_in_k_panels() {
  OneRank p;
  Gemm second = product(part(p.a, 0, 4, 4, 4), part(p.b, 4, 4, 0, 3), p.c);
  second.accumulate = true;
  p.builder.add(p.stream, product(part(p.a, 0, 4, 0, 4), part(p.b, 0, 4, 0, 3), p.c)).add(p.stream, second);
  return std::move(p).close();
}

Program product_of_chosen_rows() {
  OneRank p;
  const std::vector<std::uint64_t> rows{3, 1, 0, 2};
  const Region chosen = matrix(p.builder.buffer("chosen", {0}, kElement * 32, BufferRole::scratch), 4, 8);
  p.builder.add(p.stream, Kernel{KernelOp::gather_rows, {p.a}, chosen, DType::u8, rows});
  p.builder.add(p.stream, product(chosen, p.b, p.c));
  Product chosen_times_b{{}, p.b};
  for (const std::uint64_t row : rows) chosen_times_b.a.push_back(part(p.a, row, 1, 0, 8));
  p.builder.contract({"chosen rows", {}, {{p.c, {chosen_times_b}, DType::f32}}});
  return std::move(p).close();
}

Program product_of_gathered_blocks(std::uint32_t ranks) {
  constexpr std::uint64_t kK = 4;
  constexpr std::uint64_t kN = 3;
  ProgramBuilder builder("test", "test", ranks);
  std::vector<Region> a, b, c, gathered;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    a.push_back(matrix(builder.buffer(fmt::format("a{}", r), {r}, kElement * 2 * kK, BufferRole::input), 2, kK));
    b.push_back(matrix(builder.buffer(fmt::format("b{}", r), {r}, kElement * kK * kN, BufferRole::input), kK, kN));
    const BufferId all =
        builder.buffer(fmt::format("gathered{}", r), {r}, kElement * 2 * kK * ranks, BufferRole::scratch);
    gathered.push_back(matrix(all, 2ULL * ranks, kK));
    const BufferId out = builder.buffer(fmt::format("c{}", r), {r}, kElement * 2 * kN * ranks, BufferRole::output);
    c.push_back(matrix(out, 2ULL * ranks, kN));
  }
  Contract contract{"gathered product", {}, {}};
  const QueueId host = builder.host_queue("host");
  const SignalId done = builder.signal("done");
  for (std::uint32_t to = 0; to < ranks; ++to) {
    const SignalId arrived = builder.signal(fmt::format("arrived{}", to));
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const QueueId dma = builder.dma_queue(fmt::format("dma{}.{}", from, to), {from}, {kFirstPeerEngine + to});
      builder.add(dma, Copy{a[from], part(gathered[to], 2ULL * from, 2, 0, kK)}).add(dma, Signal{arrived});
      builder.add(host, Submit{dma});
    }
    const QueueId stream = builder.compute_queue(fmt::format("stream{}", to), {to});
    builder.add(stream, Wait{arrived, ranks}).add(stream, product(gathered[to], b[to], c[to]));
    builder.add(stream, Signal{done}).add(host, Submit{stream});
    contract.products.push_back({c[to], {{a, b[to]}}, DType::f32});
  }
  builder.add(host, Wait{done, ranks});
  builder.contract(contract);
  return std::move(builder).finish();
}

Program sum_of_products(std::uint32_t ranks) {
  constexpr std::uint64_t kN = 3;
  const std::uint64_t m = 2ULL * ranks;
  ProgramBuilder builder("test", "test", ranks);
  std::vector<Region> a, b, c, partial, parts;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    a.push_back(matrix(builder.buffer(fmt::format("a{}", r), {r}, kElement * 2 * m, BufferRole::input), m, 2));
    b.push_back(matrix(builder.buffer(fmt::format("b{}", r), {r}, kElement * 2 * kN, BufferRole::input), 2, kN));
    c.push_back(matrix(builder.buffer(fmt::format("c{}", r), {r}, kElement * 2 * kN, BufferRole::output), 2, kN));
    const Bytes size = kElement * kN * m;
    partial.push_back(matrix(builder.buffer(fmt::format("partial{}", r), {r}, size, BufferRole::scratch), m, kN));
    parts.push_back(matrix(builder.buffer(fmt::format("parts{}", r), {r}, size, BufferRole::scratch), m, kN));
  }
  const QueueId host = builder.host_queue("host");
  const SignalId done = builder.signal("done");
  std::vector<SignalId> multiplied, arrived;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    multiplied.push_back(builder.signal(fmt::format("multiplied{}", r)));
    arrived.push_back(builder.signal(fmt::format("arrived{}", r)));
    const QueueId stream = builder.compute_queue(fmt::format("stream{}", r), {r});
    builder.add(stream, product(a[r], b[r], partial[r])).add(stream, Signal{multiplied[r]}).add(host, Submit{stream});
  }
  Contract contract{"sum of products", {}, {}};
  for (std::uint32_t to = 0; to < ranks; ++to) {
    ProductClause clause{c[to], {}, DType::f32};
    std::vector<Region> sources;
    for (std::uint32_t from = 0; from < ranks; ++from) {
      sources.push_back(part(parts[to], 2ULL * from, 2, 0, kN));
      clause.products.push_back({{part(a[from], 2ULL * to, 2, 0, 2)}, b[from]});
      const QueueId dma = builder.dma_queue(fmt::format("dma{}.{}", from, to), {from}, {kFirstPeerEngine + to});
      builder.add(dma, Wait{multiplied[from]});
      builder.add(dma, Copy{part(partial[from], 2ULL * to, 2, 0, kN), sources.back()}).add(dma, Signal{arrived[to]});
      builder.add(host, Submit{dma});
    }
    contract.products.push_back(clause);
    const QueueId stream = builder.compute_queue(fmt::format("sum{}", to), {to});
    builder.add(stream, Wait{arrived[to], ranks});
    builder.add(stream, Kernel{KernelOp::reduce, sources, c[to], DType::f32, {}}).add(stream, Signal{done});
    builder.add(host, Submit{stream});
  }
  builder.add(host, Wait{done, ranks});
  builder.contract(contract);
  return std::move(builder).finish();
}

}  // namespace cortado::verifier::testing
