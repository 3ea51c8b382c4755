#include "sweep/spec.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "sweep/check.hpp"
#include "sweep/testing.hpp"

namespace cortado::sweep::spec_test {
namespace {

using ::testing::ElementsAre;
using testing::FakeQuestion;
using ::testing::HasSubstr;
using testing::spec_of;

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> all;
  for (const Value& value : axis.values) all.push_back(text_of(value));
  return all;
}

TEST(Spec, AxesOfEveryForm) {
  const Spec spec = spec_of(R"(
question = "fake"
[axes]
list = [1, 2.5, "x", true, ["p", "q"]]
steps = { from = 1, to = 2, step = 0.25 }
whole = { from = 10, to = 30, step = 10 }
powers = { powers = [1024, 5000] }
thirds = { powers = [1, 27], factor = 3 }
sizes = { sizes = "1KiB:4KiB" }
)");
  ASSERT_EQ(spec.groups.size(), 6U);  // in the order of the file, not of the alphabet
  EXPECT_THAT(texts(spec.groups[0].axes[0]), ElementsAre("1", "2.5", "x", "true", "p,q"));
  EXPECT_THAT(texts(spec.groups[1].axes[0]), ElementsAre("1", "1.25", "1.5", "1.75", "2"));
  EXPECT_THAT(texts(spec.groups[2].axes[0]), ElementsAre("10", "20", "30"));
  EXPECT_THAT(texts(spec.groups[3].axes[0]), ElementsAre("1024", "2048", "4096"));
  EXPECT_THAT(texts(spec.groups[4].axes[0]), ElementsAre("1", "3", "9", "27"));
  EXPECT_THAT(texts(spec.groups[5].axes[0]), ElementsAre("1024", "2048", "4096"));
  EXPECT_EQ(spec.size(), 5U * 5 * 3 * 3 * 4 * 3);
}

TEST(Spec, ZipsGoTogetherAndTheLastAxisChangesFastest) {
  const Spec spec = spec_of("question = \"fake\"\n[[zip]]\na = [1, 2]\nb = [3, 4]\n[axes]\ntext = [\"u\", \"v\"]\n");
  ASSERT_EQ(spec.size(), 4U);
  const auto at = [&](std::uint64_t place) {
    std::string all;
    for (const Value& value : spec.values_at(place)) all += text_of(value) + " ";
    return all;
  };
  EXPECT_EQ(at(0), "1 3 u ");
  EXPECT_EQ(at(1), "1 3 v ");
  EXPECT_EQ(at(2), "2 4 u ");
}

// Llama 3.1 8B: hidden 4096, 32 heads and 8 of keys and values of 128, feed-forward 14336; each divided by 8. The gate
// and the up projection are one GEMM.
TEST(Spec, LayersOfModelsAreAxes) {
  const Spec spec =
      spec_of("question = \"overlap\"\n[[zip]]\nmodels = [\"llama-3.1-8b\"]\ntp = 8\ntokens = [1024, 2048]\n");
  ASSERT_EQ(spec.groups.size(), 1U);
  const std::vector<Axis>& axes = spec.groups[0].axes;
  ASSERT_EQ(axes.size(), 6U);
  EXPECT_EQ(axes[0].name, "operator");
  EXPECT_EQ(std::set<Value>(axes[0].values.begin(), axes[0].values.end()).size(), axes[0].values.size());
  EXPECT_EQ(axes[4].name, "collective");
  EXPECT_THAT(texts(axes[4]), ElementsAre("all-gather", "reduce-scatter", "all-gather", "reduce-scatter", "all-gather",
                                          "reduce-scatter", "all-gather", "reduce-scatter"));
  EXPECT_EQ(axes[5].name, "gemm");
  EXPECT_THAT(texts(axes[5]), ElementsAre("1024x768x4096", "1024x4096x512", "1024x3584x4096", "1024x4096x1792",
                                          "2048x768x4096", "2048x4096x512", "2048x3584x4096", "2048x4096x1792"));
  EXPECT_THAT(spec.labels, ElementsAre("operator", "model", "prompt"));
}

const Axis& axis_of(const Spec& spec, std::string_view name) {
  const auto& axes = spec.groups[0].axes;
  return *std::ranges::find(axes, name, &Axis::name);
}

// Mixtral 8x7B: hidden 4096, 8 experts of 14336, two for each token. Each of 8 GPUs has 1024 tokens and one expert, to
// which 8 x 1024 x 2 / 8 = 2048 rows come; gate and up are one GEMM.
TEST(Spec, ExpertsOfModelsAreAxes) {
  const Spec spec = spec_of("question = \"overlap\"\n[[zip]]\nmodels = [\"mixtral-8x7b\"]\nep = 8\ntokens = 1024\n");
  EXPECT_THAT(texts(axis_of(spec, "collective")), ElementsAre("all-to-all", "all-to-all"));
  EXPECT_THAT(texts(axis_of(spec, "ranks")), ElementsAre("8", "8"));
  EXPECT_THAT(texts(axis_of(spec, "gemm")), ElementsAre("2048x28672x4096", "2048x4096x14336"));
  EXPECT_THAT(texts(axis_of(spec, "gemm-first")), ElementsAre("false", "true"));
}

// Llama 3.1 8B on 8 GPUs: forward, the GEMMs of a layer next to the gather of its weights, in bf16 2 x (4096 x 6144 +
// 4096 x 4096 + 3 x 4096 x 14336) bytes and norms; backward, next to a gather and a reduce-scatter.
TEST(Spec, ShardedLayersInTrainingAreAxes) {
  const Spec spec = spec_of(
      "question = \"overlap\"\n[[zip]]\nmodels = [\"llama-3.1-8b\"]\nfsdp = 8\nphase = \"train\"\ntokens = 4096\n");
  const auto operators = texts(axis_of(spec, "operator"));
  const auto forward = std::ranges::find(operators, "llama-3.1-8b 4096 layer beside weights");
  const auto backward = std::ranges::find(operators, "llama-3.1-8b 4096 backward of a layer beside weights");
  ASSERT_TRUE(forward != operators.end() && backward != operators.end());
  const auto at = [&](std::string_view name, auto point) {
    return texts(axis_of(spec, name))[static_cast<std::size_t>(point - operators.begin())];
  };
  EXPECT_EQ(at("collective", forward), "all-gather");
  EXPECT_EQ(at("collective", backward), "all-gather,reduce-scatter");
  EXPECT_EQ(at("independent", forward), "true");
  EXPECT_EQ(at("gemm", forward), "4096x6144x4096,4096x4096x4096,4096x28672x4096,4096x4096x14336");
  EXPECT_NEAR(std::stod(at("bytes", forward)), 436.2e6, 0.1e6);
}

TEST(Spec, ModelsThatCannotBeAxesAreRefused) {
  const auto refused = [](const std::string& zip) {
    const auto spec = parse_spec("question = \"overlap\"\n[[zip]]\n" + zip, "s.toml");
    return spec ? std::string("accepted") : to_string(spec.error());
  };
  EXPECT_THAT(refused("models = [\"llama-3.1-8\"]\ntp = 8\ntokens = 1024\n"), HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntp = 7\ntokens = 1024\n"), HasSubstr("sweep.axis: s.toml:2"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntokens = 1024\n"), HasSubstr("the number of GPUs is missing"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntp = 8\n"), HasSubstr("tokens is missing"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntp = 8\ntokens = [0]\n"), HasSubstr("not a number above 0"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntp = 8\ntokens = 1\nm = [1]\n"),
              HasSubstr("m cannot be used together with models"));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\nfsdp = 8\ntokens = 64\n"), HasSubstr("phase = \"train\""));
  EXPECT_THAT(refused("models = [\"llama-3.1-8b\"]\ntp = 8\nphase = 3\ntokens = 64\n"), HasSubstr("neither prefill"));
  const auto other =
      parse_spec("question = \"kv\"\n[[zip]]\nmodels = [\"llama-3.1-8b\"]\ntp = 8\ntokens = 64\n", "s.toml");
  ASSERT_FALSE(other);
  EXPECT_THAT(to_string(other.error()), HasSubstr("only overlap can be asked about layers of models"));
}

