// Reading a file line by line.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <utility>

#include "cortado/result.hpp"

#include "base/file.hpp"

namespace cortado {

/// Like std::getline, but a line, or a file, that exceeds its limit or never ends is rejected (file.size).
class LineReader {
 public:
  struct Limits {
    SizeLimit line;
    SizeLimit file{Bytes{~std::uint64_t{0}}, "files"};
  };

  /// The stream must outlive the reader. The path is for messages.
  LineReader(std::istream& in, std::string path, const Limits& limits)
      : in_(in), path_(std::move(path)), limits_(limits) {}

  /// The next line without its end; false if there is none, or if the stream has failed (its bad() tells).
  Result<bool> next(std::string& line);
  std::uint32_t number() const { return number_; }  ///< of that line; the first one is 1

 private:
  Status add(std::string& line, const char* text, std::size_t size);

  std::istream& in_;
  std::string path_;
  Limits limits_;
  std::uint64_t bytes_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace cortado
