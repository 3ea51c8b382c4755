#!/usr/bin/env python3
"""A planner outside of Cortado: all-gather by recursive doubling, for 2, 4, 8, ... ranks.

Reads a request from standard input and prints a program (docs/planners.md):

    cortado bench all-gather --ranks 8 --planner examples/planners/recursive_doubling.py

In step s every rank sends what it has, 2^s blocks, to the rank whose number differs in bit s. A rank waits in its queue for
the blocks of the step before. The host waits for the last step of all ranks.
"""
import json
import sys


def main():
    request = json.load(sys.stdin)
    asked, machine, program = request["request"], request["machine"], request["program"]
    ranks = program["ranks"]
    if asked.get("collective") != "all-gather" or not asked["in_place"] or asked["prelaunch"] or asked["hosts"] != "single":
        sys.exit("this planner does all-gather in place, with one host thread, not prelaunched")
    if ranks & (ranks - 1):
        sys.exit("recursive doubling needs a power of two of ranks")
    block = asked["bytes"] // ranks
    steps = ranks.bit_length() - 1

    # arrived[rank][step]: the blocks of that step are in the memory of the rank.
    signals = [{"name": f"arrived{rank}.{step}"} for rank in range(ranks) for step in range(steps)]
    arrived = lambda rank, step: rank * steps + step

    queues = []
    for rank in range(ranks):
        for step in range(steps):
            peer = rank ^ (1 << step)
            first = rank >> step << step
            region = lambda buffer: {"buffer": buffer, "offset": first * block, "bytes": block << step}
            commands = [{"command": "wait", "signal": arrived(rank, earlier), "value": 1} for earlier in range(step)]
            commands += [{"command": "copy", "src": region(rank), "dst": region(peer)},
                         {"command": "signal", "signal": arrived(peer, step), "value": 1}]
            queues.append({"name": f"dma{rank}.{step}", "kind": "dma", "rank": rank,
                           "engine": machine["engine_towards"][rank][peer], "commands": commands})
    host = [{"command": "timestamp", "label": "begin"}]
    host += [{"command": "submit", "queue": queue} for queue in range(len(queues))]
    host += [{"command": "wait", "signal": signal, "value": 1} for signal in range(len(signals))]
    host += [{"command": "timestamp", "label": "end"}]
    queues.append({"name": "host", "kind": "host", "commands": host})

    program.update(name=f"all-gather by recursive doubling, {asked['bytes']} bytes", signals=signals, queues=queues)
    json.dump(program, sys.stdout)


if __name__ == "__main__":
    main()
