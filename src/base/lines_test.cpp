#include "base/lines.hpp"

#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace cortado::lines_test {
namespace {

constexpr LineReader::Limits kSmall{{Bytes{10'000}, "small lines"}, {Bytes{20'000}, "small files"}};

/// All lines of a text; the last entry is the error, if there is one.
std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  LineReader reader(in, "a.txt", kSmall);
  std::vector<std::string> lines;
  std::string line;
  while (true) {
    const auto more = reader.next(line);
    if (!more) lines.push_back(to_string(more.error()));
    if (!more || !*more) return lines;
    lines.push_back(line);
    EXPECT_EQ(reader.number(), lines.size());
  }
}

using Lines = std::vector<std::string>;

TEST(LineReader, SplitsAsGetlineDoes) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\r\nb\n"), (Lines{"a\r", "b"}));
  EXPECT_EQ(lines_of(std::string("a\0b\nc", 5)), (Lines{std::string("a\0b", 3), "c"}));
  for (const std::size_t size : {4094U, 4095U, 4096U, 4097U, 8190U, 10'000U}) {  // parts are of 4095
    const std::string text(size, 'x');
    EXPECT_EQ(lines_of(text), Lines{text}) << size;
    EXPECT_EQ(lines_of(text + "\n"), Lines{text}) << size;
    EXPECT_EQ(lines_of(text + "\ny"), (Lines{text, "y"})) << size;
  }
}

TEST(LineReader, RefusesWhatIsTooLong) {
  EXPECT_EQ(lines_of("a\n" + std::string(10'001, 'x')),
            (Lines{"a",
                   "file.size: a.txt:2: larger than 10000B, the limit for small lines (hint: check that it is the "
                   "right file)"}));
  const std::string half = std::string(9'999, 'x') + "\n";
  EXPECT_EQ(lines_of(half + half + "xxx").back(),
            "file.size: a.txt: larger than 20000B, the limit for small files (hint: check that it is the right file)");
}

TEST(LineReader, RefusesAFileWithoutAnEnd) {
  std::ifstream zeros("/dev/zero");
  LineReader reader(zeros, "/dev/zero", kSmall);
  std::string line;
  EXPECT_EQ(reader.next(line).error().code, "file.size");
}

}  // namespace
}  // namespace cortado::lines_test
