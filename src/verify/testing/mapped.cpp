#include "verify/testing/mapped.hpp"

#include <fmt/format.h>

namespace cortado::verifier::testing {
namespace {

constexpr Bytes kMappedElement{4};
constexpr std::uint64_t kK = 4;
constexpr std::uint64_t kN = 3;
constexpr Bytes kRow = kMappedElement * kN;

/// Operands, outputs and contract, a stream for each rank's GEMM, and a host that submits them all.
class Mapped {
 public:
  explicit Mapped(const MappedShape& s) : shape(s), rows(s.pieces * s.ranks), builder("test", "test", s.ranks) {
    for (std::uint32_t r = 0; r < s.ranks; ++r) {
      const auto buffer = [&](const char* name, Bytes size, BufferRole role) {
        return builder.buffer(fmt::format("{}{}", name, r), {r}, size, role);
      };
      a.push_back({buffer("a", kMappedElement * kK * rows, BufferRole::input),
                   {0},
                   kMappedElement * kK,
                   rows,
                   kMappedElement * kK});
      b.push_back({buffer("b", kRow * kK, BufferRole::input), {0}, kRow, kK, kRow});
      c.push_back({buffer("c", kRow * s.pieces, BufferRole::output), {0}, kRow, s.pieces, kRow});
      streams.push_back(builder.compute_queue(fmt::format("stream{}", r), {r}));
      builder.add(host, Submit{streams[r]});
    }
    Contract contract{"sum of products", {}, {}};
    for (std::uint32_t chunk = 0; chunk < s.ranks; ++chunk) {
      ProductClause clause{c[chunk], {}, DType::f32};
      for (std::uint32_t r = 0; r < s.ranks; ++r) {
        Region part = a[r];
        part.offset = part.row_offset(chunk * s.pieces);
        part.rows = s.pieces;
        clause.products.push_back({{part}, b[r]});
      }
      contract.products.push_back(clause);
    }
    builder.contract(contract);
  }

  Gemm product(std::uint32_t rank) const {
    Gemm gemm{a[rank], b[rank], {}, rows, kN, kK};
    gemm.tile_m = 1;
    gemm.tile_n = 2;
    gemm.split_k = shape.split_k;
    return gemm;
  }

  OutputBlock block(std::uint64_t chunk, const Region& to) const {
    return {chunk * shape.pieces, 0, shape.pieces, kN, to, CopyOp::add};
  }

  /// The stream of a rank computes the GEMM, and the host waits for it.
  void finish_stream(std::uint32_t rank, const Gemm& gemm) {
    builder.add(streams[rank], gemm).add(streams[rank], Signal{multiplied});
  }

  /// Trackers for all pieces of a chunk that the host waits for.
  void track_output(std::uint32_t rank, std::uint64_t updates) {
    for (std::uint64_t p = 0; p < shape.pieces; ++p) {
      builder.tracker({fmt::format("t{}.{}.{}", rank, rank, p), piece(c[rank], p), updates, done, 1});
    }
  }

  static Region piece(const Region& chunk, std::uint64_t index) {
    return make_region(chunk.buffer, chunk.row_offset(index), chunk.width);
  }

  Program close() && {
    builder.add(host, Wait{multiplied, shape.ranks}).add(host, Wait{done, shape.ranks * shape.pieces});
    return std::move(builder).finish();
  }

  MappedShape shape;
  std::uint64_t rows;
  ProgramBuilder builder;
  QueueId host = builder.host_queue("host");
  SignalId multiplied = builder.signal("multiplied");
  SignalId done = builder.signal("done");
  std::vector<Region> a, b, c;
  std::vector<QueueId> streams;
};

}  // namespace

Program ring_of_products(const MappedShape& shape) {
  constexpr EngineId kPeerEngine{2};
  Mapped p(shape);
  const std::uint32_t n = shape.ranks;
  std::vector<BufferId> chunks;
  std::vector<QueueId> queues;
  for (std::uint32_t r = 0; r < n; ++r) {
    chunks.push_back(p.builder.buffer(fmt::format("chunks{}", r), {r}, kRow * p.rows, BufferRole::scratch));
    queues.push_back(p.builder.dma_queue(fmt::format("dma{}", r), {r}, kPeerEngine));
    p.builder.add(p.host, Submit{queues[r]});
  }
  const SignalId sent = p.builder.signal("sent");
  const auto place = [&](std::uint32_t rank, std::uint32_t chunk) {
    if (rank == chunk) return p.c[rank];
    return Region{chunks[rank], kRow * (shape.pieces * chunk), kRow, shape.pieces, kRow};
  };
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::uint32_t next = (r + 1) % n;
    Gemm gemm = p.product(r);
    for (std::uint32_t i = 1; i <= n; ++i) {
      const std::uint32_t chunk = (r + n - i) % n;
      gemm.outputs.push_back(p.block(chunk, place(i == 1 ? next : r, chunk)));
      if (i == 1) continue;
      // The previous rank stored its first chunk here, or copied what it had.
      const std::uint64_t updates = shape.split_k + (i == 2 ? shape.split_k : 1);
      if (i == n) {
        p.track_output(r, updates);
        continue;
      }
      for (std::uint64_t q = 0; q < shape.pieces; ++q) {
        const std::string name = fmt::format("t{}.{}.{}", r, chunk, q);
        const SignalId complete = p.builder.signal(name);
        const Region piece = Mapped::piece(place(r, chunk), q);
        p.builder.tracker({name, piece, updates, complete, 1});
        p.builder.add(queues[r], Wait{complete});
        p.builder.add(queues[r], Copy{piece, Mapped::piece(place(next, chunk), q), CopyOp::add, DType::f32});
      }
    }
    p.finish_stream(r, gemm);
    p.builder.add(queues[r], Signal{sent});
  }
  p.builder.add(p.host, Wait{sent, n});
  return std::move(p).close();
}

Program direct_sum_of_products(const MappedShape& shape) {
  Mapped p(shape);
  for (std::uint32_t r = 0; r < shape.ranks; ++r) {
    Gemm gemm = p.product(r);
    for (std::uint32_t i = 1; i <= shape.ranks; ++i) {
      const std::uint32_t chunk = (r + i) % shape.ranks;
      gemm.outputs.push_back(p.block(chunk, p.c[chunk]));
    }
    p.finish_stream(r, gemm);
    p.track_output(r, shape.ranks * shape.split_k);
  }
  return std::move(p).close();
}

}  // namespace cortado::verifier::testing
