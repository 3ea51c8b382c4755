// What kept times and choices are found by.
#pragma once

#include <string>
#include <string_view>

#include "cortado/machine/machine.hpp"

namespace cortado::pipeline {

/// FNV-1a, 64 bits: stable between runs and computers, which std::hash is not.
class ContentHash {
 public:
  ContentHash& add(std::string_view text);
  std::string text() const;  ///< 16 hexadecimal digits

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Every value of the machine's file; where they come from does not matter to times.
ContentHash& add_content(const Machine& machine, ContentHash& hash);

}  // namespace cortado::pipeline
