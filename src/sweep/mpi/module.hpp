// What the module that speaks MPI offers, by name: cortado loads it when mpirun started it. Messages are bytes.
#pragma once

#include <cstddef>

extern "C" {

/// Of the process. Returns 0, or what went wrong as a text.
struct CortadoMpi {
  const char* (*start)(int* rank, int* size);
  /// Takes a copy, and does not wait until the other one has it. Messages to a dead rank are lost.
  const char* (*send)(int to, const void* bytes, std::size_t size);
  /// Waits at most so many microseconds; sets `from` to -1 if nothing came. The bytes are valid until the next
  /// call; null means that the rank has died, which is reported once. Rank 0 receives from all others, they receive
  /// from rank 0 only. Without fault tolerance in MPI (CORTADO_MPI_OUTLIVES_RANKS), deaths are not reported: MPI ends
  /// all ranks with the first.
  const char* (*receive)(int* from, const void** bytes, std::size_t* size, long microseconds);
  void (*stop)();  ///< after all that was sent has arrived
};

/// The only name that is looked up.
const CortadoMpi* cortado_mpi();
}
