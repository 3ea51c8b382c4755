#include "plan/layer/pairs.hpp"

#include <algorithm>
#include <optional>

#include "cortado/plan.hpp"

#include "base/check.hpp"

namespace cortado::plan {
namespace {

/// Adjacent regions of one buffer as one matrix with rows of `columns` elements.
Region one_matrix(const std::vector<Region>& parts, std::uint64_t columns) {
  CORTADO_CHECK(!parts.empty(), "a rank that has no part");
  Bytes first = parts.front().offset;
  Bytes bytes{};
  for (const Region& part : parts) {
    CORTADO_CHECK(part.buffer == parts.front().buffer, "one buffer a rank");
    first = std::min(first, part.offset);
    bytes += part.bytes();
  }
  Region all = matrix_region(parts.front().buffer, bytes.value / (kFloat * columns).value, columns);
  all.offset = first;
  return all;
}

void add_once(std::vector<Region>& parts, const Region& part) {
  if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
}

}  // namespace

Result<Program> Pairs::plan(Relation relation, Collective collective, const PairShape& shape) const {
  const OverlapProblem problem{.relation = relation,
                               .gemms = {{shape.m, shape.n, shape.k, DType::f32}},
                               .collectives = {{.collective = collective}},
                               .ranks = chain_.ranks()};
  return planner_(problem);
}

Result<Program> Pairs::plan_collective(Collective collective, Bytes bytes) const {
  CollectiveRequest request{.collective = collective,
                            .variant = std::string(kLibraryVariant),
                            .bytes = bytes,
                            .ranks = chain_.ranks(),
                            .dtype = DType::f32,
                            .host = HostThreads::per_rank};
  if (!library_variant(request, machine_)) request.variant = "pcpy";
  return cortado::plan_collective(request, machine_);
}

Result<std::vector<PairRank>> Pairs::alone(const std::string& name, const PairShape& shape, const Write& write) {
  const PairRank only{chain_.matrix("a." + name, 0, shape.m, shape.k, BufferRole::scratch),
                      chain_.matrix("b." + name, 0, shape.k, shape.n, BufferRole::input),
                      chain_.matrix("c." + name, 0, shape.m, shape.n, BufferRole::scratch)};
  write(0, only.a);
  chain_.multiply(0, only.a, only.b, only.c);
  return std::vector{only};
}

Result<std::vector<PairRank>> Pairs::gather_and_multiply(const std::string& name, const PairShape& shape,
                                                         const Write& write) {
  if (chain_.ranks() == 1) return alone(name, shape, write);
  std::vector<PairRank> ranks(chain_.ranks());
  if (!planner_) {
    CORTADO_ASSIGN_OR_RETURN(const std::vector<Region> gathered,
                             gather(name, shape.m / chain_.ranks(), shape.k, write));
    for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
      ranks[rank] = {gathered[rank], chain_.matrix("b." + name, rank, shape.k, shape.n, BufferRole::input),
                     chain_.matrix("c." + name, rank, shape.m, shape.n, BufferRole::scratch)};
      chain_.multiply(rank, ranks[rank].a, ranks[rank].b, ranks[rank].c);
    }
    return ranks;
  }
  CORTADO_ASSIGN_OR_RETURN(Program program, plan(Relation::gemm_needs_collective, "all-gather", shape));
  Chain::Stage stage = chain_.reserve(std::move(program), name);
  for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
    const ProductClause& clause = stage.contract.products[rank];
    ranks[rank] = {clause.products.front().a[rank], clause.products.front().b, clause.output};
    chain_.role(ranks[rank].b, BufferRole::input);
    write(rank, ranks[rank].a);
  }
  chain_.launch(std::move(stage));
  return ranks;
}

Result<std::vector<PairRank>> Pairs::multiply_and_reduce(const std::string& name, const PairShape& shape,
                                                         const Write& write) {
  if (chain_.ranks() == 1) return alone(name, shape, write);
  std::vector<PairRank> ranks(chain_.ranks());
  if (!planner_) {
    CORTADO_ASSIGN_OR_RETURN(Program program, plan_collective("reduce-scatter", kFloat * shape.m * shape.n));
    Chain::Stage stage = chain_.reserve(std::move(program), name);
    std::vector<std::vector<Region>> partial(chain_.ranks());
    for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
      const Clause& clause = stage.contract.clauses[rank];
      ranks[rank].c = one_matrix({clause.output}, shape.n);
      for (std::uint32_t from = 0; from < chain_.ranks(); ++from) add_once(partial[from], clause.terms[from]);
    }
    for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
      ranks[rank].a = chain_.matrix("a." + name, rank, shape.m, shape.k, BufferRole::scratch);
      ranks[rank].b = chain_.matrix("b." + name, rank, shape.k, shape.n, BufferRole::input);
      write(rank, ranks[rank].a);
      chain_.multiply(rank, ranks[rank].a, ranks[rank].b, one_matrix(partial[rank], shape.n));
    }
    chain_.launch(std::move(stage));
    return ranks;
  }
  CORTADO_ASSIGN_OR_RETURN(Program program, plan(Relation::collective_needs_gemm, "reduce-scatter", shape));
  Chain::Stage stage = chain_.reserve(std::move(program), name);
  std::vector<std::vector<Region>> a(chain_.ranks());
  for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
    const ProductClause& clause = stage.contract.products[rank];
    ranks[rank].c = clause.output;
    for (std::uint32_t from = 0; from < chain_.ranks(); ++from) {
      add_once(a[from], clause.products[from].a.front());
      ranks[from].b = clause.products[from].b;
    }
  }
  for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
    ranks[rank].a = one_matrix(a[rank], shape.k);
    chain_.role(ranks[rank].b, BufferRole::input);
    write(rank, ranks[rank].a);
  }
  chain_.launch(std::move(stage));
  return ranks;
}

Result<std::vector<Region>> Pairs::gather(const std::string& name, std::uint64_t block_rows, std::uint64_t columns,
                                          const Write& write) {
  if (chain_.ranks() == 1) {
    const Region only = chain_.matrix("all." + name, 0, block_rows, columns, BufferRole::scratch);
    write(0, only);
    return std::vector{only};
  }
  CORTADO_ASSIGN_OR_RETURN(Program program,
                           plan_collective("all-gather", kFloat * block_rows * columns * chain_.ranks()));
  Chain::Stage stage = chain_.reserve(std::move(program), name);
  std::vector<std::vector<Region>> gathered(chain_.ranks());
  std::vector<std::optional<Region>> own(chain_.ranks());
  for (const Clause& clause : stage.contract.clauses) {
    gathered[chain_.rank_of(clause.output)].push_back(clause.output);
    own[chain_.rank_of(clause.terms.front())] = clause.terms.front();
  }
  std::vector<Region> all;
  for (std::uint32_t rank = 0; rank < chain_.ranks(); ++rank) {
    write(rank, one_matrix({*own[rank]}, columns));
    all.push_back(one_matrix(gathered[rank], columns));
  }
  chain_.launch(std::move(stage));
  return all;
}

}  // namespace cortado::plan
