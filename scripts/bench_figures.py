"""The figures that come from result files of `restride bench`: what scripts/fill_figures.py puts into marked blocks.

Each function of KINDS takes what `load` makes of the block's files and returns lines of Markdown. Of a case that two
runs hold the last one counts. Of files named *-peers.json only the peers count, where the others lack them.
"""
import pathlib

import result_file
from result_file import geometric_mean

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = "-peers.json"


def load(paths: str):
    """The files' cases as one result, {"cases": [...], "files": {path: result}}, or None where a file is missing."""
    files = {path: ROOT / path for path in paths.split()}
    if not all(file.exists() for file in files.values()):
        return None
    files = {path: result_file.load(file) for path, file in files.items()}

    def key(case):
        return case["device"], case["threads"], case["name"], case["src"]

    cases = {key(c): c for path, result in files.items() if not path.endswith(PEERS) for c in result_file.cases(result)}
    for path, result in files.items():
        for c in result_file.cases(result) if path.endswith(PEERS) else []:
            case = cases.get(key(c), {})
            case["peers"] = c.get("peers", {}) | case.get("peers", {})
    return {"cases": list(cases.values()), "files": files}


def measured(result):
    return [c for c in result["cases"] if "error" not in c and "skipped" not in c and c["ratio"] > 0]


def on(result, device, threads):
    """The measured cases of a device with so many threads."""
    return [c for c in measured(result) if (c["device"], c["threads"]) == (device, threads)]


def devices(result):
    """(device, threads), sorted."""
    return sorted({(c["device"], c["threads"]) for c in measured(result)})


def device_name(machine: dict, device: str) -> str:
    for key in ("gpu", "device_name", "device") if device == "cuda" else ("cpu",):
        if isinstance(machine.get(key), str):
            return machine[key]
    return device


def plural(count: int, one: str) -> str:
    return f"{count} {one}{'s' if count != 1 else ''}"


def where(case) -> str:
    """The machine that a case ran on, with its threads."""
    threads = f"{plural(case['threads'], 'thread')} of " if case["device"] == "cpu" else ""
    return threads + device_name(case["machine"], case["device"])


def worst_of(cases):
    return min(cases, key=lambda c: c["ratio"])


def mean_and_worst(cases) -> str:
    worst = worst_of(cases)
    mean = geometric_mean([c["ratio"] for c in cases])
    return (f"- **{mean:.2f}** of a plain copy's speed (geometric mean of {len(cases)} layouts; worst "
            f"{worst['ratio']:.2f}, `{worst['name']}`) on {where(worst)}")


def headline(result) -> str:
    """For each device and number of threads the geometric mean and the worst ratio; then files and commits."""
    lines = [mean_and_worst(on(result, *device)) for device in devices(result)]
    sources = [("Peers that these lack: from " if path.endswith(PEERS) else "From ") + f"{path}: {commits(file)}."
               for path, file in result["files"].items()]
    return "\n".join(lines + [""] + sources) + "\n"


def numbers(result) -> str:
    """The lines of `headline` for one thread and for GPUs."""
    return "\n".join(mean_and_worst(on(result, *device)) for device in devices(result) if device[1] == 1) + "\n"


def commits(result) -> str:
    """The commit of most runs, and which runs are of another."""
    runs = {}
    for run in result["runs"]:
        what = " and ".join(run["case_files"])
        if run["device"] == "cpu":
            what += f" on {plural(run['threads'], 'thread')}"
        runs.setdefault(run["commit"][:12], []).append(what)
    most, *others = sorted(runs, key=lambda commit: -len(runs[commit]))
    return ", ".join([f"commit `{most}`"] + [f"{' and '.join(runs[c])} of `{c}`" for c in others])


def class_cell(cases) -> str:
    """Geometric mean / worst case, then the peer that does best against ours on the cases it ran on; bold where ahead."""
    if not cases:
        return "-"
    cell = f"{geometric_mean([c['ratio'] for c in cases]):.2f} / {worst_of(cases)['ratio']:.2f}"
    peers = []
    for peer in {p for c in cases for p in c.get("peers", {})}:
        shared = [c for c in cases if c.get("peers", {}).get(peer, 0) > 0]
        if shared:
            theirs = geometric_mean([c["peers"][peer] for c in shared])
            ours = geometric_mean([c["ratio"] for c in shared])
            peers.append((theirs / ours, len(shared), peer, theirs, ours))
    if not peers:
        return cell
    lead, count, peer, theirs, ours = max(peers)
    name = f"**{peer} {theirs:.2f}**" if lead > 1 else f"{peer} {theirs:.2f}"
    return f"{cell}; {name}" + (f" to {ours:.2f} on {count} of {len(cases)}" if count < len(cases) else "")


def title(device, threads) -> str:
    return f"CPU, {plural(threads, 'thread')}" if device == "cpu" else "GPU"


