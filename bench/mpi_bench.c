/* mpi_bench BYTES...: what processes_bench measures, by MPI; bench/processes compiles and starts it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* names[] = {"all-gather", "all-to-all", "all-reduce", "reduce-scatter"};
  for (int a = 1; a < argc; ++a) {
    const long bytes = atol(argv[a]);
    char* send = malloc((size_t)bytes);
    char* recv = malloc((size_t)bytes * (size_t)ranks);
    /* Written, as a program's memory is: what was never written is one page of zeros, which all reads take from the cache. */
    memset(send, 1, (size_t)bytes);
    memset(recv, 1, (size_t)bytes * (size_t)ranks);
    const int crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);
    const long batch = crowded ? 1 : bytes <= 16 << 10 ? 20 : bytes <= 256 << 10 ? 5 : 1;
    const long most = crowded ? 40 : 400;
    const long moved = (bytes * ranks * ranks + 20000) * batch;
    long count = 400000000 / moved;
    count = count < 5 ? 5 : count > most ? most : count;
    double* times = malloc(sizeof(double) * (size_t)count);
    for (int what = 0; what < 4; ++what) {
      for (long i = -(count / 10) - 1; i < count; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (long j = 0; j < batch; ++j) {
          if (what == 0) MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
          if (what == 1) MPI_Alltoall(send, (int)(bytes / ranks), MPI_BYTE, recv, (int)(bytes / ranks), MPI_BYTE, MPI_COMM_WORLD);
          if (what == 2) MPI_Allreduce(send, recv, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
          if (what == 3) MPI_Reduce_scatter_block(send, recv, (int)(bytes / 4 / ranks), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        if (i >= 0) times[i] = (MPI_Wtime() - start) * 1e6 / (double)batch;
      }
      qsort(times, (size_t)count, sizeof(double), ascending);
      if (rank == 0) printf("%s %ld own %.2f %.2f\n", names[what], bytes, times[count / 2], times[0]);
    }
    free(times);
    free(send);
    free(recv);
  }
  MPI_Finalize();
  return 0;
}
