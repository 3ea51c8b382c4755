// Publications computed again, once for all tests of the program: they take seconds each.
#pragma once

#include <string>

#include "reproduce/reproduction.hpp"

namespace cortado {

/// With the machine that the publication names. Fails the test, and is empty, if it cannot be computed.
const report::Reproduction& reproduced(const std::string& publication);

/// Our value of a figure. Fails the test, and is 0, if there is no such figure.
double figure_of(const report::Reproduction& ours, const std::string& name);

}  // namespace cortado
