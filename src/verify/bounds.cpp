// verify.bounds: regions lie inside their buffers, and the regions of one command fit each other.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/tiles.hpp"
#include "ir/visit.hpp"
#include "verify/fit_check.hpp"
#include "verify/naming.hpp"
#include "verify/region_owners.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {
namespace {

/// Rows and columns of a tile. Simulator and devices count in this range; compute units have room for far less.
constexpr std::uint64_t kLargestTile = 65536;

/// The output map of a GEMM contains every element of C exactly once, and its blocks fit where they go.
bool check_map(FitCheck& fit, const Gemm& gemm) {
  if (gemm.c != Region{}) {
    return fit.error("a gemm with both an output map and a region C", "drop C: the map says where it goes");
  }
  if (gemm.accumulate) return fit.error("a gemm with an output map that accumulates", "use blocks with op add");
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(gemm.m, gemm.n, &elements) || elements > kMaxOffset) {
    return fit.error(fmt::format("{} x {} elements of C are too many", gemm.m, gemm.n),
                     "no memory has room for that many");
  }
  std::vector<Region> places;  // in C, counted in elements
  std::vector<Region> regions;
  for (const OutputBlock& block : gemm.outputs) {
    const bool inside = block.rows > 0 && block.columns > 0 && block.rows <= gemm.m && block.columns <= gemm.n &&
                        block.row <= gemm.m - block.rows && block.column <= gemm.n - block.columns;
    if (!inside) {
      return fit.error(fmt::format("{} is empty or leaves the {} x {} elements of C", block_name(gemm, places.size()),
                                   gemm.m, gemm.n),
                       "blocks must lie inside C");
    }
    const auto name = [&] { return "the place of " + block_name(gemm, places.size()); };
    fit.matrix(block.to, name, block.rows, block.columns, gemm.dtype);
    fit.apart(gemm.a, block.to);
    fit.apart(gemm.b, block.to);
    places.push_back({{0}, Bytes{block.row * gemm.n + block.column}, Bytes{block.columns}, block.rows, Bytes{gemm.n}});
    regions.push_back(block.to);
  }
  const Region whole{{0}, {0}, Bytes{gemm.n}, gemm.m, Bytes{gemm.n}};
  const RegionOwners in_c(places, std::span(&whole, 1));
  if (const auto two = in_c.overlap()) {
    return fit.error(fmt::format("{} and {} both contain some element of C", block_name(gemm, two->first),
                                 block_name(gemm, two->second)),
                     "put every element of C in exactly one block");
  }
  bool complete = true;
  in_c.visit(whole, [&](const Strips::Cell& cell, std::uint32_t owner) {
    if (owner != kNoOwner || !complete) return;
    const std::uint64_t at = in_c.strips({0}).first_run(cell).first;
    complete =
        fit.error(fmt::format("the output map has no block for row {}, column {} of C", at / gemm.n, at % gemm.n),
                  "put every element of C in exactly one block");
  });
  if (!complete) return false;
  if (const auto two = RegionOwners(regions, {}).overlap()) {
    return fit.error(
        fmt::format("{} and {} go to the same bytes", block_name(gemm, two->first), block_name(gemm, two->second)),
        "give every block its own place");
  }
  return true;
}

void check_gemm(FitCheck& fit, const Gemm& gemm) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0 || gemm.tile_m == 0 || gemm.tile_n == 0) {
    fit.error("a gemm with an empty matrix or tile", "m, n, k, tile_m and tile_n must be at least 1");
    return;
  }
  if (gemm.tile_m > kLargestTile || gemm.tile_n > kLargestTile) {
    fit.error(fmt::format("a gemm with tiles of {} x {}", gemm.tile_m, gemm.tile_n),
              fmt::format("tile_m and tile_n may be at most {}", kLargestTile));
    return;
  }
  fit.multiplied(gemm.dtype);
  if (gemm.split_k == 0 || gemm.split_k > gemm.k) {
    fit.error(fmt::format("{} workgroups share {} steps of k", gemm.split_k, gemm.k), "split_k must be from 1 to k");
  }
  fit.matrix(gemm.a, "A", gemm.m, gemm.k, gemm.dtype);
  fit.matrix(gemm.b, "B", gemm.k, gemm.n, gemm.dtype);
  if (gemm.outputs.empty()) {
    fit.matrix(gemm.c, "C", gemm.m, gemm.n, gemm.dtype);
    fit.apart(gemm.a, gemm.c);
    fit.apart(gemm.b, gemm.c);
  } else if (!check_map(fit, gemm)) {
    return;
  }
  const std::uint64_t tiles = tile_count(gemm);
  std::uint64_t last = 0;
  for (const TileSignal& raise : gemm.raises) {
    if (raise.tiles == 0 || raise.tiles > tiles || raise.tiles < last) {
      fit.error(fmt::format("raises a signal after {} of {} tiles, following one after {}", raise.tiles, tiles, last),
                "tile counts must ascend from 1 to the number of tiles");
    }
    last = raise.tiles;
  }
  if (!gemm.waits.empty() && gemm.outputs.empty()) {
    fit.error("tiles wait, but there is no output map", "add a map: its blocks define the order of the tiles");
  }
  last = 0;
  for (const TileWait& wait : gemm.waits) {
    if (wait.tiles >= tiles || wait.tiles < last) {
      fit.error(fmt::format("a wait from tile {} of {} on, following one from {} on", wait.tiles, tiles, last),
                "tile numbers must ascend from 0 and stay below the number of tiles");
    }
    last = wait.tiles;
  }
}

