// The simulator of serving: requests per second of processor time, and the memory of a million of them.
#include "measure.hpp"
#include "serve/serve.hpp"

namespace cortado::bench {

std::vector<Row> serve_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  const Model model = load_model("llama-3.1-8b").value();
  const auto costs = serve::make_step_costs(model, {}, {}, {}, machine).value();
  serve::ReplicaConfig config{.pages = 80'000, .context = model.context};
  std::vector<Row> rows;
  const auto measure = [&](const std::string& what, const serve::Generated& generated, std::optional<double> target) {
    const double ns = thread_ns([&] {
      const auto source = serve::generate(generated, {});
      serve::serve_all(*source, costs, config).value();
    });
    rows.push_back({what, static_cast<double>(generated.requests) / ns * 1e9, "requests/s", target, Better::higher});
  };
  const serve::Generated steady{.requests = 1'000'000, .users = 256, .input = {128, 128}, .output = {512, 512}};
  const double most =
      peak_mib([&] { measure("serving, a million requests, 128 tokens in, 512 out, 256 at a time", steady, 200'000); });
  rows.push_back({"  most memory of the process", most / 1024, "GiB", 1, Better::lower});
  serve::Generated mixed = steady;
  mixed.output = {1, 1023};
  measure("  answers of 1 to 1023 tokens", mixed, std::nullopt);
  mixed.users.reset();
  mixed.rate = 5;
  measure("  the same, 5 a second", mixed, std::nullopt);
  serve::Generated turns = steady;
  turns.requests = 50'000;
  turns.turns = 4;
  measure("  conversations of 4 turns, prefixes in the GPU", turns, std::nullopt);
  return rows;
}

}  // namespace cortado::bench