TEST(Spec, FilesOfValuesStandBesideTheSpec) {
  const testing::Folder folder;
  std::ofstream(folder / "shapes.txt") << "# shapes\n1x2x3\n\n4x5x6 # last\n";
  std::ofstream(folder / "pairs.csv") << "a, b\n1, 2\n3, 4\n";
  std::ofstream(folder / "s.toml") << "question = \"fake\"\n[axes]\ntext = { file = \"shapes.txt\" }\n"
                                      "[[zip]]\nfile = \"pairs.csv\"\n";
  const auto spec = load_spec(folder / "s.toml");
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_THAT(texts(spec->groups[0].axes[0]), ElementsAre("1x2x3", "4x5x6"));
  EXPECT_THAT(texts(spec->groups[1].axes[1]), ElementsAre("2", "4"));
}

TEST(Spec, NamesInBracesAreReplaced) {
  const Spec spec = spec_of("question = \"fake\"\n[fixed]\na = 1\ntext = \"{m}x{n}\"\n[axes]\nm = [5]\nn = [6]\n");
  EXPECT_THAT(names_in_braces("{m}x{n}y"), ElementsAre("m", "n"));
  const auto parameters = parameters_at(spec, {"5", "6"}, FakeQuestion().parameters());
  EXPECT_THAT(parameters, ElementsAre(Parameter{"a", "1"}, Parameter{"text", "5x6"}));
}

struct Refused {
  const char* text;
  const char* code;
  const char* message;
};

class RefusedSpec : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedSpec, IsToldOnceWithItsPlace) {
  const auto spec = parse_spec(GetParam().text, "test.toml");
  const auto checked = spec ? check_spec(*spec, FakeQuestion(), 1000) : Result<std::uint64_t>(fail(spec.error()));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, GetParam().code) << to_string(checked.error());
  EXPECT_THAT(to_string(checked.error()), HasSubstr(GetParam().message));
  EXPECT_THAT(to_string(checked.error()), HasSubstr("test.toml"));
}

