// The one place that knows which commands raise signals.
#pragma once

#include "cortado/ir/program.hpp"
#include "cortado/ir/visit.hpp"

namespace cortado::verifier {

/// Calls visit(SignalId, value, SignalOp) for every raise of the command, in the order they happen.
template <class Visitor>
void for_each_raise(const Command& command, Visitor&& visit) {
  match(
      command, [&](const Signal& s) { visit(s.signal, s.value, s.op); },
      [&](const Trigger& t) { visit(t.signal, t.value, SignalOp::add); },
      [&](const Gemm& gemm) {
        for (const TileSignal& raise : gemm.raises) visit(raise.signal, raise.value, SignalOp::add);
      },
      [](const auto&) {});
}

}  // namespace cortado::verifier
