"""gloo_bench.py RANKS BYTES...: what processes_bench measures, by PyTorch's gloo (which has no reduce-scatter, and all-to-all
only since 1.14); bench/processes starts it. Python's own time, some 10 us a call, is part of it."""
import multiprocessing
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist


def of_rank(rank, ranks, sizes, store, backend):
    torch.set_num_threads(1)
    if backend == "cortado":
        import cortado.torch  # noqa: F401
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=ranks)
    for size in sizes:
        send = torch.zeros(size // 4)
        parts = list(torch.zeros(ranks, size // 4))
        batch = 20 if size <= 16 << 10 else 5 if size <= 256 << 10 else 1
        count = min(max(400_000_000 // (size * ranks * ranks + 20_000) // batch, 5), 200)
        for name, work in (("all-gather", lambda: dist.all_gather(parts, send)), ("all-reduce", lambda: dist.all_reduce(send))):
            times = []
            for i in range(count + 2):
                dist.barrier()
                start = time.perf_counter()
                for _ in range(batch):
                    work()
                times.append((time.perf_counter() - start) / batch)
            if rank == 0:
                times = sorted(times[2:])
                print(name, size, "own", f"{statistics.median(times) * 1e6:.2f} {times[0] * 1e6:.2f}", flush=True)


if __name__ == "__main__":
    backend = "gloo"
    if sys.argv[1] == "--cortado":
        backend = "cortado"
        del sys.argv[1]
    ranks, sizes = int(sys.argv[1]), [int(s) for s in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        processes = [context.Process(target=of_rank, args=(r, ranks, sizes, folder + "/store", backend)) for r in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
