#include "reproduce/published/sublayers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::published {
namespace sublayers_test {

TEST(SubLayers, TwentyEightOfT3) {
  const auto all = load_sublayers("t3");
  ASSERT_TRUE(all) << to_string(all.error());
  // Two models with two degrees and three with one, four sub-layers each.
  ASSERT_EQ(all->size(), (2U * 2U + 3U) * 4U);
  const SubLayer& second = (*all)[1];
  EXPECT_EQ(second.model, "Mega-GPT-2");
  EXPECT_EQ(second.name, "FC-2");
  EXPECT_EQ(second.tp, 8U);
  EXPECT_EQ(second.m, 16384U);
  EXPECT_EQ(second.n, 3072U);
  EXPECT_EQ(second.k, 4U * 3072U / 8U);
  EXPECT_EQ(all->back().name, "IP");
  EXPECT_EQ(all->back().k, 3U * 20480U / 32U);
  EXPECT_EQ(all->back().group, "large");
}

TEST(SubLayers, MistakesNameThePartAndTheKey) {
  const std::string good =
      "dtype = 'f16'\n[[sublayers]]\nname = 'OP'\nk_over_hidden = 1\nsource = 's'\n"
      "[[models]]\nname = 'M'\nhidden = 64\nlayers = 2\ntokens = 32\ntp = [8]\ngroup = 'g'\nsource = 's'\n";
  ASSERT_TRUE(parse_sublayers(good, "f.toml"));
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_sublayers(text, "f.toml");
    EXPECT_FALSE(parsed) << text;
    return parsed ? Diagnostic{} : parsed.error();
  };
  EXPECT_THAT(refusal("tp = [8]", "tp = [7]").message, testing::HasSubstr("M of models: tp"));
  EXPECT_THAT(refusal("tp = [8]", "tp = ['8']").message, testing::HasSubstr("tp"));
  EXPECT_THAT(refusal("hidden = 64", "hidden = 0").message, testing::HasSubstr("hidden must be a whole number"));
  EXPECT_THAT(refusal("[[models]]", "[[other]]").message, testing::HasSubstr("there is no [[models]]"));
  EXPECT_THAT(refusal("k_over_hidden = 1", "").message, testing::HasSubstr("OP of sublayers: k_over_hidden"));
  EXPECT_EQ(refusal("[[models]]", "[[models").code, "published.syntax");
}

TEST(SubLayers, UnknownListsAreRefused) {
  const auto all = load_sublayers("t4");
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, "published.unknown");
}

}  // namespace sublayers_test
}  // namespace cortado::published
