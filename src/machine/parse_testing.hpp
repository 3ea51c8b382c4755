// Texts of machine files with one change, and the parser's response.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cortado/machine.hpp"

#include "base/file.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado::internal {

inline std::string text_of(const std::string& name) {
  return read_file(source_dir() + "/machines/" + name + ".toml").value();
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The 1-based line of the text that contains the part.
inline std::uint32_t line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return static_cast<std::uint32_t>(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

inline Diagnostic refusal(const std::string& text) {
  const Result<Machine> machine = parse_machine(text, "test.toml");
  EXPECT_FALSE(machine.has_value()) << text;
  return machine.has_value() ? Diagnostic{} : machine.error();
}

struct Case {
  std::string from;  ///< the first occurrence of this text in the file is replaced
  std::string to;
  std::string code;
  std::string key;
  std::string message;  ///< part of the message or of the hint
};

/// Expects every case to be rejected with its code, file, line, key and reason.
inline void expect_text_refused(const std::string& good, const std::vector<Case>& cases) {
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.from + " -> " + wrong.to);
    const std::uint32_t line = line_with(good, wrong.from);
    const Diagnostic error = refusal(replaced(good, wrong.from, wrong.to));
    EXPECT_EQ(error.code, wrong.code) << to_string(error);
    EXPECT_EQ(error.place.key, wrong.key);
    EXPECT_EQ(error.place.line, line) << to_string(error);
    EXPECT_EQ(error.place.file, "test.toml");
    EXPECT_THAT(error.message + " | " + error.hint, testing::HasSubstr(wrong.message));
  }
}

inline void expect_refused(const std::string& machine, const std::vector<Case>& cases) {
  expect_text_refused(text_of(machine), cases);
}

}  // namespace cortado::internal