void check_trackers(const Program& program, Findings& findings) {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < program.trackers.size(); ++i) {
    const Spot place = Spot::tracker(program, i);
    if (FitCheck(program, findings, place).inside(program.trackers[i].region)) {
      regions.push_back(program.trackers[i].region);
    }
  }
  if (regions.size() != program.trackers.size()) return;
  if (const auto two = RegionOwners(regions, {}).overlap()) {
    findings.add(Spot::tracker(program, two->second),
                 fmt::format("{} and {} watch the same bytes", tracker_name(program, two->first),
                             tracker_name(program, two->second)),
                 "a byte can have at most one tracker");
  }
}

/// Further destinations of a sum: same shape as the first, and disjoint from it and from each other.
void check_also(FitCheck& fit, const Kernel& kernel) {
  for (std::size_t i = 0; i < kernel.also.size(); ++i) {
    const Region& also = kernel.also[i];
    fit.same_shape(also, kernel.dst);
    fit.whole_elements(also, kernel.dtype);
    fit.apart(also, kernel.dst);
    for (std::size_t j = 0; j < i; ++j) fit.apart(also, kernel.also[j]);
    for (const Region& term : kernel.sources) {
      if (term != also) fit.apart(term, also);
    }
  }
}

void check_kernel(FitCheck& fit, const Kernel& kernel) {
  if (kernel.sources.empty() || (kernel.op != KernelOp::reduce && kernel.sources.size() != 1)) {
    fit.error(fmt::format("{} with {} sources", to_string(kernel.op), kernel.sources.size()),
              "reduce takes at least one source; gather and scatter exactly one");
    return;
  }
  const Region& source = kernel.sources.front();
  if (kernel.op == KernelOp::reduce) {
    if (!kernel.rows.empty()) {
      fit.error("a sum with row numbers", "only kernels that gather or scatter rows have them: drop rows");
    }
    fit.whole_elements(kernel.dst, kernel.dtype);
    for (const Region& term : kernel.sources) {
      fit.same_shape(term, kernel.dst);
      fit.whole_elements(term, kernel.dtype);
      if (term != kernel.dst) fit.apart(term, kernel.dst);
    }
    check_also(fit, kernel);
    return;
  }
  if (!kernel.also.empty()) fit.error("gathers or scatters rows to several destinations", "only sums can have several");
  if (source.width != kernel.dst.width)
    fit.error("source and destination rows have different widths", "rows are moved whole");
  fit.apart(source, kernel.dst);
  if (kernel.op == KernelOp::gather_rows) {
    fit.row_numbers(kernel, source, kernel.dst);
    return;
  }
  fit.row_numbers(kernel, kernel.dst, source);
  std::vector<std::uint64_t> sorted = kernel.rows;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    fit.error(fmt::format("scatters two rows to row {}", *twice), "use each destination row at most once");
  }
}

void check_command(FitCheck& fit, const Command& command) {
  if (!fit.all_inside(command)) return;
  match(
      command,
      [&](const Copy& copy) {
        fit.same_shape(copy.src, copy.dst);
        fit.apart(copy.src, copy.dst);
        if (copy.op != CopyOp::add) return;
        fit.whole_elements(copy.src, copy.dtype);
        fit.whole_elements(copy.dst, copy.dtype);
      },
      [&](const Broadcast& broadcast) {
        for (const Region* region : {&broadcast.src, &broadcast.dst1, &broadcast.dst2}) fit.one_row(*region);
        fit.same_shape(broadcast.src, broadcast.dst1);
        fit.same_shape(broadcast.src, broadcast.dst2);
        fit.apart(broadcast.src, broadcast.dst1);
        fit.apart(broadcast.src, broadcast.dst2);
        fit.apart(broadcast.dst1, broadcast.dst2);
      },
      [&](const Swap& swap) {
        fit.one_row(swap.a);
        fit.one_row(swap.b);
        fit.same_shape(swap.a, swap.b);
        fit.apart(swap.a, swap.b);
      },
      [&](const Gemm& gemm) { check_gemm(fit, gemm); }, [&](const Kernel& kernel) { check_kernel(fit, kernel); },
      [&](const Call& call) { check_call(fit, call); }, [](const auto&) {});
}

