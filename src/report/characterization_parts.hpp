// What the text and the page of a characterisation have in common.
#pragma once

#include <string>
#include <vector>

#include "cortado/report/characterization.hpp"

namespace cortado::report {

struct NumberTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// "all-gather of 4GiB, then 131072x2048x16384 bf16 of what it brings, on 8 ranks of mi300x-8"
std::string characterization_title(const Characterization& report);
/// One line.
std::string whole_product(const Characterization& report);

NumberTable decomposition_table(const Characterization& report);
NumberTable contention_table(const Characterization& report);

}  // namespace cortado::report
