// Names of opcodes and sub-opcodes, including unsupported ones, for messages.
#pragma once

#include <cstdint>
#include <string_view>

namespace cortado::sdma {

/// Name of an opcode of SDMA 4 (and GCR of later engines); empty if the number is unknown.
constexpr std::string_view opcode_name(std::uint32_t op) {
  switch (op) {
    case 0:
      return "NOP";
    case 1:
      return "COPY";
    case 2:
      return "WRITE";
    case 4:
      return "INDIRECT";
    case 5:
      return "FENCE";
    case 6:
      return "TRAP";
    case 7:
      return "SEMAPHORE";
    case 8:
      return "POLL_REGMEM";
    case 9:
      return "COND_EXE";
    case 10:
      return "ATOMIC";
    case 11:
      return "CONST_FILL";
    case 12:
      return "PTEPDE (kernel only)";
    case 13:
      return "TIMESTAMP";
    case 14:
      return "SRBM_WRITE (kernel only)";
    case 15:
      return "PRE_EXE";
    case 16:
      return "DUMMY_TRAP";
    case 17:
      return "GCR (gfx10 and later)";
    default:
      return {};
  }
}

/// Name of a sub-opcode that exists on some engine but has no struct here; empty if the number is unknown.
constexpr std::string_view sub_opcode_name(std::uint32_t op, std::uint32_t sub) {
  switch (op << 8 | sub) {
    case 0x0101:
      return "tiled";
    case 0x0103:
      return "struct of arrays";
    case 0x0105:
      return "tiled sub-window";
    case 0x0106:
      return "tiled to tiled";
    case 0x0107:
      return "dirty page";
    case 0x0108:
      return "physical linear";
    case 0x010a:
      return "multicast (gfx125x)";
    case 0x0124:
      return "large linear sub-window";
    case 0x0201:
      return "tiled";
    case 0x0502:
      return "of 64 bits (gfx125x)";
    case 0x0801:
      return "register to memory";
    case 0x0802:
      return "dirty bits";
    case 0x0803:
      return "memory verify";
    case 0x0805:
      return "of 64 bits (gfx125x)";
    case 0x0b01:
      return "multi fill";
    default:
      return {};
  }
}

}  // namespace cortado::sdma
