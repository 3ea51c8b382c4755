"""Collectives on your own arrays among the processes of one computer, and plans of collectives for GPUs.

A communicator with one rank needs no other process, so you can run this as it is:

>>> import numpy, cortado
>>> comm = cortado.Communicator.join("example", rank=0, ranks=1)
>>> data = numpy.array([1.0, 2.0], dtype=numpy.float32)
>>> comm.all_reduce(data)
>>> data
array([1., 2.], dtype=float32)

Under torchrun or mpirun, `cortado.Communicator.from_environment()` joins all ranks. An array is any contiguous object with the
buffer protocol (NumPy arrays) or DLPack (PyTorch tensors on the CPU); its memory is used directly. Operations release the
interpreter's lock while they wait for the result. With `wait=False` they only start, and return a Work to wait for.
`import cortado.torch` registers the PyTorch backend "cortado".
"""
import json

from . import _cortado
from ._cortado import Work
from ._errors import Error

__all__ = ["Communicator", "Error", "Program", "Work", "machines", "overlap", "plan", "simulate", "variants", "verify"]

# In the order of OperationKind, Element and Reduction of communicator.hpp.
_KINDS = {name: i for i, name in enumerate((
    "barrier", "all_gather", "all_to_all", "reduce_scatter", "all_reduce", "broadcast", "gather", "scatter", "send", "recv"))}
ELEMENTS = {name: i for i, name in enumerate(("u8", "i8", "i32", "i64", "f16", "bf16", "f32", "f64", "f8"))}
REDUCTIONS = {"sum": 0, "min": 1, "max": 2}
_WINDOW = 1 << 30
_PREPARE = object()  # as `wait`: only prepares the operation


def _element(array, dtype):
    """The element type of a reduction: `dtype`, or that of the array if it is None."""
    if dtype is None:
        dtype = _cortado.element_of(array)
    if dtype not in ELEMENTS:
        raise Error("runtime.arguments", f"cannot reduce elements {dtype or getattr(array, 'dtype', 'of this array')}",
                    "pass dtype=, one of " + ", ".join(ELEMENTS))
    return ELEMENTS[dtype]


def _reduction(op):
    if op not in REDUCTIONS:
        raise Error("runtime.arguments", f"unknown reduction {op!r}", "use sum, min or max")
    return REDUCTIONS[op]


