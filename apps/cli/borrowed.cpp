#include "borrowed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cortado::cli {

void tell_what_is_borrowed(const Machine& machine, Console& console) {
  const BorrowedConstants borrowed = borrowed_constants(machine);
  if (borrowed.number * 10 <= borrowed.of) return;
  console.talk(
      fmt::format("{} of the {} constants of {} are borrowed from {}, not measured; see cortado show machine {}",
                  borrowed.number, borrowed.of, machine.name, fmt::join(borrowed.from, ", "), machine.name));
}

}  // namespace cortado::cli
