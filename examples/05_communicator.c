/* Four processes add up their numbers by Cortado's C interface. Build it with -lcortado. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cortado/cortado.h"

enum { RANKS = 4, COUNT = 1000 };

static int of_rank(const char* name, uint32_t rank) {
  cortado_comm* comm = NULL;
  if (cortado_join(name, rank, RANKS, 10000, &comm) != CORTADO_OK) {
    fprintf(stderr, "%s\n", cortado_error());
    return 1;
  }
  float numbers[COUNT];
  for (int i = 0; i < COUNT; ++i) numbers[i] = (float)(i % 10) + (float)rank;

  cortado_work* work = NULL; /* started; other things could be done meanwhile */
  cortado_status status = cortado_all_reduce(comm, numbers, numbers, COUNT, CORTADO_F32, CORTADO_SUM, &work);
  if (status == CORTADO_OK) status = cortado_wait(work);
  if (status != CORTADO_OK) fprintf(stderr, "%s\n", cortado_error());

  int wrong = status != CORTADO_OK;
  for (int i = 0; i < COUNT; ++i) wrong |= numbers[i] != 4.0F * (float)(i % 10) + 6.0F;
  if (rank == 0 && !wrong) printf("%s\n", cortado_explain(comm));

  /* Ranks that disagree are told, not left waiting. */
  wrong |= cortado_broadcast(comm, numbers, rank == 2 ? 8 : 4, 0, NULL) != CORTADO_MISMATCH;
  wrong |= cortado_barrier(comm, NULL) != CORTADO_OK;
  cortado_leave(comm);
  return wrong;
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "example 05, process %d", (int)getpid());
  for (uint32_t rank = 1; rank < RANKS; ++rank) {
    if (fork() == 0) return of_rank(name, rank);
  }
  int wrong = of_rank(name, 0);
  int status = 0;
  while (wait(&status) > 0) wrong |= status;
  return wrong != 0;
}