class Communicator:
    """One rank of a group. All ranks call the same operations in the same order."""

    def __init__(self, base):
        self._base = base

    @classmethod
    def join(cls, name, rank, ranks, timeout=30.0, window=_WINDOW, variant=""):
        """Waits until all ranks have joined under this name.

        >>> cortado.Communicator.join("alone", rank=0, ranks=1).ranks
        1
        """
        return cls(_cortado.Communicator.join(name, rank, ranks, timeout, window, variant))

    @classmethod
    def from_environment(cls, timeout=30.0, window=_WINDOW, variant=""):
        """Joins with the rank, ranks and name from torchrun, mpirun, or CORTADO_RANK, CORTADO_RANKS and CORTADO_NAME."""
        name, rank, ranks = _cortado.options_from_environment()
        return cls.join(name, rank, ranks, timeout, window, variant)

    @classmethod
    def threads(cls, ranks, timeout=30.0, window=_WINDOW, variant=""):
        """A list of communicators, one for each of `ranks` threads of this process.

        >>> [comm.rank for comm in cortado.Communicator.threads(3)]
        [0, 1, 2]
        """
        return [cls(base) for base in _cortado.Communicator.threads(ranks, timeout, window, variant)]

    @property
    def rank(self):
        return self._base.rank

    @property
    def ranks(self):
        return self._base.ranks

    def explain(self):
        """Which variant the last collective used, and why."""
        return self._base.explain()

    def abort(self, reason=""):
        """Ends every operation of every rank with an error."""
        self._base.abort(reason)

    def close(self):
        """Leaves the communicator, once no array of empty() exists any more."""
        self._base = None

    def empty(self, shape, dtype="float32"):
        """A NumPy array in memory that all ranks access without an intermediate copy.

        >>> comm = cortado.Communicator.join("window", rank=0, ranks=1)
        >>> comm.empty((2, 3)).shape
        (2, 3)
        """
        import ctypes

        import numpy
        dtype = numpy.dtype(dtype)
        count = int(numpy.prod(shape))
        address, life = self._base.allocate(max(count * dtype.itemsize, 1))
        memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
        memory.life = life  # releases the memory together with its last view
        return numpy.frombuffer(memory, dtype=dtype).reshape(shape)

    def prepare(self, operation, *arrays, **options):
        """An operation whose arguments are checked once and that then runs repeatedly on the same arrays.

        >>> comm = cortado.Communicator.join("prepared", rank=0, ranks=1)
        >>> data = bytearray(3)
        >>> reducing = comm.prepare("all_reduce", data)
        >>> reducing.run()
        """
        return getattr(self, operation)(*arrays, wait=_PREPARE, **options)

    def _do(self, wait, kind, send=None, recv=None, element=0, reduction=0, root=0, send_bytes=(), recv_bytes=()):
        arguments = (_KINDS[kind], send, recv, element, reduction, root, send_bytes, recv_bytes)
        if wait is _PREPARE:
            return self._base.prepare(*arguments)
        if wait:
            self._base.run(*arguments)
            return None
        return _Started(self._base.start(*arguments), (send, recv))

    def barrier(self, wait=True):
        return self._do(wait, "barrier")

    def all_gather(self, send, recv, recv_bytes=(), wait=True):
        """recv = what all ranks send, concatenated. In place: `send` is block `rank` of `recv`. With counts: rank r sends
        recv_bytes[r] bytes."""
        return self._do(wait, "all_gather", send, recv, recv_bytes=recv_bytes)

    def all_to_all(self, send, recv, send_bytes=(), recv_bytes=(), wait=True):
        """Block r of `send` goes to rank r; block r of `recv` comes from rank r. With counts: bytes for and from each rank."""
        return self._do(wait, "all_to_all", send, recv, send_bytes=send_bytes, recv_bytes=recv_bytes)

    def reduce_scatter(self, send, recv, op="sum", dtype=None, wait=True):
        """recv = block `rank` of the sum of all `send`."""
        return self._do(wait, "reduce_scatter", send, recv, _element(send, dtype), _reduction(op))

    def all_reduce(self, send, recv=None, op="sum", dtype=None, wait=True):
        """recv = the sum of all `send`; in place if `recv` is not given."""
        return self._do(wait, "all_reduce", send, send if recv is None else recv, _element(send, dtype), _reduction(op))

    def broadcast(self, buffer, root=0, wait=True):
        return self._do(wait, "broadcast", None, buffer, root=root)

    def gather(self, send, recv=None, root=0, wait=True):
        """recv of the root = what all ranks send."""
        return self._do(wait, "gather", send, recv if self.rank == root else None, root=root)

    def scatter(self, send, recv, root=0, wait=True):
        """recv = block `rank` of what the root sends."""
        return self._do(wait, "scatter", send if self.rank == root else None, recv, root=root)

    def send(self, data, to, wait=True):
        return self._do(wait, "send", data, root=to)

    def recv(self, data, source, wait=True):
        return self._do(wait, "recv", None, data, root=source)


class _Started:
    """A Work that keeps its arrays alive."""

    def __init__(self, work, arrays):
        self._work = work
        self._arrays = arrays

    def test(self):
        return self._work.test()

    def wait(self):
        self._work.wait()


class Program:
    """A program planned for one machine."""

    def __init__(self, text, machine):
        self.json = text
        self.machine = machine

    def listing(self):
        """One line per command."""
        return _cortado.listing(self.json)


def machines():
    """The names of all machines.

    >>> "mi300x-8" in cortado.machines()
    True
    """
    return _cortado.machines()


def variants(collective):
    """The names of all variants of a collective.

    >>> "pcpy" in cortado.variants("all-gather")
    True
    """
    return _cortado.variants(collective)


def plan(collective, bytes, machine="mi300x-8", variant="pcpy", ranks=0, prelaunch=False, in_place=True):
    """The program of a collective.

    >>> program = cortado.plan("all-gather", 1 << 20)
    >>> cortado.verify(program)
    []
    """
    return Program(_cortado.plan(collective, bytes, machine, variant, ranks, prelaunch, in_place), machine)


def verify(program):
    """All errors that the verifier finds. If there are none, the program is proved free of deadlocks, races and wrong bytes."""
    return _cortado.verify(program.json, program.machine)


def simulate(program):
    """The predicted time of a program on its machine, in microseconds. The program is proved first.

    >>> simulated = cortado.simulate(cortado.plan("all-gather", 1 << 20))
    >>> 1 < simulated < 1000
    True
    """
    return _cortado.run(program.json, program.machine, "sim", 1)


def run(program, iterations=10):
    """The measured time on the embedded node of this computer, in microseconds. Every output byte is checked."""
    return _cortado.run(program.json, program.machine, "soft", iterations)


def overlap(collective, gemm, bytes=0, relation="gemm-needs-collective", machine="mi300x-8", strategies=("auto",)):
    """The result of `cortado overlap` as a dictionary: all strategies with their times, and which one to use."""
    return json.loads(_cortado.overlap(collective, list(gemm), relation, bytes, machine, list(strategies)))
