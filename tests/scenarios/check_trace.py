#!/usr/bin/env python3
"""Checks the structure of a Perfetto trace: check_trace.py FILE. Prints a summary, or the first thing that is wrong."""

import collections
import json
import sys


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def main(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    times = [event["ts"] for event in events]
    assert times == sorted(times), "events are not sorted by time"

    slices = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = nanoseconds(event["ts"])
            slices[event["pid"], event["tid"]].append((start, start + nanoseconds(event["dur"]), event))
    for thread, parts in slices.items():
        for (_, end, before), (start, _, after) in zip(parts, parts[1:]):
            assert end <= start, f"slices of thread {thread} overlap: {before} {after}"

    ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            inside = [part[2] for part in slices[event["pid"], event["tid"]]
                      if part[0] <= nanoseconds(event["ts"]) < part[1]]
            assert len(inside) == 1, f"an arrow ends outside of every slice: {event}"
            ends[event["id"]].append((event, inside[0]))
    for number, pair in ends.items():
        assert [event["ph"] for event, _ in pair] == ["s", "f"], f"arrow {number} has not one start and one end"
        assert pair[1][0].get("bp") == "e", f"the end of arrow {number} is not bound to its slice"

    named = {event["tid"] for event in trace["traceEvents"] if event["ph"] == "M" and event["name"] == "thread_name"}
    used = {event["tid"] for event in events if "tid" in event}
    assert used <= named, "threads without a name"
    kinds = collections.Counter((pair[0][1]["cat"], pair[1][1]["cat"]) for pair in ends.values())
    bytes_moved = sum(event["args"].get("bytes", 0) for event in events if event.get("cat") == "communication")
    processes = [event["args"]["name"] for event in trace["traceEvents"] if event.get("name") == "process_name"]
    print(f"processes: {', '.join(processes)}")
    print(f"threads with slices: {len(slices)}")
    print(f"communication: {bytes_moved} bytes in "
          f"{sum(event.get('cat') == 'communication' for event in events)} slices")
    for (source, target), count in sorted(kinds.items()):
        print(f"arrows {source} -> {target}: {count}")
    counters = {(event["pid"], event["name"]) for event in events if event["ph"] == "C"}
    if counters:
        print(f"counters: {len(counters)}")
    print(f"times: {trace['otherData']['times']}")


if __name__ == "__main__":
    main(sys.argv[1])
