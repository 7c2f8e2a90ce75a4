#!/usr/bin/env python3
"""Times PyTorch eager, torch.compile and JAX on the cases of a result file and adds them to its peers.

Usage: bench/peers_torch.py RESULT.json [--cases FILE ...] [--only PATTERN ...] [--libraries eager,compile,jax]
                            [--device cuda] [--reps N]

RESULT.json is what `restride bench --device cuda --json RESULT.json` wrote; only its runs on
that device are taken, and of their cases those at full size. Every output is compared before it is timed. Each ratio is
this run's own device-to-device copy of the same bytes, in turns with the library, over the library's time: CUDA events
around batches for PyTorch, the clock around batches for JAX, buffers rotated past the L2 cache for both. A library that cannot do a case (PyTorch: more than 25 modes, steps below zero other than flips, opaque
elements) has no entry for it; `peer_notes` says why.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # both libraries share the device

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT.parent / "scripts"))
import result_file  # noqa: E402

CASES = [ROOT / "cases" / name for name in ("field.json", "ttc57.json", "extra.json")]
BATCH_SECONDS = 2e-3  # a timed batch lasts at least this long
WARM_SECONDS = 0.05  # a GPU that idled is at its pace again after this long
L2_BYTES = 60 << 20

import torch  # noqa: E402

# The dtypes of case files, by the names that PyTorch and JAX share.
DTYPE_NAMES = {"bool": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "i8": "int8", "i16": "int16",
               "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
               "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "c64": "complex64", "c128": "complex128"}
DTYPES = {name: getattr(torch, theirs) for name, theirs in DTYPE_NAMES.items() if hasattr(torch, theirs)}


class Unsupported(Exception):
    """The library has no way to say this case."""


def load_cases(paths):
    """{name: case}, cases without a name called after the file, as `restride bench` does."""
    found = {}
    for path in map(pathlib.Path, paths):
        for index, case in enumerate(json.loads(path.read_text())["cases"]):
            name = case.get("name", f"{path.stem}_{case.get('id', index)}")
            found[name] = {"src": "f32", "dst": "f32", **case, "name": name}
    return found


def with_element(case, name):
    """The case that a row called name@dtype stands for."""
    base, _, element = name.partition("@")
    return {**case, "name": name, "src": element, "dst": element} if element and base == case["name"] else case


def parse_slices(case):
    """Python slices, or indices."""
    def one(text):
        return slice(*[int(p) if p else None for p in text.split(":")]) if ":" in text else int(text)
    return tuple(one(text) for text in case["slice"]) if "slice" in case else ()


class Problem:
    """A case's tensors: the base array, the view of it that is copied, and where it goes."""

    def __init__(self, case, device):
        if case["src"] not in DTYPES or case["dst"] not in DTYPES:
            raise Unsupported(f"no dtype for {case['src']} -> {case['dst']}")
        self.case = case
        self.src_type, self.dst_type = DTYPES[case["src"]], DTYPES[case["dst"]]
        size = torch.empty((), dtype=self.src_type).element_size()
        count = 1
        for extent in case["shape"]:
            count *= extent
        if self.src_type != self.dst_type and self.src_type.is_floating_point:
            self.base = (torch.rand(count, device=device) * 200).to(self.src_type)  # fits every dtype, u8 included
        else:
            # Bytes below 64 make finite numbers of every dtype, so that equality means what it says.
            self.base = torch.randint(0, 64, (count * size,), dtype=torch.uint8, device=device).view(self.src_type)
        self.flips = []
        self.view = self.make_view(self.base)
        self.out = self.make_output(device)
        self.pair_bytes = self.base.nbytes + self.out.nbytes

    def make_view(self, base):
        """The source view; flips are kept apart because a torch stride cannot be negative."""
        case = self.case
        if "strides_bytes" in case:
            size = base.element_size()
            if any(stride % size for stride in case["strides_bytes"]):
                raise Unsupported("strides that are no multiple of the element")
            view = base.as_strided(case["shape"], [stride // size for stride in case["strides_bytes"]])
        else:
            view = base.view(case["shape"])
        self.flips = []
        for mode, part in enumerate(parse_slices(case)):
            if isinstance(part, int):
                raise Unsupported("an index in a slice")
            if part == slice(None, None, -1):
                self.flips.append(mode)
            elif part.step is not None and part.step < 0:
                raise Unsupported("a negative step over a part")
            else:
                view = view[(slice(None),) * mode + (part,)]
        if "broadcast" in case:
            view = view.expand(case["broadcast"])
        if "axes" in case:
            view = view.permute(case["axes"])
            self.flips = [case["axes"].index(mode) for mode in self.flips]
        return view

    def make_output(self, device):
        """The destination view, poisoned."""
        case = self.case
        if "dst_slice_of" in case:
            whole = torch.zeros(case["dst_slice_of"], dtype=self.dst_type, device=device)
            return whole[parse_slices({"slice": case["dst_slice"]})]
        if "dst_strides_bytes" in case:
            size = torch.empty((), dtype=self.dst_type).element_size()
            if any(stride % size or stride < 0 for stride in case["dst_strides_bytes"]):
                raise Unsupported("destination strides below zero, or that are no multiple of the element")
            return torch.empty_strided(list(self.view.shape), [s // size for s in case["dst_strides_bytes"]], dtype=self.dst_type, device=device).zero_()
        return torch.zeros(list(self.view.shape), dtype=self.dst_type, device=device)

    def expected(self):
        view = torch.flip(self.view, self.flips) if self.flips else self.view
        return view.to(self.dst_type)

    def right(self, out):
        """True when `out`, of any shape, holds the expected elements in C order."""
        expected = self.expected().contiguous().view(-1).view(torch.uint8)
        return torch.equal(out.contiguous().view(-1).view(torch.uint8), expected)


def rotation(problem):
    """Copies of the pair so that a batch moves four times the L2 cache before it meets a buffer again."""
    pairs = [(problem.view, problem.out)]
    while len(pairs) * problem.pair_bytes < 4 * L2_BYTES and len(pairs) < 64:
        base = problem.base.clone()
        view = problem.make_view(base)
        pairs.append((view, torch.empty_strided(problem.out.shape, problem.out.stride(), dtype=problem.out.dtype,
                                                device=problem.out.device)))
    return pairs


def torch_batch(run, pairs):
    """batch(calls): seconds a call of run(view, out), over the pairs in turn. On a GPU one call goes before, untimed: what
    others left in L2 has gone, and the host has time to enqueue the next."""
    cuda = pairs[0][1].is_cuda

    def batch(calls):
        if not cuda:
            begin = time.perf_counter()
            for i in range(calls):
                run(*pairs[i % len(pairs)])
            return (time.perf_counter() - begin) / calls
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        run(*pairs[-1])
        start.record()
        for i in range(calls):
            run(*pairs[i % len(pairs)])
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1e3 / calls

    return batch


def ceiling_batch(problem, pairs, useful_bytes):
    """A contiguous device copy that reads and writes as many bytes as the case counts, between the pairs' own buffers as
    in `restride bench`; where these are too small, between others."""
    half = max(1, useful_bytes // 2)
    device = problem.out.device

    def all_of(tensor):
        return torch.empty(0, dtype=torch.uint8, device=device).set_(tensor.untyped_storage())

    sides = [(all_of(view), all_of(out)) for view, out in pairs]
    if min(side.numel() for pair in sides for side in pair) < half:
        slots = max(1, min(64, -(-4 * L2_BYTES // (2 * half))))
        sides = [tuple(torch.zeros(half, dtype=torch.uint8, device=device) for _ in range(2)) for _ in range(slots)]
    return torch_batch(lambda src, dst: dst.copy_(src), [(src[:half], dst[:half]) for src, dst in sides])


def calls_for(batch, seconds):
    calls = 1
    while batch(calls) * calls < seconds and calls < 1 << 14:
        calls *= 2
    return calls


def ratio_in_turns(ceiling, library, seconds, reps):
    """The plain copy's time over the library's, medians of `reps` turns. Before them both run until the GPU, idle while
    the library compiled, is at its pace again."""
    sides = [(ceiling, calls_for(ceiling, seconds)), (library, calls_for(library, seconds))]
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        for batch, calls in sides:
            batch(calls)
    times = [[batch(calls) for batch, calls in sides] for _ in range(reps)]
    copy_seconds, library_seconds = (statistics.median(side) for side in zip(*times))
    return copy_seconds / library_seconds


def run_eager(problem, pairs):
    """torch.Tensor.copy_ between the views; torch.flip where the case flips."""
    if problem.flips:
        def run(view, out):
            return torch.flip(view, problem.flips)
        result = run(*pairs[0])
    else:
        def run(view, out):
            return out.copy_(view)
        result = run(*pairs[0])
    if not problem.right(result):
        raise ValueError("wrong output")
    return torch_batch(run, pairs), BATCH_SECONDS


def run_compile(problem, pairs):
    """The same through torch.compile."""
    torch._dynamo.reset()
    flips = problem.flips

    @torch.compile(dynamic=False, fullgraph=True)
    def compiled(view, out):
        return out.copy_(torch.flip(view, flips) if flips else view)

    if not problem.right(compiled(*pairs[0])):
        raise ValueError("wrong output")
    return torch_batch(compiled, pairs), BATCH_SECONDS


def run_jax(problem, pairs):
    """One jitted function of the base array; the output is a new array in C order."""
    import jax
    import jax.numpy as jnp
    case = problem.case
    if "strides_bytes" in case or "dst_slice_of" in case:
        raise Unsupported("jax has neither strides nor destinations")
    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def function(base):
        array = base.reshape(case["shape"])[parse_slices(case)]
        if "broadcast" in case:
            array = jnp.broadcast_to(array, case["broadcast"])
        if "axes" in case:
            array = jnp.transpose(array, case["axes"])
        return array.astype(DTYPE_NAMES[case["dst"]]).reshape(-1)

    bases = [jax.dlpack.from_dlpack(problem.base)]
    bases += [jnp.copy(bases[0]) for _ in pairs[1:]]
    result = function(bases[0])
    result.block_until_ready()
    if not problem.right(torch.from_dlpack(result)):
        raise ValueError("wrong output")

    def batch(calls):
        begin = time.perf_counter()
        for i in range(calls):
            out = function(bases[i % len(bases)])
        out.block_until_ready()
        return (time.perf_counter() - begin) / calls

    return batch, 5 * BATCH_SECONDS


LIBRARIES = {"eager": ("PyTorch eager", run_eager), "compile": ("torch.compile", run_compile), "jax": ("JAX", run_jax)}


def warm_up(device):
    """A second of copies: a GPU that was idle runs its first case at lower clocks."""
    src = torch.zeros(64 << 20, dtype=torch.uint8, device=device)
    dst = torch.zeros_like(src)
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        for _ in range(100):
            dst.copy_(src)
        if src.is_cuda:
            torch.cuda.synchronize()


def measure(row, case, libraries, device, reps):
    """Adds the libraries' ratios to one row of the result."""
    problem = Problem(case, device)
    pairs = rotation(problem)
    for library in libraries:
        name, prepare = LIBRARIES[library]
        try:
            batch, seconds = prepare(problem, pairs)
            ratio = ratio_in_turns(ceiling_batch(problem, pairs, row["bytes"]), batch, seconds, reps)
        except Exception as error:  # whatever a library cannot do is its result  # noqa: BLE001
            row.get("peers", {}).pop(name, None)
            row.setdefault("peer_notes", {})[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        row.get("peer_notes", {}).pop(name, None)  # of an earlier run
        row.setdefault("peers", {})[name] = round(ratio, 4)


def selected(row, patterns):
    """True when the row was measured in full and its name or class is asked for."""
    if row.get("scaled") or "error" in row or "skipped" in row:
        return False
    texts = (row["name"], row.get("class", ""))
    return not patterns or any(p in t or fnmatch.fnmatchcase(t, p) for p in patterns for t in texts)


def rows_on(result, device):
    """(run, row) for every case of the runs on a device."""
    return [(run, row) for run in result["runs"] if run["device"] == device for row in run["cases"]]


def versions(libraries):
    out = {"PyTorch": torch.__version__}
    if "jax" in libraries:
        import jax
        out["JAX"] = jax.__version__
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path, metavar="RESULT.json")
    parser.add_argument("--cases", action="append", metavar="FILE", help="case files of the result; default: bench/cases")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="names or classes, as restride bench")
    parser.add_argument("--libraries", default="eager,compile,jax")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--reps", type=int, default=7)
    arguments = parser.parse_args()
    libraries = arguments.libraries.split(",")
    if unknown := set(libraries) - set(LIBRARIES):
        parser.error(f"no such library: {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES)}")
    result = result_file.load(arguments.result)
    cases = load_cases(arguments.cases or CASES)
    found = versions(libraries)
    warm_up(arguments.device)
    for run, row in rows_on(result, arguments.device):
        run["machine"].setdefault("library_versions", {}).update(found)
        case = cases.get(row["name"].partition("@")[0])
        if case is None or not selected(row, arguments.only):
            continue
        try:
            measure(row, with_element(case, row["name"]), libraries, arguments.device, arguments.reps)
        except Exception as error:  # one case must not cost the others  # noqa: BLE001
            row.setdefault("peer_notes", {})["PyTorch and JAX"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        if arguments.device == "cuda":
            torch.cuda.empty_cache()
        shown = "  ".join(f"{name} {ratio:.3f}" for name, ratio in sorted(row.get("peers", {}).items()))
        print(f"{row['name']:<30} restride {row['ratio']:.3f}  {shown}", flush=True)
        run["machine"]["peers"] = sorted(set(row.get("peers", {})) | set(run["machine"].get("peers", [])))
        result_file.save(arguments.result, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
