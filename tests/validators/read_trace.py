"""Reads a trace with Perfetto's own messages and prints, as JSON, what was allocated and freed by function, how many
samples there are, the names of regions, and of tracks the last value: read_trace.py TRACE"""
import json
import sys
from collections import Counter

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

trace = messages.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
names, frames, stacks, tracks = {}, {}, {}, {}
heap, values, regions, samples = {}, {}, [], Counter()
for packet in trace.packet:
    data = packet.interned_data
    names.update((name.iid, name.str.decode()) for name in data.function_names)
    frames.update((frame.iid, names[frame.function_name_id]) for frame in data.frames)
    stacks.update((stack.iid, [frames[frame] for frame in stack.frame_ids]) for stack in data.callstacks)
    kind = packet.WhichOneof("data")
    if kind == "track_descriptor":
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
    elif kind == "profile_packet":
        for dump in packet.profile_packet.process_dumps:
            for row in dump.samples:
                heap[dump.pid, row.callstack_id] = row
    elif kind == "perf_sample":
        samples.update(set(stacks[packet.perf_sample.callstack_iid]))
        samples["[Everything]"] += 1
    elif kind == "track_event":
        event = packet.track_event
        if event.type == messages.TrackEvent.TYPE_COUNTER:
            values[tracks[event.track_uuid]] = event.counter_value
        elif event.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            regions.append(event.name)
    else:
        assert kind == "clock_snapshot", kind
functions = {}
for (_, stack), row in heap.items():
    for function in {*stacks[stack], "[Everything]"}:
        sums = functions.setdefault(function, Counter())
        sums.update(bytes=row.self_allocated, freed=row.self_freed, allocations=row.alloc_count, frees=row.free_count)
print(json.dumps({"heap": functions, "samples": samples, "values": values, "regions": regions}))
