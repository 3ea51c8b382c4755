#include "cortado/model.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <tuple>

#include <gmock/gmock.h>

#include "base/random.hpp"
#include "workload/embedded.hpp"
#include "workload/operators.hpp"

namespace cortado {
namespace model_test {

using testing::HasSubstr;

Model built_in(const std::string& name) {
  const auto model = load_model(name);
  EXPECT_TRUE(model) << to_string(model.error());
  return model ? *model : Model{};
}

struct Published {
  const char* name;
  double total;   // billions, of the model cards
  double active;  // 0: all
};

// Parameters that the publishers state. gpt-oss counts as active without the embedding.
constexpr Published kPublished[] = {
    {"llama-3.1-8b", 8.03, 0},        {"llama-3.1-70b", 70.55, 0},
    {"llama-3.1-405b", 405.85, 0},    {"llama-2-70b", 68.98, 0},
    {"mistral-7b-v0.1", 7.24, 0},     {"mixtral-8x7b", 46.7, 12.9},
    {"mixtral-8x22b", 140.6, 39},     {"qwen2.5-7b", 7.62, 0},
    {"qwen2.5-72b", 72.7, 0},         {"qwen3-8b", 8.19, 0},
    {"qwen3-32b", 32.76, 0},          {"qwen3-30b-a3b", 30.53, 3.35},
    {"qwen3-235b-a22b", 235.1, 22.2}, {"deepseek-v3", 671.0, 37.6},
    {"kimi-k2", 1026.4, 32.9},        {"gpt-oss-120b", 116.83, 0},
    {"gpt-oss-20b", 20.91, 0},        {"gemma-3-27b", 27.01, 0},
    {"phi-3-mini", 3.82, 0},
};

TEST(Model, HasAsManyParametersAsItsPublishersSay) {
  EXPECT_EQ(model_names().size(), std::size(kPublished) + 2);  // tiny-llama and tiny-moe are ours
  for (const Published& published : kPublished) {
    const ParameterCounts counts = count_parameters(built_in(published.name));
    EXPECT_NEAR(static_cast<double>(counts.total) * 1e-9 / published.total, 1, 0.005) << published.name;
    if (published.active == 0) continue;
    EXPECT_NEAR(static_cast<double>(counts.active) * 1e-9 / published.active, 1, 0.015) << published.name;
  }
}

// 2 x 8 heads x 128 values of two bytes in 80 layers; 512 + 64 values in 61 layers.
TEST(Model, LeavesSoManyBytesInTheCache) {
  EXPECT_EQ(kv_bytes_per_token(built_in("llama-3.1-70b"), Bytes{2}).value, 2ULL * 8 * 128 * 2 * 80);
  EXPECT_EQ(kv_bytes_per_token(built_in("deepseek-v3"), Bytes{2}).value, (512ULL + 64) * 2 * 61);
}

TEST(Model, WeightsAreAsTheyAreStored) {
  const Model llama = built_in("llama-3.1-8b");
  EXPECT_EQ(weight_bytes(llama).value, 2 * count_parameters(llama).total);
  // One byte per weight except for the embeddings.
  EXPECT_NEAR(static_cast<double>(weight_bytes(built_in("deepseek-v3")).value) * 1e-9, 671 + 1.85, 2);
  // 4.25 bits a weight of the experts: the file has 65 GB.
  EXPECT_NEAR(static_cast<double>(weight_bytes(built_in("gpt-oss-120b")).value) * 1e-9, 65, 1.5);
}

TEST(Model, WindowsAreThoseOfTheFamily) {
  EXPECT_EQ(built_in("mistral-7b-v0.1").layers[5].window, 4096U);
  EXPECT_FALSE(built_in("mixtral-8x7b").layers[5].window);
  EXPECT_FALSE(built_in("qwen2.5-7b").layers[5].window);
  const Model oss = built_in("gpt-oss-20b");
  EXPECT_EQ(oss.layers[0].window, 128U);
  EXPECT_FALSE(oss.layers[1].window);
  const Model gemma = built_in("gemma-3-27b");
  EXPECT_EQ(gemma.layers[4].window, 1024U);
  EXPECT_FALSE(gemma.layers[5].window);
  const Model deepseek = built_in("deepseek-v3");
  EXPECT_FALSE(deepseek.layers[2].experts);
  EXPECT_TRUE(deepseek.layers[3].experts);
}

constexpr const char* kSmall = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
    "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 256})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// By hand: attention 4 x 64 x 64, feed-forward 3 x 64 x 128, two norms of 64; embedding and last matrix 100 x 64.
TEST(Model, SmallOneIsCountedByHand) {
  const auto model = parse_model(kSmall, "small.json");
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->attention.kv_heads, 4U) << "without a number, as many as heads";
  EXPECT_EQ(count_parameters(*model).total, 2U * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64 + 2 * 100 * 64);
}

TEST(Model, MistakesAreNamed) {
  const auto refusal = [](const std::string& text) {
    const auto model = parse_model(text, "x.json");
    return model ? std::string() : to_string(model.error());
  };
  EXPECT_THAT(refusal("[1]"), HasSubstr("model.json"));
  EXPECT_THAT(refusal("{"), HasSubstr("model.json"));
  EXPECT_THAT(refusal("{}"), HasSubstr("model_type is missing"));
  EXPECT_THAT(refusal(replaced(kSmall, "llama", "lama")), HasSubstr("did you mean llama"));
  EXPECT_THAT(refusal(replaced(kSmall, "\"hidden_size\": 64, ", "")), HasSubstr("hidden_size is missing"));
  EXPECT_THAT(refusal(replaced(kSmall, "\"hidden_size\": 64", "\"hidden_size\": -1")), HasSubstr("hidden_size"));
  EXPECT_THAT(refusal(replaced(kSmall, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 99999999")),
              HasSubstr("too many"));
  EXPECT_THAT(
      refusal(replaced(kSmall, "\"num_attention_heads\": 4", "\"num_attention_heads\": 4, \"num_key_value_heads\": 3")),
      HasSubstr("cannot be divided"));
  const auto with = [&](const std::string& field) { return refusal(replaced(kSmall, "{", "{" + field + ", ")); };
  EXPECT_EQ(with(R"("torch_dtype": "bfloat16")"), "");
  EXPECT_EQ(with(R"("dtype": "auto")"), "");
  EXPECT_THAT(with(R"("torch_dtype": "float7")"), HasSubstr("weights of type float7 are not supported"));
  EXPECT_THAT(with(R"("dtype": "int3")"), HasSubstr("weights of type int3 are not supported"));
  EXPECT_THAT(with(R"("torch_dtype": 16)"), HasSubstr("torch_dtype is not a string"));
  EXPECT_THAT(with(R"("quantization_config": {"quant_method": "awq", "bits": 4})"),
              HasSubstr("weights with quant_method awq are not supported"));
  EXPECT_THAT(with(R"("quantization_config": -1)"), HasSubstr("quantization_config is not an object"));
  EXPECT_EQ(with(R"("quantization_config": null)"), "");
  const std::string deepseek = R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2,
      "vocab_size": 100, "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 256,
      "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4,
      "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1})";
  EXPECT_EQ(refusal(deepseek), "");
  EXPECT_EQ(refusal(replaced(deepseek, "{", R"({"q_lora_rank": null, )")), "");
  EXPECT_THAT(refusal(replaced(deepseek, "{", R"({"q_lora_rank": 0, )")),
              HasSubstr("q_lora_rank is not a whole number"));
  EXPECT_EQ(refusal(replaced(deepseek, "replace\": 1", "replace\": 2")), "");
  EXPECT_THAT(refusal(replaced(deepseek, "replace\": 1", "replace\": 3")),
              HasSubstr("first_k_dense_replace is 3, but there are 2 layers"));
  const auto unknown = load_model("llama-3.1-71b");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "model.unknown");
  EXPECT_THAT(unknown.error().hint, HasSubstr("llama-3.1-70b"));
}

TEST(Model, TypesOfWeightsAreThoseOfTheFile) {
  const auto weights_of = [](const std::string& field) {
    const auto model = parse_model(replaced(kSmall, "{", "{" + field + ", "), "x.json");
    EXPECT_TRUE(model) << to_string(model.error());
    return model ? std::tuple(model->weights.name, usual_type(model->weights),
                              static_cast<double>(weight_bytes(*model).value) /
                                  static_cast<double>(count_parameters(*model).total))
                 : std::tuple(std::string(), DType::f32, 0.0);
  };
  EXPECT_EQ(weights_of(R"("torch_dtype": "float16")"), std::tuple("f16", DType::f16, 2.0));
  EXPECT_EQ(weights_of(R"("torch_dtype": "torch.bfloat16")"), std::tuple("bf16", DType::bf16, 2.0));
  EXPECT_EQ(weights_of(R"("dtype": "float32")"), std::tuple("f32", DType::bf16, 4.0));
  EXPECT_EQ(std::get<1>(weights_of(R"("torch_dtype": "float8_e4m3fn")")), DType::f8);
  // Scales in a separate configuration take precedence over the type of the tensors that are not narrowed.
  EXPECT_EQ(std::get<0>(weights_of(R"("torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"})")),
            "fp8");
}

TEST(Model, NestingAndSizesAreLimited) {
  const std::string deep =
      replaced(kSmall, "{", "{\"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + ", ");
  const auto nested = parse_model(deep, "x.json");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().code, "model.json");
  const std::string many = std::to_string(std::uint64_t{1} << 39);
  const auto large = parse_model(replaced(kSmall, "\"hidden_size\": 64", "\"hidden_size\": " + many), "x.json");
  ASSERT_FALSE(large);
  EXPECT_THAT(to_string(large.error()), HasSubstr("parameters"));
  for (const std::string field : {"num_attention_heads", "head_dim", "intermediate_size", "vocab_size"}) {
    const std::string entry = "\"" + field + "\": ";
    std::string text = replaced(kSmall, "{", "{\"head_dim\": 16, ");
    const std::size_t begin = text.find(entry) + entry.size();
    text.replace(begin, text.find_first_of(",}", begin) - begin, "2147483648");
    const auto refused = parse_model(text, "x.json");
    ASSERT_FALSE(refused) << field;
    EXPECT_EQ(refused.error().place.key, field) << to_string(refused.error());
  }
  const auto narrow = parse_model(replaced(kSmall, "\"hidden_size\": 64", "\"hidden_size\": 3"), "x.json");
  ASSERT_FALSE(narrow);
  EXPECT_THAT(to_string(narrow.error()), HasSubstr("head_dim"));
}

/// A few edits of a text: bytes changed, cut out, doubled, or put in from what configurations are made of.
std::string mutated(std::string text, Random& random) {
  constexpr std::array kPieces{"null", "-1", "0", "1e99", "true", "\"\"", "{}", "[]", "[1]", "18446744073709551615",
                               ",",    ":",  "{", "}",    "\xff"};
  const std::uint64_t edits = 1 + random.below(4);
  for (std::uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    const std::size_t length = std::min<std::size_t>(text.size() - at, 1 + random.below(12));
    switch (random.below(4)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.replace(at, length, kPieces[random.below(kPieces.size())]);
    }
  }
  return text;
}

TEST(Model, DamagedFilesAreRefusedOrReadAndNeverMore) {
  Random random(17);
  std::size_t refused = 0;
  std::size_t read = 0;
  for (const auto& [name, text] : internal::embedded_models()) {
    for (int i = 0; i < 400; ++i) {
      const auto model = parse_model(mutated(std::string(text), random), "x.json");
      if (!model) {
        EXPECT_TRUE(model.error().code.starts_with("model.")) << model.error().code;
        ++refused;
        continue;
      }
      ++read;
      const ParameterCounts counts = count_parameters(*model);
      EXPECT_LE(counts.active, counts.total + counts.embeddings) << name;
      EXPECT_GT(weight_bytes(*model).value, 0U);
      EXPECT_GT(memory_need(*model, {}, {.kind = PhaseKind::decode, .context = 16}).total().value, 0U);
      EXPECT_FALSE(step_of(*model, {}, {.kind = PhaseKind::prefill, .tokens = 16}).blocks.empty());
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(read, 100U);
}

TEST(Model, PicturesModelsKeepTheTextModelInside) {
  const auto model = parse_model(std::string(R"({"model_type": "gemma3", "text_config": )") +
                                     replaced(replaced(kSmall, "llama", "gemma3_text"), "\"hidden_size\"",
                                              "\"sliding_window\": 16, \"hidden_size\"") +
                                     "}",
                                 "gemma.json");
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->family, "gemma3_text");
  EXPECT_TRUE(model->tied);
}

}  // namespace model_test
}  // namespace cortado
