"""PyTorch's backend "cortado" for tensors on the CPU.

    import torch.distributed as dist, cortado.torch
    dist.init_process_group("cortado")
"""
import collections
import queue
import threading
import uuid

import torch
import torch.distributed as dist

from . import ELEMENTS, REDUCTIONS, _KINDS, _WINDOW, _cortado

_TYPES = {torch.uint8: "u8", torch.bool: "u8", torch.int8: "i8", torch.int32: "i32", torch.int64: "i64",
          torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
_MOST_UNWAITED = 1024
_Work = torch._C._distributed_c10d.Work
_Base = torch._C._distributed_c10d.ProcessGroup


def _memory(tensor):
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def _reduction(op):
    """(reduction, whether the result is divided by the ranks)"""
    if op == dist.ReduceOp.AVG:
        return REDUCTIONS["sum"], True
    for name in REDUCTIONS:
        if op == getattr(dist.ReduceOp, name.upper()):
            return REDUCTIONS[name], False
    raise ValueError(f"cortado: unknown reduction {op}; use SUM, AVG, MIN or MAX")


class CortadoWork(_Work):
    """An operation that was started. `after` runs once, in the first thread that waits, before any wait returns."""

    def __init__(self, works, tensors, result, after=None):
        super().__init__()
        self._works = works
        self._tensors = tensors  # kept alive until it is done
        self._result = result
        self._after = after
        self._future = None
        self._lock = threading.Lock()
        self.waited = False

    def wait(self, timeout=None):
        for work in self._works:
            work.wait()
        with self._lock:
            after, self._after = self._after, None
            if after:
                after()
            self._tensors = None
            self.waited = True
        return True

    def is_completed(self):
        return all(work.test() for work in self._works)

    def is_success(self):
        return self.is_completed()

    def result(self):
        return self._result

    def synchronize(self):
        self.wait()

    def get_future(self):
        if self._future is None:
            self._future = torch.futures.Future()
            _FINISHER.finish(self)
        return self._future


class _Finisher:
    """A thread that completes futures in the order in which they were requested; the first request starts it."""

    def __init__(self):
        self._works = queue.SimpleQueue()
        self._thread = None

    def finish(self, work):
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._works.put(work)

    def _run(self):
        while True:
            work = self._works.get()
            try:
                work.wait()
                work._future.set_result(work._result)
            except Exception as error:  # raised for the caller that waits for the future
                work._future.set_exception(error)
            del work


_FINISHER = _Finisher()


class CortadoProcessGroup(_Base):
    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        # Rank 0 invents a unique name; the store passes it to the other ranks.
        if rank == 0:
            store.set("cortado", f"torch-{uuid.uuid4().hex}")
        name = store.get("cortado").decode()
        self._base = _cortado.Communicator.join(name, rank, size, timeout.total_seconds(), _WINDOW, "")
        self._rank = rank
        self._size = size
        self._unwaited = collections.deque()

    def getBackendName(self):
        return "cortado"

    def _start(self, kind, send=None, recv=None, root=0, element=0, reduction=0, send_bytes=(), recv_bytes=()):
        return self._base.start(_KINDS[kind], None if send is None else _memory(send),
                                None if recv is None else _memory(recv), element, reduction, root, send_bytes, recv_bytes)

    def _element(self, tensor):
        if tensor.dtype not in _TYPES:
            raise ValueError(f"cortado: cannot reduce {tensor.dtype}")
        return ELEMENTS[_TYPES[tensor.dtype]]

    def _work(self, works, tensors, result, after=None):
        # A caller in C++ keeps only the C++ half of the work, which cannot wait. The whole object is therefore kept here
        # until somebody has waited for it, or until more works have followed than any caller leaves unwaited.
        while self._unwaited and (self._unwaited[0].waited or len(self._unwaited) > _MOST_UNWAITED):
            self._unwaited.popleft()
        work = CortadoWork(works, tensors, result, after)
        self._unwaited.append(work)
        return work

    def allreduce(self, tensors, opts=None):
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        reduction, average = _reduction(op)
        dense = [t.contiguous() for t in tensors]
        works = [self._start("all_reduce", t, t, element=self._element(t), reduction=reduction) for t in dense]

        def after():
            for tensor, done in zip(tensors, dense):
                if average:
                    done.div_(self._size)
                if done.data_ptr() != tensor.data_ptr():
                    tensor.copy_(done)

        return self._work(works, dense, tensors, after)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def broadcast(self, tensors, opts=None):
        root = opts.rootRank if opts is not None else 0
        dense = [t.contiguous() for t in tensors]
        works = [self._start("broadcast", None, t, root) for t in dense]

        def after():
            for tensor, done in zip(tensors, dense):
                if done.data_ptr() != tensor.data_ptr():
                    tensor.copy_(done)

        return self._work(works, dense, tensors, after)

    def reduce(self, tensors, opts):
        result = [t.clone() for t in tensors]
        reduction, average = _reduction(opts.reduceOp)
        works = [self._start("all_reduce", t, t, element=self._element(t), reduction=reduction) for t in result]

        def after():
            if self._rank != opts.rootRank:
                return
            for tensor, done in zip(tensors, result):
                tensor.copy_(done.div_(self._size) if average else done)

        return self._work(works, result, tensors, after)

    def allgather(self, outputs, inputs, opts=None):
        works, kept, copies = [], [], []
        for parts, tensor in zip(outputs, inputs):
            tensor = tensor.contiguous()
            flat = tensor.new_empty((self._size, tensor.numel()))
            works.append(self._start("all_gather", tensor, flat))
            kept += [tensor, flat]
            copies.append((parts, flat))

        def after():
            for parts, flat in copies:
                for part, row in zip(parts, flat):
                    part.copy_(row.view(part.shape))

        return self._work(works, kept, outputs, after)

    def _allgather_base(self, output, tensor, opts=None):
        if not output.is_contiguous():
            raise ValueError("cortado: the output of all_gather_into_tensor must be contiguous")
        tensor = tensor.contiguous()
        return self._work([self._start("all_gather", tensor, output)], [tensor, output], [output])

    def reduce_scatter(self, outputs, inputs, opts=None):
        reduction, average = _reduction(opts.reduceOp if opts is not None else dist.ReduceOp.SUM)
        works, kept = [], []
        for output, parts in zip(outputs, inputs):
            flat = torch.cat([part.contiguous().view(-1) for part in parts])
            done = output.new_empty(output.numel())
            works.append(self._start("reduce_scatter", flat, done, element=self._element(flat), reduction=reduction))
            kept.append((flat, done))

        def after():
            for output, (_, done) in zip(outputs, kept):
                output.copy_((done.div_(self._size) if average else done).view(output.shape))

        return self._work(works, kept, outputs, after)

    def _reduce_scatter_base(self, output, tensor, opts=None):
        reduction, average = _reduction(opts.reduceOp if opts is not None else dist.ReduceOp.SUM)
        tensor = tensor.contiguous()
        if not output.is_contiguous():
            raise ValueError("cortado: the output of reduce_scatter_tensor must be contiguous")
        work = self._start("reduce_scatter", tensor, output, element=self._element(tensor), reduction=reduction)
        return self._work([work], [tensor, output], [output], (lambda: output.div_(self._size)) if average else None)

    def alltoall_base(self, output, tensor, output_splits, input_splits, opts=None):
        tensor = tensor.contiguous()
        if not output.is_contiguous():
            raise ValueError("cortado: the output of all_to_all_single must be contiguous")
        row = [t.element_size() * (t.numel() // t.shape[0] if t.shape and t.shape[0] else 1) for t in (tensor, output)]
        sent = [n * row[0] for n in input_splits]
        received = [n * row[1] for n in output_splits]
        if bool(sent) != bool(received):
            sent = sent or [tensor.numel() * tensor.element_size() // self._size] * self._size
            received = received or [output.numel() * output.element_size() // self._size] * self._size
        work = self._start("all_to_all", tensor, output, send_bytes=sent, recv_bytes=received)
        return self._work([work], [tensor, output], [output])

    def alltoall(self, outputs, inputs, opts=None):
        flat = torch.cat([t.contiguous().view(-1).view(torch.uint8) for t in inputs])
        sent = [t.numel() * t.element_size() for t in inputs]
        received = [t.numel() * t.element_size() for t in outputs]
        done = torch.empty(sum(received), dtype=torch.uint8)
        work = self._start("all_to_all", flat, done, send_bytes=sent, recv_bytes=received)

        def after():
            for output, part in zip(outputs, done.split(received)):
                output.copy_(part.view(output.dtype).view(output.shape))

        return self._work([work], [flat, done], outputs, after)

    def gather(self, outputs, inputs, opts):
        tensor = inputs[0].contiguous()
        at_root = self._rank == opts.rootRank
        flat = tensor.new_empty((self._size, tensor.numel())) if at_root else None
        work = self._start("gather", tensor, flat, opts.rootRank)

        def after():
            if at_root:
                for part, row in zip(outputs[0], flat):
                    part.copy_(row.view(part.shape))

        return self._work([work], [tensor, flat], outputs, after)

    def scatter(self, outputs, inputs, opts):
        output = outputs[0]
        at_root = self._rank == opts.rootRank
        flat = torch.cat([t.contiguous().view(-1) for t in inputs[0]]) if at_root else None
        done = output.new_empty(output.numel())
        work = self._start("scatter", flat, done, opts.rootRank)
        return self._work([work], [flat, done], outputs, lambda: output.copy_(done.view(output.shape)))

    def send(self, tensors, rank, tag=0):
        tensor = tensors[0].contiguous()
        return self._work([self._start("send", tensor, None, rank)], [tensor], tensors)

    def recv(self, tensors, rank, tag=0):
        tensor = tensors[0]
        done = tensor.contiguous()
        work = self._start("recv", None, done, rank)
        return self._work([work], [done], tensors,
                          None if done.data_ptr() == tensor.data_ptr() else lambda: tensor.copy_(done))

    def barrier(self, opts=None):
        return self._work([self._start("barrier")], [], [])

    def _set_sequence_number_for_group(self):
        pass

    def _get_sequence_number_for_group(self):
        return 0


def _create(store, rank, size, timeout):
    return CortadoProcessGroup(store, rank, size, timeout)


if not hasattr(dist.Backend, "CORTADO"):
    dist.Backend.register_backend("cortado", _create)