void check_clause(FitCheck& fit, const Program& program, const Clause& clause) {
  bool good = fit.inside(clause.output);
  for (const Region& term : clause.terms) good = fit.inside(term) && good;
  if (clause.terms.empty()) fit.error("a clause without terms", "say which input bytes make up the output");
  if (!good) return;
  for (const Region& term : clause.terms) {
    if (term.bytes() != clause.output.bytes()) {
      fit.error(fmt::format("{} has {} bytes but its term {} has {}", to_string(program, clause.output),
                            clause.output.bytes().value, to_string(program, term), term.bytes().value),
                "all regions of a clause must have the same number of bytes");
    }
    if (clause.terms.size() > 1) fit.whole_elements(term, clause.dtype);
  }
  if (clause.terms.size() > 1) fit.whole_elements(clause.output, clause.dtype);
}

void check_product(FitCheck& fit, const Program& program, const Product& product, const ProductClause& clause) {
  const std::uint64_t element = size_of(clause.dtype).value;
  const Region& output = clause.output;
  fit.matrix(product.b, "B", product.b.rows, output.width.value / element, clause.dtype);
  std::uint64_t rows = 0;
  for (const Region& block : product.a) {
    fit.matrix(block, "a block of A", block.rows, product.b.rows, clause.dtype);
    rows += block.rows;
  }
  if (rows != output.rows) {
    fit.error(fmt::format("the blocks of A have {} rows but {} has {}", rows, to_string(program, output), output.rows),
              "provide one row of A for each row of the output");
  }
}

void check_products(FitCheck& fit, const Program& program, const ProductClause& clause) {
  bool good = fit.inside(clause.output);
  for (const Product& product : clause.products) {
    for (const Region& block : product.a) good = fit.inside(block) && good;
    good = fit.inside(product.b) && good;
  }
  if (clause.products.empty()) fit.error("a product clause without products", "say what the output is");
  fit.multiplied(clause.dtype);
  if (!good) return;
  fit.whole_elements(clause.output, clause.dtype);
  for (const Product& product : clause.products) check_product(fit, program, product, clause);
}

void check_formula(const Program& program, Findings& findings) {
  const Formula& formula = program.contract.formula;
  if (formula.steps.empty() && formula.outputs.empty()) return;
  const Program steps = formula_program(program);
  for (std::size_t i = 0; i < formula.steps.size() && !findings.full(); ++i) {
    const Spot place = Spot::formula_step(i);
    FitCheck fit(steps, findings, place);
    check_command(fit, formula.steps[i]);
  }
  for (std::size_t i = 0; i < formula.outputs.size() && !findings.full(); ++i) {
    const Spot place = Spot::formula_output(i);
    FitCheck fit(steps, findings, place);
    const auto& [output, value] = formula.outputs[i];
    if (!fit.inside(output) || !fit.inside(value) || output.bytes() == value.bytes()) continue;
    fit.error(fmt::format("{} has {} bytes but {} has {}", to_string(steps, output), output.bytes().value,
                          to_string(steps, value), value.bytes().value),
              "an output and its value must have the same number of bytes");
  }
}

}  // namespace

void check_bounds(Subject& subject, Findings& findings) {
  const Program& program = subject.program();
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const auto& commands = program.queues[q].commands;
    for (std::size_t c = 0; c < commands.size(); ++c) {
      if (findings.full()) return;
      const Spot place(program, QueueId{q}, c);
      FitCheck fit(program, findings, place);
      check_command(fit, commands[c]);
    }
  }
  check_trackers(program, findings);
  for (std::size_t i = 0; i < program.contract.clauses.size() && !findings.full(); ++i) {
    const Spot place = Spot::clause(i);
    FitCheck fit(program, findings, place);
    check_clause(fit, program, program.contract.clauses[i]);
  }
  for (std::size_t i = 0; i < program.contract.products.size() && !findings.full(); ++i) {
    const Spot place = Spot::product(i);
    FitCheck fit(program, findings, place);
    check_products(fit, program, program.contract.products[i]);
  }
  check_formula(program, findings);
}

}  // namespace cortado::verifier
