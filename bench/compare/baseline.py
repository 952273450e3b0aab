"""gsub beside another command line of gsub: an older commit, built beside."""

import shlex
import time

import ratios
from processes import call, gsub_json, steps_of

ARMS = ["gsub", "baseline", "again"]  # again: gsub against itself, as far apart as the others


def measure_model(options, work, kind, model, threads):
    """Yields a row a number of threads. Both programs optimize the model themselves and share one cache of kernels."""
    folder = work / model.stem
    folder.mkdir(exist_ok=True)
    programs = {"gsub": options.gsub, "baseline": options.baseline, "again": options.gsub}
    kernels = work / "kernels"
    kernels.mkdir(mode=0o700, exist_ok=True)
    cache = {"GSUB_CACHE": str(kernels)}
    extra = ["--winograd", options.winograd] if options.winograd else []
    files = {}
    for arm in ("gsub", "baseline"):
        files[arm] = folder / f"optimized_{arm}.onnx"
        call(programs[arm], "--quiet", "optimize", model, "-o", files[arm], *shlex.split(options.optimize), **cache)
    files["again"] = files["gsub"]
    for count in threads:
        made = {arm: program_of(programs[arm], files[arm], count, extra, cache) for arm in ("gsub", "baseline")}

        def once(arm):
            told = gsub_json(programs[arm], "--threads", count, "bench", files[arm], "--warmup", 3, "--time",
                             options.seconds, *extra, **cache)
            return told["latency_ms"]["median"]

        same = made["gsub"] == made["baseline"]
        for attempt in range(1, options.attempts + 1):
            found = ratios.of_baseline([one_round(turn, once) for turn in range(options.rounds)])
            if same or ratios.counts(found):
                break
        yield {"bench": "baseline", "model": model.stem, "kind": kind, "threads": count, **found, "attempts": attempt,
               "same": same, "steps": made["gsub"]["steps"]}


def one_round(turn, once):
    """Times each arm twice, there and back: what drifts evenly cancels. Each round begins with another arm."""
    order = ARMS[turn % len(ARMS):] + ARMS[:turn % len(ARMS)]
    times = {arm: [] for arm in ARMS}
    for arm in order + order[::-1]:
        times[arm].append(once(arm))
    return times


def program_of(gsub, file, threads, extra, cache):
    """What a program is known by: its kernels, and how many steps it has. A kernel's name in the cache is the hash of its
    source and of the compiler. The first run fills the cache, the second touches what it uses."""
    steps_of(gsub, file, threads, *extra, **cache)
    begin = time.time_ns()
    steps = steps_of(gsub, file, threads, *extra, **cache)
    entries = gsub_json(gsub, "cache", "ls", **cache)["entries"]
    return {"steps": steps, "kernels": sorted(e["name"] for e in entries if e["used_ns"] >= begin)}
