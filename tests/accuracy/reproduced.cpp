#include "reproduced.hpp"

#include <map>

#include <gtest/gtest.h>

#include "reproduce/reproduce.hpp"

namespace cortado {

const report::Reproduction& reproduced(const std::string& publication) {
  static std::map<std::string, report::Reproduction> known;
  const auto found = known.find(publication);
  if (found != known.end()) return found->second;
  const auto result = pipeline::reproduce(publication, {}, {.threads = 2});
  EXPECT_TRUE(result) << publication << ": " << to_string(result.error().errors.front());
  return known.emplace(publication, result ? *result : report::Reproduction{}).first->second;
}

double figure_of(const report::Reproduction& ours, const std::string& name) {
  const report::ReproducedFigure* found = ours.figure(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : found->ours;
}

}  // namespace cortado
