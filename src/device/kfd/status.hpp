// Status codes of libhsakmt as errors.
#pragma once

#include <cerrno>
#include <string>

#include <hsakmt.h>

#include "cortado/result.hpp"

namespace cortado::device {

/// "no memory", or empty for a code without a name.
const char* status_text(HSAKMT_STATUS status);

/// What a call of the library gave: the library passes failed system calls on through errno.
struct Outcome {
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  int errno_value = 0;
  bool ok() const { return status == HSAKMT_STATUS_SUCCESS; }
};

template <class Function, class... Arguments>
Outcome call(const Function& function, Arguments... arguments) {
  errno = 0;
  const HSAKMT_STATUS status = function(arguments...);
  return {status, errno};
}

/// An environment error: "<what>: status 6 (no memory), errno 12 (Cannot allocate memory)"; the part about errno only
/// if there is one.
Diagnostic thunk_error(std::string code, const std::string& what, Outcome outcome, std::string hint = {});

}  // namespace cortado::device
