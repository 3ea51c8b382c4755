"""Starts a function as the ranks of a communicator and gathers what they say."""
import multiprocessing
import os
import traceback
import uuid

import cortado


def _rank(function, name, rank, ranks, answers, options):
    try:
        comm = cortado.Communicator.join(name, rank, ranks, **options)
        answers.put((rank, function(comm)))
    except BaseException:
        answers.put((rank, traceback.format_exc()))


def run(function, ranks, **options):
    """What the function returned on each rank; None of those that died."""
    name = f"{os.getpid()}-{uuid.uuid4().hex}"
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    processes = [context.Process(target=_rank, args=(function, name, r, ranks, answers, options)) for r in range(ranks)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    said = [None] * ranks
    while not answers.empty():
        rank, answer = answers.get()
        said[rank] = answer
    return said
