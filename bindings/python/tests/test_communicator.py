"""Processes x operations x types x odd sizes x in place, against NumPy."""
import os
import signal
import unittest

import numpy

import cortado
import ranks

TYPES = (numpy.uint8, numpy.int8, numpy.int32, numpy.int64, numpy.float16, numpy.float32, numpy.float64)
SIZES = (1, 7, 1000, 40001)


def of_rank(rank, count, dtype, round):
    return ((numpy.arange(count) * 3 + rank * 7 + round) % 5).astype(dtype)


def conformance(comm):
    """Nothing, or what was wrong."""
    me, n_ranks = comm.rank, comm.ranks
    round = 0
    for dtype in TYPES:
        for n in SIZES:
            if n > 1000 and dtype not in (numpy.float32, numpy.float16):
                continue
            round += 1
            root = round % n_ranks
            everyone = [of_rank(r, n, dtype, round) for r in range(n_ranks)]
            blocks = [of_rank(r, n * n_ranks, dtype, round) for r in range(n_ranks)]
            mine = everyone[me].copy()
            total = sum(everyone[1:], everyone[0].copy())
            block = slice(me * n, (me + 1) * n)
            total_of_block = sum((b[block] for b in blocks[1:]), blocks[0][block].copy())
            exchanged = numpy.concatenate([b[block] for b in blocks])

            def expect(what, got, right):
                if not numpy.array_equal(got, right):
                    raise AssertionError(f"rank {me}: {what} of {n} {dtype.__name__}: {got[:8]} is not {right[:8]}")

            out = numpy.empty(n * n_ranks, dtype)
            comm.all_gather(mine, out)
            expect("all_gather", out, numpy.concatenate(everyone))
            out[:] = 0
            out[block] = mine
            comm.all_gather(out[block], out)
            expect("all_gather in place", out, numpy.concatenate(everyone))
            counts = [(n + r) * out.itemsize for r in range(n_ranks)]
            uneven = numpy.empty(sum(counts) // out.itemsize, dtype)
            comm.all_gather(of_rank(me, n + me, dtype, round), uneven, recv_bytes=counts)
            expect("all_gather with counts", uneven, numpy.concatenate([of_rank(r, n + r, dtype, round) for r in range(n_ranks)]))
            comm.all_to_all(blocks[me], out)
            expect("all_to_all", out, exchanged)
            same = blocks[me].copy()
            comm.all_to_all(same, same)
            expect("all_to_all in place", same, exchanged)
            piece = numpy.empty(n, dtype)
            comm.reduce_scatter(blocks[me], piece)
            expect("reduce_scatter", piece, total_of_block)
            same = blocks[me].copy()
            comm.reduce_scatter(same, same[block])
            expect("reduce_scatter in place", same[block], total_of_block)
            comm.all_reduce(mine, piece)
            expect("all_reduce", piece, total)
            same = mine.copy()
            comm.all_reduce(same)
            expect("all_reduce in place", same, total)
            same = mine.copy()
            comm.all_reduce(same, op="max")
            expect("maximum", same, numpy.maximum.reduce(everyone))
            same = mine.copy()
            comm.all_reduce(same, op="min")
            expect("minimum", same, numpy.minimum.reduce(everyone))
            same = mine.copy()
            comm.broadcast(same, root)
            expect("broadcast", same, everyone[root])
            comm.gather(mine, out, root)
            if me == root:
                expect("gather", out, numpy.concatenate(everyone))
            comm.scatter(blocks[me], piece, root)
            expect("scatter", piece, blocks[root][block])
            sent = comm.send(mine, (me + 1) % n_ranks, wait=False)
            received = comm.recv(piece, (me - 1) % n_ranks, wait=False)
            sent.wait()
            received.wait()
            expect("send and recv", piece, everyone[(me - 1) % n_ranks])
    comm.barrier()
    return None


class Communicator(unittest.TestCase):
    def test_conformance(self):
        for count in range(2, 9):
            self.assertEqual(ranks.run(conformance, count), [None] * count)

    def test_prepared_operations_run_on_what_the_arrays_hold(self):
        def again(comm):
            data, out = numpy.zeros(1000, numpy.float32), numpy.zeros((3, 1000), numpy.float32)
            gathering = comm.prepare("all_gather", data, out)
            summing = comm.prepare("all_reduce", data, op="max")
            seen = []
            for i in range(3):
                data[:] = 10 * i + comm.rank
                gathering.run()
                summing.start().wait()
                seen.append((out[:, 0].tolist(), data[-1]))
            return seen

        right = [([10 * i, 10 * i + 1, 10 * i + 2], 10 * i + 2) for i in range(3)]
        self.assertEqual(ranks.run(again, 3), [right] * 3)

    def test_objects_of_dlpack_are_not_copied(self):
        class Tensor:
            """Speaks DLPack and no buffer protocol."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self):
                return self.array.__dlpack__()

        def reduce(comm):
            data = numpy.full(5, comm.rank + 1, numpy.float64)
            comm.all_reduce(Tensor(data))
            codes = []
            for wrong in (Tensor(numpy.zeros((4, 4), numpy.float32)[:, :2]), Tensor(numpy.zeros(3, numpy.int16))):
                try:
                    comm.all_reduce(wrong)
                except cortado.Error as error:
                    codes.append(error.code)
            return data.tolist(), codes

        self.assertEqual(ranks.run(reduce, 2), [([3.0] * 5, ["runtime.arguments"] * 2)] * 2)

    def test_every_variant(self):
        for variant in ("staged", "direct"):
            self.assertEqual(ranks.run(conformance, 2, variant=variant), [None] * 2)

    def test_arrays_of_the_window(self):
        def gather(comm):
            own = comm.empty(100_000)
            own[:] = comm.rank
            everyone = comm.empty((2, 100_000))
            comm.all_gather(own, everyone)
            return float(everyone.sum()), "reach each other's memory" in comm.explain()

        self.assertEqual(ranks.run(gather, 2), [(100_000.0, True)] * 2)

    def test_a_killed_rank_ends_the_others(self):
        def die(comm):
            comm.barrier()
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                while True:
                    comm.all_reduce(numpy.ones(3, numpy.float32))
            except cortado.Error as error:
                return error.code, "rank 1" in error.message

        self.assertEqual(ranks.run(die, 3), [("runtime.peer", True), None, ("runtime.peer", True)])

    def test_mismatch_is_named(self):
        def differ(comm):
            try:
                comm.all_reduce(numpy.ones(3 + comm.rank, numpy.float32))
            except cortado.Error as error:
                comm.barrier()
                return error.code

        self.assertEqual(ranks.run(differ, 2), ["runtime.mismatch"] * 2)

    def test_a_matmul_beside_a_gather(self):
        def overlapped(comm):
            a, b = numpy.ones((64, 64)), numpy.ones((64, 64))
            shard = numpy.full((64, 8), comm.rank, numpy.float32)
            whole = numpy.empty((comm.ranks, 64, 8), numpy.float32)
            gathering = comm.all_gather(shard, whole, wait=False)
            product = a @ b
            gathering.wait()
            return float(product[0, 0]), whole[:, 0, 0].tolist()

        self.assertEqual(ranks.run(overlapped, 2), [(64.0, [0.0, 1.0])] * 2)


if __name__ == "__main__":
    unittest.main()
