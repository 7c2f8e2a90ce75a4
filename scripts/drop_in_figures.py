"""The figures of restride under torch, in docs/torch.md and docs/python.md: from result files of python/torch/bench.

Each function fills one kind of block (scripts/fill_figures.py): `<!-- figures: KIND FILES -->`.
"""
from result_file import geometric_mean


def where(result) -> str:
    """The machine, its threads where it is a CPU, and torch."""
    threads = "" if "NVIDIA" in result["device"] else f", {result['threads']} thread{'s' if result['threads'] > 1 else ''}"
    return f"{result['device']}{threads}, torch {result['torch']}"


def shown(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def itself(row) -> str:
    """Torch's time over its own, which older files lack."""
    return f"{row['itself']:.2f}" if "itself" in row else "-"


def layouts(result) -> str:
    """A row a layout, into memory that was written before and into new memory; then means and the worst."""
    lines = [f"| torch's time over ours: {where(result)} | written before | new |", "|---|---:|---:|"]
    for case in result["cases"]:
        left = "" if case["taken"] else ", left to torch where it has pages"
        lines.append(f"| `{case['name']}`{left} | {shown(case['warm_ratio'])} | {shown(case['fresh_ratio'])} |")
    means = [geometric_mean([case[key] for case in result["cases"]]) for key in ("warm_ratio", "fresh_ratio")]
    lines.append("| geometric mean | " + " | ".join(map(shown, means)) + " |")
    return "\n".join(lines) + "\n"


def summary(result) -> str:
    """One sentence on many layouts."""
    taken = [case for case in result["cases"] if case["taken"]]
    worst = min(result["cases"], key=lambda case: case["warm_ratio"])
    worst_new = min(case["fresh_ratio"] for case in result["cases"])
    means = [geometric_mean([case[key] for case in taken]) for key in ("warm_ratio", "fresh_ratio")]
    return (f"{where(result)}: {len(taken)} of {len(result['cases'])} layouts are taken, on which torch takes "
            f"{shown(means[0])} times as long in the mean ({shown(means[1])} into new memory); of all, the worst is "
            f"{worst['warm_ratio']:.2f}, `{worst['name']}` ({worst_new:.2f} into new memory).\n")


def programs(*results) -> str:
    """A row a program, two columns a machine: torch's time over ours, and torch's over its own."""
    names = [row["name"] for row in results[0]["programs"]]
    found = [{row["name"]: row for row in result["programs"]} for result in results]
    lines = ["| torch's time over ours | " + " | ".join(f"{where(result)} | itself" for result in results) + " |",
             "|---|" + "---:|---:|" * len(results)]
    for name in names:
        cells = [f"{shown(rows[name]['ratio'])} | {itself(rows[name])}" for rows in found]
        lines.append(f"| {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def calls(result) -> str:
    """What a call costs more that is left to torch."""
    rows = [f"{row['name']} {row['more_ns']:.0f}" for row in result["calls"]]
    return f"A call that is left to torch takes so many nanoseconds more ({where(result)}): " + "; ".join(rows) + ".\n"


def costs(result) -> str:
    """Host time of a call on two small arrays."""
    rows = [f"{row['name']} {row['ns'] / 1000:.2f}" for row in result["costs"]]
    return f"Microseconds of a call on two arrays of 16x16 floats ({where(result)}): " + "; ".join(rows) + ".\n"


def operators(result) -> str:
    """A row a call: torch's time over ours."""
    lines = [f"| torch's time over ours: {where(result)} | | itself |", "|---|---:|---:|"]
    for row in result["operators"]:
        left = "" if row["taken"] else ", left to torch"
        lines.append(f"| {row['name']}{left} | {shown(row['ratio'])} | {itself(row)} |")
    return "\n".join(lines) + "\n"


KINDS = {"drop_in_layouts": layouts, "drop_in_summary": summary, "drop_in_programs": programs, "drop_in_calls": calls,
         "drop_in_operators": operators, "drop_in_costs": costs}
