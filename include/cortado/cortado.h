/* Cortado's communicator for C and for other languages: collectives on the caller's memory among processes of one
 * computer. communicator.hpp has the same for C++, and explains the operations.
 *
 *   cortado_comm* comm = NULL;
 *   if (cortado_join_from_environment(&comm) != CORTADO_OK) { puts(cortado_error()); exit(1); }
 *   cortado_all_reduce(comm, gradients, gradients, count, CORTADO_F32, CORTADO_SUM, NULL);
 *   cortado_leave(comm);
 *
 * Every function that can fail returns CORTADO_OK or the kind of failure; cortado_error() then has the message. If
 * `work` is not NULL, an operation only starts, and cortado_wait() completes it.
 * Numeric values in this header never change their meaning; new ones may be added. */
#ifndef CORTADO_CORTADO_H
#define CORTADO_CORTADO_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CORTADO_API __attribute__((visibility("default")))
#else
#define CORTADO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C naming */

typedef struct cortado_comm cortado_comm; /* one rank of a communicator */
typedef struct cortado_work cortado_work; /* an operation that was started */

typedef enum cortado_status {
  CORTADO_OK = 0,
  CORTADO_BAD_ARGUMENTS = 1, /* of this rank */
  CORTADO_MISMATCH = 2,      /* the ranks made different calls; the communicator stays usable */
  CORTADO_TIMEOUT = 3,       /* after this and the next two, leave the communicator */
  CORTADO_PEER = 4,          /* a rank died or left */
  CORTADO_ABORTED = 5,
  CORTADO_SYSTEM = 6, /* the system refused something */
} cortado_status;

typedef enum cortado_element {
  CORTADO_U8 = 0,
  CORTADO_I8 = 1,
  CORTADO_I32 = 2,
  CORTADO_I64 = 3,
  CORTADO_F16 = 4,
  CORTADO_BF16 = 5,
  CORTADO_F32 = 6,
  CORTADO_F64 = 7,
  CORTADO_F8 = 8, /* E4M3 FNUZ */
} cortado_element;

typedef enum cortado_reduction { CORTADO_SUM = 0, CORTADO_MIN = 1, CORTADO_MAX = 2 } cortado_reduction;

/* Message of the last failed call of this thread; never NULL. */
CORTADO_API const char* cortado_error(void);

/* Waits until all ranks of this name have joined, at most timeout_ms milliseconds (0: 30 s). */
CORTADO_API cortado_status cortado_join(const char* name, uint32_t rank, uint32_t ranks, uint32_t timeout_ms,
                                        cortado_comm** comm);
/* Rank and ranks from torchrun, mpirun or CORTADO_RANK, CORTADO_RANKS, CORTADO_NAME. */
CORTADO_API cortado_status cortado_join_from_environment(cortado_comm** comm);
CORTADO_API void cortado_leave(cortado_comm* comm);
CORTADO_API void cortado_abort(cortado_comm* comm, const char* reason);
CORTADO_API uint32_t cortado_rank(const cortado_comm* comm);
CORTADO_API uint32_t cortado_ranks(const cortado_comm* comm);
/* How the last operation was executed; valid until the next call with this comm. */
CORTADO_API const char* cortado_explain(cortado_comm* comm);

/* Memory that all ranks access without an intermediate copy. */
CORTADO_API cortado_status cortado_allocate(cortado_comm* comm, size_t bytes, void** memory);
CORTADO_API void cortado_release(cortado_comm* comm, void* memory);

/* `bytes` and `count` are those of one rank's block. */
CORTADO_API cortado_status cortado_barrier(cortado_comm* comm, cortado_work** work);
CORTADO_API cortado_status cortado_all_gather(cortado_comm* comm, const void* send, void* recv, size_t bytes,
                                              cortado_work** work);
/* Rank r sends bytes[r]. */
CORTADO_API cortado_status cortado_all_gather_v(cortado_comm* comm, const void* send, void* recv, const uint64_t* bytes,
                                                cortado_work** work);
CORTADO_API cortado_status cortado_all_to_all(cortado_comm* comm, const void* send, void* recv, size_t bytes,
                                              cortado_work** work);
/* Bytes for and from each rank, contiguous in the buffers. */
CORTADO_API cortado_status cortado_all_to_all_v(cortado_comm* comm, const void* send, const uint64_t* send_bytes,
                                                void* recv, const uint64_t* recv_bytes, cortado_work** work);
CORTADO_API cortado_status cortado_reduce_scatter(cortado_comm* comm, const void* send, void* recv, size_t count,
                                                  cortado_element element, cortado_reduction reduction,
                                                  cortado_work** work);
CORTADO_API cortado_status cortado_all_reduce(cortado_comm* comm, const void* send, void* recv, size_t count,
                                              cortado_element element, cortado_reduction reduction,
                                              cortado_work** work);
CORTADO_API cortado_status cortado_broadcast(cortado_comm* comm, void* buffer, size_t bytes, uint32_t root,
                                             cortado_work** work);
/* `recv` of the root only. */
CORTADO_API cortado_status cortado_gather(cortado_comm* comm, const void* send, void* recv, size_t bytes, uint32_t root,
                                          cortado_work** work);
/* `send` of the root only. */
CORTADO_API cortado_status cortado_scatter(cortado_comm* comm, const void* send, void* recv, size_t bytes,
                                           uint32_t root, cortado_work** work);
CORTADO_API cortado_status cortado_send(cortado_comm* comm, const void* data, size_t bytes, uint32_t to,
                                        cortado_work** work);
CORTADO_API cortado_status cortado_recv(cortado_comm* comm, void* data, size_t bytes, uint32_t from,
                                        cortado_work** work);

/* 1 once it has succeeded or failed. */
CORTADO_API int cortado_test(const cortado_work* work);
/* Waits, and releases the work. */
CORTADO_API cortado_status cortado_wait(cortado_work* work);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
