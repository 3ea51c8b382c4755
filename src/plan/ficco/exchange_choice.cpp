#include "plan/ficco/exchange_choice.hpp"

#include <algorithm>

#include "plan/ficco/composers.hpp"
#include "plan/ficco/exchange_cost.hpp"
#include "plan/ficco/row_blocks.hpp"

namespace cortado::plan {
namespace {

/// For an exchange before the GEMM.
class Loads {
 public:
  Loads(const FiccoSchedule& way, const Exchange& exchange, const Steps& steps, const Machine& machine, Bench& bench)
      : way_(way), exchange_(exchange), steps_(steps), machine_(machine), bench_(bench) {}

  StepLoad of(std::uint32_t step) {
    StepLoad load{.peers = bench_.ranks() - 1, .steps = steps_.count()};
    std::vector<Piece> most;  // the most that a rank multiplies in the step
    for (std::uint32_t to = 0; to < bench_.ranks(); ++to) {
      std::vector<Piece> pieces = steps_.received(step, to);
      for (const Piece& piece : pieces) {
        if (piece.from != to) load.piece = std::max(load.piece, bench_.bytes(piece.columns.count) * piece.rows());
      }
      if (total_rows(pieces) > total_rows(most)) most = std::move(pieces);
    }
    load.in_turn = is_staged(way_);
    load.same = exchange_.gathers() && !has_panels(way_);
    if (most.empty()) return load;
    load.products = products(most);
    load.step_kernels = load.products + other_kernels(most);
    if (!steps_.with_own()) load.own_kernels = product({steps_.own(most.front().to)});
    return load;
  }

 private:
  double products(const std::vector<Piece>& pieces) {
    if (way_.grain != Grain::chunks || way_.fused) return product(pieces);
    double all = 0;
    for (const Piece& piece : pieces) all += product({piece});
    return all;
  }

  /// Copies of own rows into the staging, and of rows of the GEMM to their places.
  double other_kernels(const std::vector<Piece>& pieces) const {
    if (!is_staged(way_)) return 0;
    const bool scatters = !has_panels(way_) && !stand_together(pieces, &Piece::placed);
    return static_cast<double>(machine_.timing->cores.start.value) * (steps_.with_own() + scatters);
  }

  double product(const std::vector<Piece>& pieces) {
    const Span& columns = pieces.front().columns;
    const GemmShape shape{total_rows(pieces), bench_.gemm().n, columns.count, bench_.gemm().dtype, columns.begin > 0};
    return shape.m == 0 ? 0 : bench_.time_of(shape);
  }

  const FiccoSchedule& way_;
  const Exchange& exchange_;
  const Steps& steps_;
  const Machine& machine_;
  Bench& bench_;
};

}  // namespace

std::vector<ExchangeVariant> choose_exchanges(const DependentRequest& request, const FiccoSchedule& way,
                                              const Exchange& exchange, const Steps& steps, const Machine& machine,
                                              Bench& bench) {
  const bool no_choice = way.means == CollectiveMeans::cores || way.grain == Grain::shards || bench.only();
  const bool automatic = way.exchange == ExchangeVariant::automatic;
  if (no_choice || (automatic && request.dependence == Dependence::product_first)) {
    return std::vector(steps.count(), ExchangeVariant::pcpy);
  }
  if (!automatic) return std::vector(steps.count(), way.exchange);
  Loads loads(way, exchange, steps, machine, bench);
  std::vector<ExchangeVariant> variants;
  for (std::uint32_t step = 0; step < steps.count(); ++step) {
    variants.push_back(fastest_exchange(loads.of(step), machine));
  }
  return variants;
}

}  // namespace cortado::plan