def classes(result) -> str:
    """A table: each class of cases with geometric mean / worst case; the best peer of the same run, bold where ahead."""
    columns = devices(result)
    names = list(dict.fromkeys(c.get("class") or "other" for c in measured(result)))
    lines = ["| class: mean / worst; best peer | " + " | ".join(title(*c) for c in columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for name in names:
        cells = [class_cell([c for c in on(result, *column) if (c.get("class") or "other") == name]) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cases(result) -> str:
    """A table of every case."""
    lines = ["| case | layouts | kernel | threads | GB/s | copy GB/s | ratio | noise |", "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {c['name']} | `{c['src']}` -> `{c['dst']}` | {c.get('kernel') or c['family']} | {c['threads']} | {c['gbps']:.1f} | "
              f"{c['ceiling_gbps']:.1f} | {c['ratio']:.2f} | {100 * c['noise']:.0f} % |" for c in measured(result)]
    return "\n".join(lines) + "\n"


def best_peer(case):
    """(its ratio, its name) of the fastest peer of a case, or None."""
    return max(((ratio, peer) for peer, ratio in case.get("peers", {}).items()), default=None)


def leads(result) -> list:
    """[(their ratio over ours, case)] where a peer is faster, the largest lead first."""
    compared = [(best_peer(c)[0] / c["ratio"], c) for c in measured(result) if c.get("peers")]
    return sorted(((lead, c) for lead, c in compared if lead > 1), key=lambda one: -one[0])


def losses(result) -> str:
    """On how many cases a peer of the same run is faster, and by how much at most."""
    compared = sum(1 for c in measured(result) if c.get("peers"))
    lost_cases = leads(result)
    if not lost_cases:
        return f"No peer is faster on any of {compared} layouts"
    return f"A peer is faster on {len(lost_cases)} of {compared} layouts, by {100 * (lost_cases[0][0] - 1):.1f} % at most"


def lost(result) -> str:
    """The sentence of `losses`, and where a peer leads by the most."""
    shown = [f"`{c['name']}` ({peer} {theirs:.2f}, ours {c['ratio']:.2f})" for _, c in leads(result)[:4]
             for theirs, peer in [best_peer(c)]]
    return losses(result) + (f": {', '.join(shown)}" if shown else "") + (" ...\n" if len(leads(result)) > 4 else "\n")


def duel(case) -> str:
    """Our ratio and that of the best peer, bold where it is ahead."""
    if case is None:
        return "-"
    best = best_peer(case)
    if best is None:
        return f"{case['ratio']:.2f}"
    theirs = f"{best[1]} {best[0]:.2f}"
    return f"{case['ratio']:.2f}; " + (f"**{theirs}**" if best[0] > case["ratio"] else theirs)


def rows(result, names: list) -> str:
    """A table of single cases, by name, on one thread and on GPUs. `lost` stands for the case in which a peer leads by the
    most, `worst-cpu` and `worst-cuda` for the lowest ratio on one."""
    columns = {device: on(result, *device) for device in devices(result) if device[1] == 1}
    lines = ["| layouts: ours; best peer | " + " | ".join(where(cases[0]) for cases in columns.values()) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for name in names:
        if name == "lost":
            words, named = "a peer's largest lead", [c for _, c in leads(result)[:1]]
        elif name.startswith("worst-"):
            device = name.removeprefix("worst-")
            words, named = f"the worst on the {'GPU' if device == 'cuda' else 'CPU'}", [worst_of(columns[device, 1])]
        else:
            named = [c for cases in columns.values() for c in cases if c["name"] == name]
            words = named[0].get("class", "") if named else ""
        if not named:
            raise ValueError(f"rows: there is no case {name}")
        cells = [duel(next((c for c in cases if c["name"] == named[0]["name"]), None)) for cases in columns.values()]
        lines.append(f"| {words}: `{named[0]['name']}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def kernels(result, family: str) -> str:
    """A table of a family's kernels on one thread or a GPU: how many layouts each moves, with mean, best and worst."""
    mine = [c for c in measured(result) if c["threads"] == 1 and c.get("kernel", "").split("/")[0] == family]
    lines = [f"| on {where(mine[0])} | layouts | mean | best | worst |", "|---|---|---|---|---|"]
    for kernel in sorted({c["kernel"] for c in mine}, key=lambda k: (-sum(c["kernel"] == k for c in mine), k)):
        moved = [c for c in mine if c["kernel"] == kernel]
        ends = [f"{c['ratio']:.2f} `{c['name']}`" for c in (max(moved, key=lambda c: c["ratio"]), worst_of(moved))]
        mean = geometric_mean([c["ratio"] for c in moved])
        lines.append(f"| `{kernel}` | {len(moved)} | {mean:.2f} | {' | '.join(ends)} |")
    return "\n".join(lines) + "\n"


def peers(result) -> str:
    """A table of what every peer reaches, case by case; the ratios are of one run."""
    names = sorted({peer for file in result["files"].values() for c in result_file.cases(file) for peer in c.get("peers", {})})
    lines = ["| case | ours | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for file in result["files"].values():
        for c in result_file.cases(file):
            cells = [f"{c['peers'][name]:.2f}" if name in c.get("peers", {}) else "-" for name in names]
            lines.append(f"| `{c['name']}` | {c['ratio']:.2f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


KINDS = {kind.__name__: kind for kind in (headline, numbers, classes, cases, lost, peers)}
