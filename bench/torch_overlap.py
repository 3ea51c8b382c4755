"""torch_overlap.py [BACKEND...]: how much of an all_reduce of 25 MiB is hidden behind a matrix product, with 2 ranks and one
thread a rank: (product + all_reduce - both at once) / the shorter of the two. Medians of 9. With as many cores as ranks an all_reduce
by the processor can hide only where the product leaves a core idle."""
import multiprocessing
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist

RANKS = 2
ROUNDS = 9


def of_rank(rank, backend, store):
    torch.set_num_threads(1)
    if backend == "cortado":
        import cortado.torch  # noqa: F401
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=RANKS)
    bucket = torch.zeros(25 << 18)
    a, b = torch.rand(700, 700), torch.rand(700, 700)

    def both():
        work = dist.all_reduce(bucket, async_op=True)
        a @ b
        work.wait()

    def median(function):
        times = []
        for _ in range(ROUNDS):
            dist.barrier()
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3

    product, alone, together = median(lambda: a @ b), median(lambda: dist.all_reduce(bucket)), median(both)
    if rank == 0:
        hidden = (product + alone - together) / min(product, alone)
        print(f"{backend:8} product {product:7.1f} ms  all_reduce {alone:7.1f} ms  together {together:7.1f} ms  hidden {hidden:5.0%}")


if __name__ == "__main__":
    for backend in sys.argv[1:] or ("cortado", "gloo"):
        with tempfile.TemporaryDirectory() as folder:
            context = multiprocessing.get_context("fork")
            processes = [context.Process(target=of_rank, args=(r, backend, folder + "/store")) for r in range(RANKS)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
