"""PyTorch's backend: every function on the same tensors with gloo and with Cortado, and a model that is trained."""
import multiprocessing
import os
import tempfile
import traceback
import unittest

import torch
import torch.distributed as dist

import cortado.torch  # noqa: F401: makes the backend
import ranks

RANKS = 3
SIZES = (2, 3, 8)  # numbers of ranks that are compared with gloo


def every_function():
    """Results of everything, by name."""
    me, size = dist.get_rank(), dist.get_world_size()
    results = {}

    def tensor(*shape, dtype=torch.float32):
        count = int(torch.Size(shape).numel())
        return ((torch.arange(count) * 3 + me * 7) % 11).to(dtype).view(*shape)

    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN):
            data = tensor(5, 7, dtype=dtype)
            dist.all_reduce(data, op)
            results[f"all_reduce {dtype} {len(results)}"] = data
    data = tensor(30001)
    dist.all_reduce(data)
    results["large all_reduce"] = data
    data = tensor(4, 6).t()
    dist.all_reduce(data)
    results["all_reduce of a transposed tensor"] = data
    parts = [torch.empty(3, 2) for _ in range(size)]
    dist.all_gather(parts, tensor(3, 2))
    results["all_gather"] = torch.stack(parts)
    data = tensor(4)
    dist.broadcast(data, 1)
    results["broadcast"] = data
    parts = [torch.empty(2) for _ in range(size)] if me == 1 else None
    dist.gather(tensor(2), parts, 1)
    results["gather"] = torch.stack(parts) if parts else torch.zeros(1)
    data = torch.empty(2)
    dist.scatter(data, [tensor(2) + i for i in range(size)] if me == 0 else None, 0)
    results["scatter"] = data
    data = tensor(4)
    dist.reduce(data, size - 1)
    results["reduce"] = data if me == size - 1 else torch.zeros(1)
    data = torch.empty(4)
    receiving = dist.irecv(data, (me - 1) % size)
    dist.isend(tensor(4), (me + 1) % size).wait()
    receiving.wait()
    results["send and recv"] = data
    work = dist.all_reduce(tensor(3), async_op=True)
    work.wait()
    pair = dist.new_group([0, size - 1])
    if me in (0, size - 1):
        data = tensor(3)
        dist.all_reduce(data, group=pair)
        results["of a group"] = data
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": me})
    results["objects"] = torch.tensor([g["rank"] for g in gathered])
    dist.barrier()
    return results


def what_gloo_has_not():
    me, size = dist.get_rank(), dist.get_world_size()
    whole = torch.empty(size * 2)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(me)))
    assert whole.tolist() == [0, 0, 1, 1, 2, 2], whole
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, torch.arange(size * 2, dtype=torch.float32))
    assert part.tolist() == [size * 2 * me, size * (2 * me + 1)], part
    dist.reduce_scatter(part, [torch.full((2,), float(i)) for i in range(size)])
    assert part.tolist() == [size * me] * 2, part
    out = torch.empty(size)
    dist.all_to_all_single(out, torch.arange(size, dtype=torch.float32) + 10 * me)
    assert out.tolist() == [me + 10 * r for r in range(size)], out
    out = torch.empty(sum(r + me for r in range(size)))
    dist.all_to_all_single(out, torch.full((sum(r + me for r in range(size)),), float(me)),
                           [r + me for r in range(size)], [r + me for r in range(size)])
    assert out.tolist() == [float(r) for r in range(size) for _ in range(r + me)], out
    data = torch.full((3,), float(me))
    dist.all_reduce(data, dist.ReduceOp.AVG)
    assert data.tolist() == [1.0] * 3, data
    return {}


def trained():
    """The losses of a few steps of a small model under DistributedDataParallel."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(dist.get_rank())
    x = torch.randn(64, 20)
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": torch.tensor(losses)}


def _rank(function, backend, file, rank, size, answers):
    try:
        torch.set_num_threads(1)
        dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=size)
        answers.put((rank, {k: v.tolist() for k, v in function().items()}))
        dist.destroy_process_group()
    except BaseException:
        answers.put((rank, traceback.format_exc()))


def run(function, backend, size=RANKS):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "store")
        processes = [context.Process(target=_rank, args=(function, backend, file, r, size, answers)) for r in range(size)]
        for process in processes:
            process.start()
        said = dict(answers.get() for _ in processes)
        for process in processes:
            process.join()
    return said


class Tensors(unittest.TestCase):
    def test_a_communicator_takes_tensors_as_they_are(self):
        def reduce(comm):
            data = torch.full((5,), comm.rank + 1.0, dtype=torch.bfloat16)
            address = data.data_ptr()
            comm.all_reduce(data)
            everyone = torch.empty(2, 3, dtype=torch.int32)
            comm.all_gather(torch.full((3,), comm.rank, dtype=torch.int32), everyone)
            return data.tolist(), data.data_ptr() == address, everyone.tolist()

        self.assertEqual(ranks.run(reduce, 2), [([3.0] * 5, True, [[0] * 3, [1] * 3])] * 2)


class Backend(unittest.TestCase):
    maxDiff = 4000

    def test_agrees_with_gloo(self):
        for size in SIZES:
            ours = run(every_function, "cortado", size)
            for rank in range(size):
                self.assertIsInstance(ours[rank], dict, ours[rank])
            self.assertEqual(ours, run(every_function, "gloo", size))

    def test_what_gloo_has_not(self):
        self.assertEqual(run(what_gloo_has_not, "cortado"), {r: {} for r in range(RANKS)})

    def test_trains_as_with_gloo(self):
        ours = run(trained, "cortado")
        theirs = run(trained, "gloo")
        for rank in range(RANKS):
            self.assertIsInstance(ours[rank], dict, ours[rank])
            for a, b in zip(ours[rank]["losses"], theirs[rank]["losses"]):
                self.assertAlmostEqual(a, b, places=4)
            self.assertLess(ours[rank]["losses"][-1], ours[rank]["losses"][0])


if __name__ == "__main__":
    unittest.main()
