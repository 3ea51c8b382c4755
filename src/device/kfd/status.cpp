#include "device/kfd/status.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace cortado::device {

const char* status_text(HSAKMT_STATUS status) {
  switch (status) {
    case HSAKMT_STATUS_SUCCESS:
      return "success";
    case HSAKMT_STATUS_ERROR:
      return "error";
    case HSAKMT_STATUS_DRIVER_MISMATCH:
      return "library and kernel driver do not fit";
    case HSAKMT_STATUS_INVALID_PARAMETER:
      return "invalid parameter";
    case HSAKMT_STATUS_INVALID_HANDLE:
      return "invalid handle";
    case HSAKMT_STATUS_INVALID_NODE_UNIT:
      return "invalid node";
    case HSAKMT_STATUS_NO_MEMORY:
      return "no memory";
    case HSAKMT_STATUS_BUFFER_TOO_SMALL:
      return "buffer too small";
    case HSAKMT_STATUS_NOT_IMPLEMENTED:
      return "not implemented";
    case HSAKMT_STATUS_NOT_SUPPORTED:
      return "not supported";
    case HSAKMT_STATUS_UNAVAILABLE:
      return "unavailable";
    case HSAKMT_STATUS_OUT_OF_RESOURCES:
      return "out of resources";
    case HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED:
      return "kernel driver not opened";
    case HSAKMT_STATUS_KERNEL_COMMUNICATION_ERROR:
      return "kernel driver does not answer";
    case HSAKMT_STATUS_KERNEL_ALREADY_OPENED:
      return "kernel driver already opened";
    case HSAKMT_STATUS_HSAMMU_UNAVAILABLE:
      return "no address translation";
    case HSAKMT_STATUS_WAIT_FAILURE:
      return "wait failed";
    case HSAKMT_STATUS_WAIT_TIMEOUT:
      return "wait timed out";
    case HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED:
      return "memory already registered";
    case HSAKMT_STATUS_MEMORY_NOT_REGISTERED:
      return "memory not registered";
    case HSAKMT_STATUS_MEMORY_ALIGNMENT:
      return "memory not aligned";
  }
  return "";
}

Diagnostic thunk_error(std::string code, const std::string& what, Outcome outcome, std::string hint) {
  std::string message = fmt::format("{}: status {}", what, static_cast<int>(outcome.status));
  if (const std::string text = status_text(outcome.status); !text.empty()) message += fmt::format(" ({})", text);
  if (outcome.errno_value != 0) {
    message += fmt::format(", errno {} ({})", outcome.errno_value, std::strerror(outcome.errno_value));
  }
  return {std::move(code), std::move(message), std::move(hint), {}, About::environment};
}

}  // namespace cortado::device
