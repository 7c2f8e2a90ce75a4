"""The tables of docs/distributed.md, from committed result files: exchanges of MPI beside what people write by hand, exchanges of
GPUs beside NCCL, torch and JAX, and how long planning takes."""
import json
import pathlib
import statistics


def by_hand(us: dict) -> float:
    return min(us["hand alltoallv"], us["hand alltoallw"])


def table(folder: pathlib.Path) -> str:
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"), key=lambda p: (p.stem[-1], p.stem))]
    names = [f"{run['ranks']} ranks, {run['mpi'].replace(' Version:', '').replace(' v', ' ')}" for run in runs]
    rows = [["by hand / ours", *names], ["---"] * (len(runs) + 1)]
    for layout in runs[0]["us"]:
        cells = []
        for run in runs:
            us = run["us"][layout]
            cells.append(f"{by_hand(us) / us['auto']:.2f}, {by_hand(us) / us['auto unchecked']:.2f} by {us['auto takes']}")
        rows.append([layout, *cells])
    for word, of in (("geometric mean", statistics.geometric_mean), ("worst", min)):
        cells = []
        for run in runs:
            ways = [[by_hand(us) / us[way] for us in run["us"].values()] for way in ("auto", "auto unchecked")]
            cells.append(", ".join(f"{of(way):.2f}" for way in ways))
        rows.append([word, *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def on_gpus(prefix: str) -> str:
    """`prefix` of the files of exchange_nccl, exchange_torch.py and exchange_jax.py."""
    nccl, torch, jax = (json.loads(pathlib.Path(f"{prefix}-{of}.json").read_text())["us"] for of in ("nccl", "torch", "jax"))
    columns = {  # the other's time over ours
        "ncclAlltoAll, which permutes nothing / ours": lambda n: nccl[n]["ncclAlltoAll"] / nccl[n]["auto"],
        "the same / fused, unchecked": lambda n: nccl[n]["ncclAlltoAll"] / nccl[n]["fused"],
        "the same / staged": lambda n: nccl[n]["ncclAlltoAll"] / nccl[n]["staged"],
        "torch by hand / ours": lambda n: torch[n]["by hand"] / torch[n]["restride"],
        "DTensor / ours": lambda n: torch[n]["DTensor"] / torch[n]["restride"],
        "JAX / ours": lambda n: jax[n]["JAX"] / torch[n]["restride"],
    }
    ratios = {}
    for name in dict.fromkeys([*nccl, *torch]):
        for column, ratio in columns.items():
            try:
                ratios[name, column] = ratio(name)
            except KeyError:  # not done by all of them
                continue
    rows = [["layout", *columns], ["---"] * (len(columns) + 1)]
    for name in dict.fromkeys(name for name, _ in ratios):
        rows.append([name, *(f"{ratios[name, c]:.2f}" if (name, c) in ratios else "-" for c in columns)])
    for word, of in (("geometric mean", statistics.geometric_mean), ("worst", min)):
        rows.append([word, *(f"{of(r for (_, c), r in ratios.items() if c == column):.2f}" for column in columns)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def planning(path: pathlib.Path) -> str:
    run = json.loads(path.read_text())
    ranks = sorted({case["ranks"] for case in run["cases"]})
    rows = [["ms a rank: median, worst", *(f"{n:,} ranks" for n in ranks)], ["---"] * (len(ranks) + 1)]
    for name in dict.fromkeys(case["case"] for case in run["cases"]):
        of_name = {case["ranks"]: case for case in run["cases"] if case["case"] == name}
        rows.append([name, *(f"{of_name[n]['median_ms']:.3f}, {of_name[n]['worst_ms']:.3f}" for n in ranks)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
