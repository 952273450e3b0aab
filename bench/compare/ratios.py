"""Ratios of times that were taken in turns: their medians, and how sure these are."""

import math
import statistics


def interval(values):
    """The 95 % interval of the median by order statistics, whatever the distribution; None for fewer than six values."""
    beyond, tail = 0, 0.0
    while beyond < len(values):
        tail += math.comb(len(values), beyond) / 2 ** len(values)
        if 2 * tail > 0.05:
            break
        beyond += 1
    ordered = sorted(values)
    return [ordered[beyond - 1], ordered[-beyond]] if beyond else None


def of_best_peer(ours, theirs):
    """Medians over rounds, and the ratio of the better peer to gsub, round by round."""
    best = [min(turn) for turn in zip(*theirs.values())]
    found = sorted(b / g for b, g in zip(best, ours))
    return {"rounds": len(ours), "ms": {e: statistics.median(t) for e, t in ({"gsub": ours} | theirs).items()},
            "ratio": statistics.median(found), "interval": interval(found), "least": found[0], "most": found[-1]}


def of_baseline(times):
    """Of rounds, each with the times of `gsub`, of `baseline` and of `again`, which is gsub a second time."""
    ms = {arm: [math.sqrt(math.prod(turn[arm])) for turn in times] for arm in times[0]}
    found = {"rounds": len(times), "ms": {arm: statistics.median(ms[arm]) for arm in ("gsub", "baseline")}}
    for key, arm in (("", "baseline"), ("again_", "again")):
        each = [a / g for a, g in zip(ms[arm], ms["gsub"])]
        found |= {key + "ratio": statistics.median(each), key + "interval": interval(each)}
    return found


BOUND = 0.04  # of gsub against itself; a run that is less sure does not count


def counts(row):
    own = row["again_interval"]
    return bool(own) and 1 - BOUND <= own[0] and own[1] <= 1 + BOUND


def verdict(row):
    """What may be said of a row. A difference is one where the interval lies beyond that of gsub against itself."""
    if row["same"]:
        return "same program"
    if not counts(row):
        return "not counted"
    if row["interval"][0] > row["again_interval"][1]:
        return "faster"
    return "slower" if row["interval"][1] < row["again_interval"][0] else "no difference"


def of_counted(rows):
    """Geometric mean and least over the rows that count, and how many these are. Equal programs count as 1."""
    values = [1.0 if row["same"] else row["ratio"] for row in rows if row["same"] or counts(row)]
    return (statistics.geometric_mean(values), min(values), len(values)) if values else (None, None, 0)
