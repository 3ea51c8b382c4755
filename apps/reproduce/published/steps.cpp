#include "reproduce/published/steps.hpp"

#include "reproduce/published/embedded.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {
namespace {

Result<ModelStep> read_step(const toml::table& source, const std::string& file) {
  Reader in(source, fmt::format("{}: step {}", file, source["name"].value_or(std::string("without name"))));
  const auto word = [&](const char* key, const std::string& fallback, const std::vector<std::string>& allowed) {
    return source.contains(key) ? in.one_of(key, allowed) : fallback;
  };
  const auto whole = [&](const char* key, std::uint64_t fallback) {
    return source.contains(key) ? in.count(key) : fallback;
  };
  const auto degree = [&](const char* key, std::uint32_t fallback = 1) {
    return static_cast<std::uint32_t>(whole(key, fallback));
  };
  ModelStep step;
  step.name = in.text("name");
  step.model = in.text("model");
  step.machine = in.text("machine");
  step.phase = in.one_of("phase", {"train", "prefill", "decode", "generate", "serve"});
  step.metric = in.one_of("metric", {"seconds", "tokens_per_s", "tokens_per_s_per_gpu", "requests_per_s",
                                     "tflops_per_gpu", "tflops_6n_per_gpu", "gain", "relative"});
  step.system = in.text("system");
  if (step.metric == "gain" || step.metric == "relative") step.over = in.text("over");
  step.dtype = word("dtype", "bf16", {"bf16", "f16", "f8"});
  step.kv_dtype = word("kv_dtype", "bf16", {"bf16", "f16", "f8"});
  step.recompute = word("recompute", "none", {"none", "selective", "ops", "full"});
  step.schedule = word("schedule", "1f1b", {"1f1b", "interleaved"});
  step.tp = degree("tp");
  step.ep = degree("ep");
  step.fsdp = degree("fsdp");
  step.dp = degree("dp");
  step.pp = degree("pp");
  step.stages = degree("stages", 2);
  step.micro_batches = degree("micro_batches");
  step.sp = source["sp"].value_or(false);
  step.batch = whole("batch", 1);
  step.tokens = in.count("tokens");
  step.output = whole("output", 0);
  if (step.phase == "serve") step.requests = in.count("requests");
  if (source.contains("max_tokens")) step.max_tokens = in.count("max_tokens");
  if (source.contains("all_reduce_bytes")) step.all_reduce_bytes = in.count("all_reduce_bytes");
  if (source.contains("layers")) step.layers = in.count("layers");
  step.cap_w = in.number_if("cap_W");
  step.memory_gb = in.number_if("memory_GB");
  step.memory_share = in.number_if("memory_share");
  in.text("conditions");
  if (in.error()) return fail(*in.error());
  return step;
}

}  // namespace

Result<std::vector<ModelStep>> parse_steps(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  return need_tables<ModelStep>(root, "steps", file, read_step);
}

Result<std::vector<ModelStep>> load_steps(const std::string& wanted) {
  return load_from(internal::embedded_steps(), "steps/", "are not steps", wanted, parse_steps);
}

}  // namespace cortado::published
