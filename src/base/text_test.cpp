#include "base/text.hpp"

#include <gtest/gtest.h>

namespace cortado {
namespace text_test {

TEST(Text, ControlCharactersAreEscaped) {
  using namespace std::string_view_literals;
  EXPECT_EQ(escape_control("plain \"text\"\n\twith \\ and \u00e4\u00a0\u20ac"),
            "plain \"text\"\n\twith \\ and \u00e4\u00a0\u20ac");
  EXPECT_EQ(escape_control("\x1b[31mred\r\x7f"), "\\u001b[31mred\\u000d\\u007f");
  EXPECT_EQ(escape_control("a\0b"sv), "a\\u0000b");
  EXPECT_EQ(escape_control("\xc2\x9b"
                           "31m\xc2\x80"),
            "\\u009b31m\\u0080");  // CSI in one character
  EXPECT_EQ(escape_control("cut \xc2"), "cut \\u00c2");
  EXPECT_EQ(escape_control("\x7f"
                           "ELF\xff\x80\xe2\x82"),
            "\\u007fELF\\u00ff\\u0080\\u00e2\\u0082");
  EXPECT_EQ(escape_control("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(ParseBytes, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("4096")->value, 4096u);
  EXPECT_EQ(parse_bytes("4KiB")->value, 4096u);
  EXPECT_EQ(parse_bytes("1.5MiB")->value, 3u << 19);
  EXPECT_EQ(parse_bytes("2GB")->value, 2'000'000'000u);
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
  for (const char* text : {"", "-1", "KiB", "1.5", "1 KiB", "1XiB", "9223372036854775808", "99999999999999999999",
                           "0x10", "1.0000001MiB", "8388608TiB", "1.2.3KiB", "nan"}) {
    const auto result = parse_bytes(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, "usage.size") << text;
    EXPECT_FALSE(result.error().hint.empty());
  }
}

TEST(ParseSizes, DoublesARangeAndReadsAList) {
  const auto range = parse_sizes("1KiB:8KiB");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, (std::vector<Bytes>{1_KiB, 2_KiB, 4_KiB, 8_KiB}));
  EXPECT_EQ(*parse_sizes("3,5KiB"), (std::vector<Bytes>{3_B, 5_KiB}));
  EXPECT_FALSE(parse_sizes("8KiB:1KiB").has_value());
  EXPECT_FALSE(parse_sizes("0:1KiB").has_value());
  EXPECT_FALSE(parse_sizes("1KiB,,2KiB").has_value());
}

TEST(ParseCount, ReadsWholeNumbersAndMultiplesOf1024) {
  EXPECT_EQ(parse_count("8192"), 8192U);
  EXPECT_EQ(parse_count("32k"), 32768U);
  EXPECT_EQ(parse_count("32K"), 32768U);
  EXPECT_EQ(parse_count("2M"), 2U << 20);
  EXPECT_EQ(parse_count("18446744073709551615"), ~0ULL);
  for (const char* text :
       {"", "k", "-1", "+1", "0x10", "1.5k", "1kk", "1 k", "18446744073709551616", "18014398509481984k"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
  EXPECT_EQ(parse_counts("4k:20k"), (std::vector<std::uint64_t>{4096, 8192, 16384}));
  EXPECT_EQ(parse_counts("1000,3k"), (std::vector<std::uint64_t>{1000, 3072}));
  for (const char* text : {"", "4k:", ":4k", "8:4", "0:4", "1:2:3", "1,,2", "1KiB"}) {
    EXPECT_FALSE(parse_counts(text)) << text;
  }
}

TEST(FormatBytes, IsReadBackExactly) {
  for (const std::uint64_t value : {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 1ULL << 20, (1ULL << 30) + 1, 3ULL << 40}) {
    EXPECT_EQ(parse_bytes(format_bytes({value}))->value, value);
  }
  EXPECT_EQ(format_bytes(64_MiB), "64MiB");
  EXPECT_EQ(format_bytes({1536}), "1536B");
}

TEST(ReadableBytes, AreNotLong) {
  EXPECT_EQ(readable_bytes(64_MiB), "64MiB");
  EXPECT_EQ(readable_bytes({1536}), "1536B");
  EXPECT_EQ(readable_bytes({34359738368}), "32GiB");
  EXPECT_EQ(readable_bytes({186'000'000'000}), "173.2GiB");
  EXPECT_EQ(readable_bytes({141'000'000'000}), "131.3GiB");
  EXPECT_EQ(readable_bytes({64'000'000'000}), "59.6GiB");
}

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "GPU"), "1 GPU");
  EXPECT_EQ(counted(0, "GPU"), "0 GPUs");
  EXPECT_EQ(counted(8, "GPU"), "8 GPUs");
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names{"all-gather", "all-to-all", "broadcast"};
  EXPECT_EQ(nearest_name("allgather", names), "all-gather");
  EXPECT_EQ(nearest_name("xyz", names), "");
  EXPECT_EQ(nearest_name("", {"m", "k"}), "");
}

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  TextTable table({"name", "us"});
  table.add_row({"pcpy", "12.5"});
  table.add_row({"b2b", "3"});
  EXPECT_EQ(table.to_string(),
            "name    us\n"
            "pcpy  12.5\n"
            "b2b      3\n");
}

TEST(TextTable, CellsOfTheHeaderMayHaveSeveralLines) {
  TextTable table({"name", "time\nus", "three\nlines\nhere"});
  table.add_row({"pcpy", "12.5", "1"});
  EXPECT_EQ(table.to_string(),
            "            three\n"
            "      time  lines\n"
            "name    us   here\n"
            "pcpy  12.5      1\n");
}

}  // namespace text_test
}  // namespace cortado