#define HEAD "question = \"fake\"\n"
INSTANTIATE_TEST_SUITE_P(
    All, RefusedSpec,
    ::testing::Values(
        Refused{"axes", "sweep.spec", "test.toml:1"},
        Refused{"[axes]\na = [1]", "sweep.spec", "the question is missing"},
        Refused{HEAD "[axes]\na = [1]\n[axis]\n", "sweep.spec", "did you mean axes?"},
        Refused{HEAD, "sweep.spec", "without axes"}, Refused{HEAD "[axes]\na = []\n", "sweep.axis", "empty"},
        Refused{HEAD "[axes]\na = 3\n", "sweep.axis", "not a list"},
        Refused{HEAD "[axes]\na = [1, 1]\n", "sweep.spec", "twice"},
        Refused{HEAD "[axes]\na = [{}]\n", "sweep.axis", "not a number, string or list"},
        Refused{HEAD "[axes]\na = { from = 3, to = 1, step = 1 }\n", "sweep.axis", "no values from 3 to 1"},
        Refused{HEAD "[axes]\na = { from = 1, to = 3, step = 0 }\n", "sweep.axis", "in steps of 0"},
        Refused{HEAD "[axes]\na = { from = 1, to = 3 }\n", "sweep.axis", "step is not a number"},
        Refused{HEAD "[axes]\na = { powers = [0, 3] }\n", "sweep.axis", "above 0"},
        Refused{HEAD "[axes]\na = { powers = [1, 3], facto = 2 }\n", "sweep.axis", "did you mean factor?"},
        Refused{HEAD "[axes]\na = { sizes = \"x\" }\n", "sweep.axis", "test.toml:3"},
        Refused{HEAD "[axes]\na = {}\n", "sweep.axis", "does not define"},
        Refused{HEAD "[axes]\npoint = [1]\n", "sweep.spec", "rename"},
        Refused{HEAD "[axes]\nState = [1]\n", "sweep.spec", "rename"},
        Refused{HEAD "[fixed]\na = 1\n[axes]\na = [1]\n", "sweep.spec", "defined twice"},
        Refused{HEAD "[axes]\nm = [1]\nM = [1]\n", "sweep.spec", "M and m differ only by case"},
        Refused{HEAD "[axes]\na = [1]\n[rank]\nlabel = 1\ncolumn = \"x\"\n", "sweep.spec", "label is not a string"},
        Refused{HEAD "[axes]\na = [1]\n[rank]\ngreatest = \"no\"\n", "sweep.spec", "neither true nor false"},
        Refused{HEAD "[[zip]]\na = [1, 2]\nb = [1]\n", "sweep.spec", "a has 2 values and b has 1"},
        Refused{HEAD "[fixed]\na = 1\n[axes]\ntexd = [1]\n", "sweep.name", "did you mean text?"},
        Refused{HEAD "[fixed]\na = \"{m}\"\n[axes]\nb = [1]\n", "sweep.name", "{m} is not an axis"},
        Refused{HEAD "[axes]\na = [1, \"x\"]\n", "fake.number", "test.toml:3"},
        Refused{HEAD "[axes]\na = [1]\nmachine = [\"mi300x-9\"]\n", "machine.unknown", "did you mean"},
        Refused{HEAD "[axes]\na = [1]\n\"links.rate_GBs\" = [1]\n", "sweep.field", "did you mean links.rate_GBps?"},
        Refused{HEAD "[axes]\na = [1]\n\"links.rate_GBps\" = [1, -1]\n", "machine.range", "rate_GBps"},
        Refused{HEAD "[axes]\na = { from = 1, to = 2000, step = 1 }\n", "sweep.points", "--max-points 2000"},
        Refused{HEAD "filters = [\"a > \"]\n[axes]\na = [1]\n", "sweep.filter", "is not a condition"},
        Refused{HEAD "filters = [\"a = 1) OR (a = 2\"]\n[axes]\na = [1]\n", "sweep.filter", "is not a condition"},
        Refused{HEAD "filters = [\"a = 1 LIMIT 1\"]\n[axes]\na = [1]\n", "sweep.filter", "is not a condition"},
        Refused{HEAD "filters = [\"c > 1\"]\n[axes]\na = [1]\n", "sweep.filter", "no such column: c"},
        Refused{HEAD "filters = [\"a > 1\", \"a < 1\"]\n[axes]\na = [1, 2]\n", "sweep.filter", "no point of 2"}));
#undef HEAD

TEST(Spec, FiltersAreExpressionsOverAxes) {
  const Spec spec = spec_of(
      "question = \"fake\"\nfilters = [\"a >= b\", 'text <> \"y\" OR 0']\n[axes]\n"
      "a = [1, 2, 3]\nb = [1, 2, 3]\ntext = [\"x\", \"z\"]\n");
  const auto points = check_spec(spec, FakeQuestion());
  ASSERT_TRUE(points) << to_string(points.error());
  EXPECT_EQ(*points, 12U);  // 6 pairs with a >= b, twice
}

}  // namespace
}  // namespace cortado::sweep::spec_test
