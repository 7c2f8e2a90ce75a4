#!/usr/bin/env python3
"""Reads the profiler's counters for every rung of the lab and lays them beside the figures from the maps.

    lab/profile.py --restride build/bin/restride --size 4096 [--result lab/results/FILE.json]

Runs `restride lab --once` under Nsight Compute (`ncu`, with the clocks left alone), one launch a rung, and
prints for each what the map says and what the counters say: 32-byte sectors per global request and the
bank-conflict degree of shared accesses. With --result the counters join the rows of that file, which
`restride lab --json` wrote. Needs a GPU, ncu on PATH and permission to read performance counters.
"""
import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import result_file  # noqa: E402

# Name here -> ncu's metric. Counters that this ncu lacks are left out, and so are the figures made of them.
METRICS = {
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_stores": "smsp__inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_op_write.sum",
}
SCALE = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def known_metrics() -> dict[str, str]:
    """Those of METRICS that this ncu can collect here."""
    listing = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listing.splitlines() if line.strip()}
    known = {ours: theirs for ours, theirs in METRICS.items() if theirs.removesuffix(".sum") in names}
    for ours in METRICS.keys() - known.keys():
        print(f"this ncu has no counter for {ours} ({METRICS[ours]})", file=sys.stderr)
    return known


def run_profiler(restride: str, size: int, elements: list[int]) -> tuple[list[dict], list[dict]]:
    """The launches that the command reports and the counters that ncu saw, in the same order."""
    metrics = known_metrics()
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "counters.csv"
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--log-file",
                   str(log), "--kernel-name", "regex:_rung$", "--metrics", ",".join(metrics.values()),
                   restride, "lab", "--once", "--size", str(size), "--element", *map(str, elements)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}{log.read_text() if log.exists() else ''}")
        launches = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[")))
        seen = parse_counters(log.read_text(), metrics)
    return [one for one in launches if one["rung"] != "memcpy"], seen  # a copy of the driver's, no kernel of ours


def parse_counters(text: str, metrics: dict[str, str]) -> list[dict]:
    """One dict a launch: the kernel's name and each counter, from the CSV of ncu's raw page."""
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    table = csv.DictReader(lines)
    units = next(table)  # the row below the heading
    out = []
    for row in table:
        counters = {"kernel": row["Kernel Name"]}
        for ours, theirs in metrics.items():
            value = row[theirs].replace(",", "")
            if value:
                counters[ours] = float(value) * SCALE.get(units[theirs], 1)
        out.append(counters)
    return out


def ratio(counters: dict, over: str, under: str) -> float | None:
    return counters[over] / counters[under] if counters.get(over) is not None and counters.get(under) else None


def figures(counters: dict, from_map: dict) -> dict:
    """The map's figures as the counters give them. A degree is wavefronts a request over the fewest that the
    request's width allows, which the map knows (4 for 16 bytes a lane)."""
    out = {
        "load_sectors": ratio(counters, "load_sectors", "load_requests"),
        "store_sectors": ratio(counters, "store_sectors", "store_requests"),
        "put_wavefronts": ratio(counters, "shared_store_wavefronts", "shared_stores"),
        "get_wavefronts": ratio(counters, "shared_load_wavefronts", "shared_loads"),
    }
    for side in ("put", "get"):
        if out[f"{side}_wavefronts"] is not None and from_map.get(f"{side}_conflicts"):
            least = from_map[f"{side}_wavefronts"] / from_map[f"{side}_conflicts"]
            out[f"{side}_conflicts"] = out[f"{side}_wavefronts"] / least
    out |= {name: counters[name] for name in counters if name.startswith(("dram", "l2", "shared_"))}
    return {name: round(value, 4) for name, value in out.items() if value is not None}


def print_side_by_side(rows: list[dict]) -> None:
    names = ("load_sectors", "store_sectors", "put_conflicts", "get_conflicts")
    print(f"{'rung':<22} B " + "  ".join(f"{name:>15}" for name in names) + "   (map | counters)")
    for row in rows:
        cells = []
        for name in names:
            pair = [row[source].get(name) for source in ("map", "counters")]
            cells.append(" | ".join("-" if v is None else f"{v:.2f}" for v in pair))
        print(f"{row['rung']:<22} {row['element_bytes']} " + "  ".join(f"{cell:>15}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--restride", default="build/bin/restride", help="the command to profile")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--element", type=int, nargs="+", default=[4, 2, 1])
    parser.add_argument("--result", type=pathlib.Path, help="a file of `restride lab --json` that the counters join")
    options = parser.parse_args()

    launches, seen = run_profiler(options.restride, options.size, options.element)
    if len(launches) != len(seen):
        sys.exit(f"{len(launches)} rungs were launched, but ncu saw {len(seen)} kernels")
    if options.result:
        result = json.loads(options.result.read_text())
    else:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:  # the maps' figures alone: one quick pass
            subprocess.run([options.restride, "lab", "--reps", "1", "--size", str(options.size), "--element",
                            *map(str, options.element), "--json", file.name], check=True, capture_output=True)
            result = json.loads(pathlib.Path(file.name).read_text())
    rows = collections.defaultdict(dict)
    for row in result["rows"]:
        rows[row["rung"], row["size"], row["element_bytes"]] = row
    profiled = []
    for launch, counters in zip(launches, seen):
        if launch["rung"].removesuffix("_f16") not in counters["kernel"]:
            sys.exit(f"{launch['rung']} was launched where ncu saw {counters['kernel']}")
        row = rows[launch["rung"], launch["size"], launch["element_bytes"]]
        row["counters"] = figures(counters, row["map"])
        profiled.append(row)
    print_side_by_side(profiled)
    if options.result:
        version = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=True).stdout
        numbers = [word for word in version.split() if word[0].isdigit() and word.count(".") >= 2]
        result["profiler"] = f"ncu {numbers[0] if numbers else ''} --clock-control none".replace("  ", " ")
        options.result.write_text(result_file.text(result) + "\n")


if __name__ == "__main__":
    main()
