#include "reproduce/published/published.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::published {
namespace published_test {

TEST(Published, EveryPublicationLoads) {
  ASSERT_THAT(publication_names(), testing::Contains("dma-latte"));
  for (const std::string& name : publication_names()) {
    const auto publication = load_publication(name);
    ASSERT_TRUE(publication) << to_string(publication.error());
    EXPECT_EQ(publication->name, name);
    for (const Table& table : publication->tables) EXPECT_EQ(table.sizes.size(), table.values.size());
  }
}

TEST(Published, DmaLatteHasItsTables) {
  const auto publication = load_publication("dma-latte");
  ASSERT_TRUE(publication);
  const Table* phases = publication->table("copy-phases");
  ASSERT_NE(phases, nullptr);
  EXPECT_EQ(phases->sizes.size(), 17U);
  EXPECT_EQ(phases->values.front(), (std::vector<std::optional<double>>{5, 31, 29, 35}));
  const Table* gather = publication->table("all-gather");
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(gather->sizes.size(), 22U);
  EXPECT_EQ(gather->values[9][4], std::nullopt);  // 512 KiB b2b+PL is left out
  EXPECT_EQ(gather->values[9][3], 2.05);
  EXPECT_EQ(publication->table("broadcast"), nullptr);
}

TEST(Published, UnknownNamesAreRefusedWithTheList) {
  const auto publication = load_publication("dma-late");
  ASSERT_FALSE(publication);
  EXPECT_EQ(publication.error().code, "published.unknown");
  EXPECT_THAT(publication.error().hint, testing::HasSubstr("dma-latte"));
}

constexpr const char* kHead = "[publication]\nname = 'a'\ntitle = 't'\nmachine = 'm'\nsource = 's'\n";
constexpr const char* kTable =
    "[[table]]\nname = 'x'\ntitle = 't'\nunit = 'x'\nerrors = 'percent'\nsource = 's'\nconfidence = 'A'\n"
    "used_for = 'validation'\ncolumns = ['p', 'q']\n";

TEST(Published, MistakesNameTheTableAndTheKey) {
  struct Case {
    std::string text;
    const char* code;
    const char* message;
  };
  const std::string head = kHead;
  for (const Case& c : {
           Case{"[publication", "published.syntax", "f.toml:1"},
           Case{"", "published.value", "[publication] is missing"},
           Case{"[publication]\nname = 3\n", "published.value", "name must be a string"},
           Case{head + kTable, "published.value", "table x: rows must be an array"},
           Case{head + kTable + "rows = [{ size = '1KiB', values = [1] }]\n", "published.value",
                "values must have one number for each column"},
           Case{head + kTable + "rows = [{ size = 'much', values = [1, 2] }]\n", "published.value",
                "size must be a size"},
           Case{head + kTable +
                    "rows = [{ size = '1KiB', values = [1, 2] }]\nleft_out = [{ size = '1KiB', column = 'r' }]\n",
                "published.value", "left_out must name"},
           Case{head + kTable + "rows = [{ size = '1KiB', values = [1, 'x'] }]\n", "published.value",
                "values must be numbers"},
           Case{head + kTable + "rows = [{ size = '1KiB', values = [1, nan] }]\n", "published.value",
                "values must be numbers"},
           Case{head + kTable + "left_out = 3\nrows = [{ size = '1KiB', values = [1, 2] }]\n", "published.value",
                "left_out must be an array"},
           Case{head + "[[figure]]\nname = 'f'\ntitle = 't'\nunit = 'x'\npublished = 'much'\n", "published.value",
                "figure f: published must be a number"},
       }) {
    const auto publication = parse_publication(c.text, "f.toml");
    ASSERT_FALSE(publication) << c.text;
    EXPECT_EQ(publication.error().code, c.code) << c.text;
    EXPECT_THAT(to_string(publication.error()), testing::HasSubstr(c.message)) << c.text;
  }
}

}  // namespace published_test
}  // namespace cortado::published
