// The maps of the usual collectives, and the single list of them. In every ring, rank r comes before rank r+1, and the
// last one before rank 0.
#include "plan/t3.hpp"

namespace cortado {
namespace {

// Every chunk is stored directly where its sum belongs: rank r computes those of ranks r+1, r+2, ... and its own last,
// interleaved, so that all links are in use and every rank is written to by all others at any time.
std::vector<T3Map> direct_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.remote_map(peer, RankId{peer}, CopyOp::add);
    }
    map.keep(rank, ranks * split_k).in_turns();
  }
  return maps;
}

// Every chunk is stored locally; engines add each piece, as soon as it is computed, to the rank where the sum belongs,
// with one DMA command. If engines use links better than stores of compute units do, this is faster than direct stores,
// at the cost of one more write and read.
std::vector<T3Map> engines_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.dma_map(peer, {RankId{peer}, CopyOp::add}, split_k);
    }
    map.keep(rank, split_k + ranks - 1).in_turns();
  }
  return maps;
}

// Chunk c starts on rank c+1 and goes around the ring until it is complete on rank c; each rank on the way adds its
// own.
//
//   rank r computes chunks  r-1               directly into its slot on rank r+1
//                           r-2, ..., r+1     locally; passed on when the sum of the previous ranks has been added
//                           r                 locally; complete when that sum has been added
//
// What arrives for the second chunk are the stores of the neighbour's first: split_k updates. All later ones arrive
// with one DMA command: one update.
std::vector<T3Map> ring_reduce_scatter(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const RankId next{(rank + 1) % ranks};
    T3Map& map = maps.emplace_back(ranks);
    map.remote_map((rank + ranks - 1) % ranks, next, CopyOp::add);
    for (std::uint32_t step = 2; step <= ranks; ++step) {
      const std::uint32_t chunk = (rank + ranks - step) % ranks;
      const std::uint64_t updates = split_k + (step == 2 ? split_k : 1);
      if (step < ranks) {
        map.dma_map(chunk, {next, CopyOp::add}, updates);
      } else {
        map.keep(chunk, updates);
      }
    }
  }
  return maps;
}

// A GEMM is one chunk, that of rank s in slot s everywhere. Every piece goes to all other ranks when it is computed,
// with one DMA command each.
std::vector<T3Map> direct_all_gather(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<DmaOperation> all;
    for (std::uint32_t step = 1; step < ranks; ++step) all.push_back({RankId{(rank + step) % ranks}});
    T3Map& map = maps.emplace_back(1);
    map.dma_map(0, all, split_k, {}, rank);
    for (const DmaOperation& from : all) map.receive(0, 1, from.to.value);
  }
  return maps;
}

// A GEMM is one chunk, that of rank s in slot s everywhere. Its pieces travel as they are computed, and every rank
// except the last one of the ring passes on what it receives.
std::vector<T3Map> ring_all_gather(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const DmaOperation pass_on{RankId{(rank + 1) % ranks}};
    T3Map& map = maps.emplace_back(1);
    map.dma_map(0, pass_on, split_k, {}, rank);
    for (std::uint32_t hops = 1; hops + 1 < ranks; ++hops) map.relay(0, pass_on, 1, {}, (rank + ranks - hops) % ranks);
    map.receive(0, 1, (rank + 1) % ranks);
  }
  return maps;
}

// Chunk p of the GEMM of rank r is stored directly into slot r of rank p. Rank r computes those of ranks r+1, r+2, ...
// and its own last, interleaved.
std::vector<T3Map> direct_all_to_all(std::uint32_t ranks, std::uint64_t split_k) {
  const CopyOp op = split_k > 1 ? CopyOp::add : CopyOp::store;  // every workgroup of a tile has a part of the sum
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.remote_map(peer, RankId{peer}, op, rank);
    }
    map.keep(rank, split_k).in_turns();
    for (std::uint32_t step = 1; step < ranks; ++step) map.receive(rank, split_k, (rank + step) % ranks);
  }
  return maps;
}

// Chunk p of the GEMM of rank r is stored locally; an engine brings each piece to slot r of rank p as soon as it is
// computed.
std::vector<T3Map> engines_all_to_all(std::uint32_t ranks, std::uint64_t split_k) {
  std::vector<T3Map> maps;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    T3Map& map = maps.emplace_back(ranks);
    for (std::uint32_t step = 1; step < ranks; ++step) {
      const std::uint32_t peer = (rank + step) % ranks;
      map.dma_map(peer, {RankId{peer}, CopyOp::store, rank}, split_k, {}, ranks + peer);
    }
    map.keep(rank, split_k).in_turns();
    for (std::uint32_t step = 1; step < ranks; ++step) map.receive(rank, 1, (rank + step) % ranks);
  }
  return maps;
}

}  // namespace

std::vector<T3Preset> list_t3_presets() {
  return {
      {"reduce-scatter", "direct", "chunks are stored where they are added up", direct_reduce_scatter},
      {"reduce-scatter", "engines", "chunks are stored at home, engines add their pieces up as they are made",
       engines_reduce_scatter},
      {"reduce-scatter", "ring", "sums go from neighbour to neighbour", ring_reduce_scatter},
      {"all-gather", "direct", "pieces go to all ranks as they are made", direct_all_gather},
      {"all-gather", "ring", "pieces go from neighbour to neighbour as they are made", ring_all_gather},
      {"all-to-all", "direct", "chunks are stored where they belong", direct_all_to_all},
      {"all-to-all", "engines", "chunks are stored at home, engines take their pieces away as they are made",
       engines_all_to_all},
  };
}

}  // namespace cortado
