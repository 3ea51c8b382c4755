// A model of 80 layers by all systems: with nothing known before, and with what GEMMs and collectives take known.
#include "cortado/study.hpp"

#include "measure.hpp"

namespace cortado::bench {

std::vector<Row> model_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  const Model model = load_model("llama-3.1-70b").value();
  std::vector<Row> rows;
  const auto measure = [&](const std::string& what, const Layout& layout, const Phase& phase) {
    const pipeline::ModelRequest request{model, layout, phase};
    const double cold = median_thread_ns(3, [&] { pipeline::ModelStudy(machine).run(request).value(); });
    rows.push_back({"model, all systems, cold: " + what, cold / 1e6, "ms", 2000, Better::lower});
    pipeline::ModelStudy study(machine);
    study.run(request).value();
    const double known = median_thread_ns(5, [&] { study.run(request).value(); });
    rows.push_back({"  with costs known", known / 1e6, "ms", 100, Better::lower});
  };
  measure("prefill of 8192 tokens, tp 8", {.tp = 8}, {.kind = PhaseKind::prefill, .tokens = 8192});
  measure("decode, tp 8", {.tp = 8}, {.kind = PhaseKind::decode, .context = 2048});
  measure("training step, fsdp 8", {.fsdp = 8},
          {.kind = PhaseKind::train, .tokens = 8192, .recompute = Recompute::full});
  return rows;
}

}  // namespace cortado::bench
