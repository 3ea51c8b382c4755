"""A matrix product beside an all-gather, in two processes."""
import os

import cortado
import numpy

name = f"example 06, process {os.getpid()}"
rank = 0 if os.fork() else 1
comm = cortado.Communicator.join(name, rank, ranks=2)
shard = numpy.full((1024, 256), rank, numpy.float32)
whole = numpy.empty((2, 1024, 256), numpy.float32)
gathering = comm.all_gather(shard, whole, wait=False)  # in the background
product = shard.T @ shard
gathering.wait()
assert whole[1].min() == 1 and product[0, 0] == rank * 1024
if rank == 0:
    print(comm.explain())
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
