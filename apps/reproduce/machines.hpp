// How well founded the constants of every machine are.
#pragma once

#include <string>

#include "cortado/result.hpp"

namespace cortado::pipeline {

/// A section of docs/accuracy.md: how many constants of each machine were published or measured, fitted, derived,
/// borrowed from another machine or assumed, and which publications it is compared with.
Result<std::string> machines_markdown();

}  // namespace cortado::pipeline
