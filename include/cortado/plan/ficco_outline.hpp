// Outlines of schedules: what one rank does and what it waits for, without a program.
//
// plan_ficco writes every command of every rank, with regions and signals, which takes milliseconds where a schedule
// has many chunks. Who only wants to know about how long it takes reads the commands of one rank: its kernels, and the
// lanes of engines that bring what it receives (or take away what it makes). All ranks do the same at the same time, as
// far as their rows are even, so what one rank waits for is done by its own lanes.
//
// Engines carry pieces by plain copies, a lane towards every peer, whatever the exchange of the schedule is.
//
// outline_test.cpp compares outlines with programs, command by command.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "cortado/plan/ficco.hpp"

namespace cortado {

struct FiccoOutline {
  /// A product.
  struct Multiply {
    GemmShape shape;
  };
  /// A kernel that moves or adds up rows in the memory of its GPU.
  struct Move {
    Bytes written;
    std::uint32_t regions = 0;    ///< that it reads and writes, of the same size
    bool reads_for_free = false;  ///< its rate counts what it writes, not all that it touches (Copy, not Kernel)
  };
  /// Until send number `send` of a lane has arrived.
  struct Await {
    std::uint32_t lane = 0;
    std::uint32_t send = 0;
  };
  /// Tells engines; raises are counted from 0.
  struct Raise {};
  using Command = std::variant<Multiply, Move, Await, Raise>;

  /// A piece, by one copy or several behind another, of which only the last is smaller, and the signal that it has
  /// arrived.
  struct Send {
    Bytes bytes;
    Bytes copy;                          ///< of the first copy
    std::vector<std::uint32_t> after{};  ///< raises that it waits for

    std::uint32_t copies() const { return static_cast<std::uint32_t>((bytes.value + copy.value - 1) / copy.value); }
  };

  std::vector<Command> kernels;
  std::vector<std::vector<Send>> lanes;  ///< towards the next rank, the one after it, ...; empty ones do nothing
  bool kernels_first = false;            ///< the host launches kernels before it submits lanes
  bool closed = false;                   ///< the rank waits for nobody but these lanes; else for others that are alike
  Bytes footprint{};                     ///< memory of the rank
  std::uint32_t ranks = 0;
  std::uint32_t rank = 0;  ///< whose outline it is
};

/// Of the ranks that can be last: the one with most rows to multiply, of several the middle one; and if rows are uneven
/// the one with most kernels, where it is another. Refuses what plan_ficco refuses before it makes a program: all but
/// what exceeds memory or rings.
Result<std::vector<FiccoOutline>> outline_ficco(const DependentRequest& request, const FiccoSchedule& schedule,
                                                const Machine& machine);

}  // namespace cortado
