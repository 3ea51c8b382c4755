// Small correct programs, hand-made for the tests of the rules, and a machine that they fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

namespace cortado::verifier::testing {

/// In the machine below; the engines before this one are for the host.
inline constexpr std::uint32_t kFirstPeerEngine = 2;

/// Engines 0 and 1 for the host, 2 .. 2 + gpus for peers, all present; limits as on an MI300X.
Machine test_machine(std::uint32_t gpus);

/// All-gather of one block per rank: one host queue, and one dma queue and signal per copy.
Program all_gather(std::uint32_t ranks, std::uint64_t block = 64);

/// The same with one counter for all copies instead of one signal each.
Program all_gather_counter(std::uint32_t ranks, std::uint64_t block = 64);

/// The same, prelaunched: queues are submitted first and wait at a poll; one trigger releases them.
Program all_gather_prelaunched(std::uint32_t ranks, std::uint64_t block = 64);

/// Back to back: one dma queue per rank with all its copies and one Signal.
Program all_gather_b2b(std::uint32_t ranks, std::uint64_t block = 64);

/// One host queue, and one queue and signal per copy.
Program all_to_all(std::uint32_t ranks, std::uint64_t block = 64);

/// All-gather with one host queue per rank. A barrier of signals at the start prevents an output from being overwritten
/// while its caller reads it; every rank waits until its input is sent and its output has arrived. `sent_first` swaps
/// the last two signals of every dma queue, which is wrong with three or more ranks.
Program all_gather_per_rank(std::uint32_t ranks, std::uint64_t block = 64, bool sent_first = false);

/// Reduce-scatter: blocks are copied to scratch buffers on the owner, which adds them up on its compute queue.
Program reduce_scatter(std::uint32_t ranks, std::uint64_t block = 64);

/// Swaps the halves of two ranks' buffers in place (all-to-all of two ranks).
Program swap_in_place(std::uint64_t block = 64);

/// A Gemm on rank 0 multiplies two rows of its own and two that an engine of rank 1 delivers; the tiles of the latter
/// wait for them.
Program gemm_whose_tiles_wait();

/// A Gemm on rank 0 raises a signal for each of its two tile rows; each row is then copied to `remote` of rank 1, and A
/// to `copy`.
Program gemm_with_tile_signals();

/// One copy from rank 0 to rank 1: queues "host" (0) and "dma" (1), buffers "in" (0) and "out" (1), signal "done" (0).
Program point_to_point(std::uint64_t bytes = 64);

/// in of rank 0 -> middle of rank 1 -> out of rank 1: the first copy of an iteration waits until the second one of the
/// previous iteration has read the middle. Queues "first" and "second", and a host queue per rank; signals "arrived",
/// "credit" and "sent".
Program relay_with_credit(std::uint64_t bytes = 64);

/// Adds a buffer "kept" on rank 0 and a contract saying that its bytes do not change, for programs without outputs:
/// tests of rules that do not look at the contract.
void promise_nothing(ProgramBuilder& builder);

/// Every program of this file, products.hpp and mapped.hpp, with a name for messages.
struct Named {
  std::string name;
  Program program;
};
std::vector<Named> good_programs();

/// The commands of the queue with this name.
std::vector<Command>& commands_of(Program& program, const std::string& queue);

/// Errors of verify(); empty if the program passes.
std::vector<Diagnostic> errors_of(const Program& program, const VerifyOptions& options = {});

/// The codes of errors_of, without duplicates.
std::vector<std::string> codes_of(const Program& program, const VerifyOptions& options = {});

}  // namespace cortado::verifier::testing
