// Where the files of the source tree are that a test reads.
#pragma once

#include <string>

namespace cortado {

std::string source_dir();

}  // namespace cortado
