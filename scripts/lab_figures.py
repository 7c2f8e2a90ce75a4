"""The figures of docs/lab.md, from a result file of `restride lab --json` that lab/profile.py has completed.

Each function fills one kind of block (scripts/fill_figures.py): `<!-- figures: KIND FILE ARGUMENTS -->`. Rungs
are given by name, joined by commas; without them all are shown.
"""


def lab_machine(result) -> str:
    """Where and how the figures were made."""
    machine = result["machine"]
    noise = max(row["noise"] for row in result["rows"])
    wrong = [row["rung"] for row in result["rows"] if not row["checked"]]
    checked = f"WRONG OUTPUT: {', '.join(wrong)}. " if wrong else "Every output was checked, element by element. "
    return (f"{machine['device']}, driver {machine['driver']}, CUDA {machine['cuda']}, {machine['processors']} processors, "
            f"{machine['l2_bytes'] >> 20} MiB L2; commit `{result['commit'][:12]}`, `{result['command']}`, counters by "
            f"`{result.get('profiler', 'ncu')}`. "
            f"{checked}The interquartile range over the median is at most {100 * noise:.1f} %.\n")


def lab_speed(result, size: str, rungs: str = "") -> str:
    """GB/s (bytes read and written) and the ratio to memcpy, for each element size."""
    wanted = chosen(result, rungs)
    head = "".join(f" {e}-byte GB/s | ratio |" for e in (4, 2, 1))
    lines = [f"| rung, {size}² |{head}", "|---|" + "---:|" * 6]
    for rung in wanted:
        cells = []
        for element in (4, 2, 1):
            row = find(result, rung, int(size), element)
            cells += [f"{row['gbps']:.0f}", f"{row['ratio']:.2f}"] if row else ["-", "-"]
        lines.append(f"| `{rung}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def lab_counters(result, size: str, element: str, rungs: str = "") -> str:
    """Sectors a request and bank-conflict degrees: computed from the map, and as the counters report them."""
    columns = {"load_sectors": "sectors a load", "store_sectors": "sectors a store",
               "put_conflicts": "conflicts, shared store", "get_conflicts": "conflicts, shared load"}
    lines = [f"| rung, {element}-byte | " + " | ".join(f"{c}: map | counted" for c in columns.values()) + " |",
             "|---|" + "---:|" * 8]
    for rung in chosen(result, rungs):
        row = find(result, rung, int(size), int(element))
        if row is None or "counters" not in row:
            continue
        cells = [shown(row[source].get(column)) for column in columns for source in ("map", "counters")]
        lines.append(f"| `{rung}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def lab_memory(result, size: str, element: str, rungs: str = "") -> str:
    """Sectors that arrived at L2 and bytes that went to the chips, over what the job needs."""
    lines = [f"| rung, {element}-byte, {size}² | L2 reads | L2 writes | DRAM bytes read | DRAM bytes written |",
             "|---|" + "---:|" * 4]
    for rung in chosen(result, rungs):
        row = find(result, rung, int(size), int(element))
        if row is None or "counters" not in row:
            continue
        count = row["counters"]
        read = row["rows"] * row["cols"] * row["batch"] * row["element_bytes"]
        written = row["bytes"] - read
        cells = [count["l2_read_sectors"] * 32 / read, count["l2_write_sectors"] * 32 / written,
                 count["dram_read_bytes"] / read, count["dram_write_bytes"] / written]
        lines.append(f"| `{rung}` | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


SEED_A100_GBPS = {"naive": 218, "end": 1797}  # as the seed reports them


def lab_seed(result) -> str:
    """The seed's two ends of the ladder beside the same rungs here."""
    lines = ["| 4-byte elements | A100, the seed | here, 4096² | here, 8192² |", "|---|---:|---:|---:|"]
    sizes = (4096, 8192)

    def gbps(rung, size):
        return find(result, rung, size, 4)["gbps"]

    def line(name, seed, cells):
        lines.append(f"| {name} | {seed} | " + " | ".join(cells) + " |")

    best = {size: max((row for row in result["rows"] if (row["size"], row["element_bytes"]) == (size, 4)
                       and not row["rung"].startswith(("memcpy", "copy"))), key=lambda row: row["gbps"])
            for size in sizes}
    line("`naive`, GB/s", SEED_A100_GBPS["naive"], [f"{gbps('naive', s):.0f}" for s in sizes])
    line("the ladder's best, GB/s", SEED_A100_GBPS["end"], [f"{best[s]['gbps']:.0f} (`{best[s]['rung']}`)" for s in sizes])
    line("the whole ladder", f"x {SEED_A100_GBPS['end'] / SEED_A100_GBPS['naive']:.1f}",
         [f"x {best[s]['gbps'] / gbps('naive', s):.1f}" for s in sizes])
    for order, seed in (("diagonal", "the seed's last step"), ("along_dst", "not in the seed")):
        line(f"`{order}` against `swizzle`", seed,
             [f"{100 * (gbps(order, s) / gbps('swizzle', s) - 1):+.0f} %" for s in sizes])
    return "\n".join(lines) + "\n"


def chosen(result, rungs: str) -> list[str]:
    every = list(dict.fromkeys(row["rung"] for row in result["rows"]))
    return [rung for rung in rungs.split(",")] if rungs else every


def find(result, rung: str, size: int, element: int):
    for row in result["rows"]:
        if (row["rung"], row["size"], row["element_bytes"]) == (rung, size, element):
            return row
    return None


def shown(value) -> str:
    return "-" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


KINDS = {kind.__name__: kind for kind in (lab_machine, lab_speed, lab_counters, lab_memory, lab_seed)}
