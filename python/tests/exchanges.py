"""What every rank does in the tests of restride.distributed, whatever the ranks are."""
import time

import numpy as np

import restride.distributed as dist

ROWS, COLUMNS = "u8 (4,4) as (block[0],*) over (2)", "u8 (4,4) as (*,block[0]) over (2)"

# Source, target: {n} ranks; elements with a cast, orders, replicas, cyclic blocks, nothing at all on some ranks.
CASES = [
    ("f32 (13,7) as (block[0],*) over ({n})", "f32 (13,7) as (*,block[0]) over ({n})"),
    ("f64 (13,7) as (ceil[0],*) over ({n})", "f32 (13,7) as (*,cyclic:2[0]) over ({n}) order (1,0)"),
    ("i16 (5,6,4) as (*,block[0],*) over ({n})", "i64 (5,6,4) as (*,*,*) over ({n})"),
    ("u8 (40) as (cyclic:3[0]) over ({n})", "u8 (40) as (cyclic:5[0]@{last}) over ({n})"),
    ("b12 (6,5) as (block[0],*) over ({n})", "b12 (6,5) as (*,*) over (1)"),
    ("bool (0,5) as (block[0],*) over ({n})", "bool (0,5) as (*,block[0]) over ({n})"),
]
NUMPY = {"b12": "V12", "f32": "f4", "f64": "f8", "i16": "i2", "i64": "i8", "u8": "u1", "bool": "?"}


def whole_of(side, shape):
    """The global tensor: no two elements alike where the element holds as many."""
    element = side.split()[0]
    count = int(np.prod(shape))
    if element == "b12":
        return np.arange(3 * count, dtype="i4").view("V12").reshape(shape)
    return (np.arange(count) % 251).reshape(shape).astype(NUMPY[element])


def part(side, whole, rank):
    """What the rank has of it, in the memory order that the side says."""
    if dist.regions(side, rank) == 0:
        return None
    mine = whole[np.ix_(*dist.indices(side, rank))]
    return np.asarray(mine, order="F" if "order (1,0)" in side else "C")


def check(comm, case, method=None):
    src, dst = (text.format(n=comm.size, last=comm.size - 1) for text in case)
    shape = tuple(int(n) for n in src[src.index("(") + 1 : src.index(")")].split(",") if n)
    whole = whole_of(src, shape)
    mine, wanted = part(src, whole, comm.rank), part(dst, whole, comm.rank)
    kind = NUMPY[dst.split()[0]]
    wanted = None if wanted is None else wanted if kind == "V12" else np.asarray(wanted.astype(kind), order="K")
    # Dense memory, and memory with gaps, backwards.
    got = None if wanted is None else np.empty_like(wanted)
    plan = dist.plan(src, dst, comm, method=method, deadline=10)
    for _ in range(2):
        plan.run(got, mine)
    assert got is None or got.tobytes() == wanted.tobytes(), (src, dst, comm.rank)
    if wanted is None or wanted.ndim < 2 or kind == "V12":
        odd = got
    else:
        odd = np.zeros((*wanted.shape[:-1], 2 * wanted.shape[-1] + 1), kind)[..., -2::-2][..., : wanted.shape[-1]]
    plan = dist.plan(src, dst, comm, dst_like=odd, method=method, deadline=10)
    plan.run(odd, mine)
    assert odd is None or np.array_equal(odd, wanted), (src, dst, comm.rank)


def check_several(comm):
    n = comm.size
    sides = [(f"f32 (8,{k}) as (block[0],*) over ({n})", f"f32 (8,{k}) as (*,block[0]) over ({n})") for k in (3, 5)]
    wholes = [whole_of(src, (8, k)) for (src, _), k in zip(sides, (3, 5), strict=True)]
    mine = [part(src, w, comm.rank) for (src, _), w in zip(sides, wholes, strict=True)]
    got = [np.empty_like(part(dst, w, comm.rank)) for (_, dst), w in zip(sides, wholes, strict=True)]
    dist.plan([s for s, _ in sides], [d for _, d in sides], comm, deadline=10).run(got, mine)
    for (_, dst), whole, there in zip(sides, wholes, got, strict=True):
        assert np.array_equal(there, part(dst, whole, comm.rank))


# What rank 1 does wrong: the errors of rank 1 and of the others.
FAULTS = {
    "shape": ((dist.AgreementError, "another global shape"), (dist.AgreementError, "rank 1 has another")),
    "dtype": ((dist.AgreementError, "rank 1 has other elements"), (dist.AgreementError, "rank 1 has other elements")),
    "array": ((ValueError, "the plan is for"), (dist.AgreementError, "rank 1 could not run")),
    "late": ((dist.DeadlineError, ""), (dist.DeadlineError, "rank 1 did not come to plan")),
}


def check_fault(comm, fault):
    n, odd = comm.size, comm.rank == 1
    shape = (12, 13) if fault == "shape" and odd else (12, 12)
    element = "i64" if fault == "dtype" and odd else "i32"
    src = f"{element} {str(shape).replace(' ', '')} as (block[0],*) over ({n})"
    dst = src.replace("(block[0],*)", "(*,block[0])")
    if fault == "late" and odd:
        time.sleep(6)  # MPI's ranks look for each other for two seconds after the deadline
    try:
        plan = dist.plan(src, dst, comm, deadline=1.5)
        mine, got = (np.zeros(dist.local_shape(side, comm.rank), np.int32) for side in (src, dst))
        plan.run(got[:1] if fault == "array" and odd else got, mine)
    except (ValueError, dist.AgreementError, dist.DeadlineError) as error:
        kind, words = FAULTS[fault][0 if odd else 1]
        assert type(error) is kind and words in str(error), f"rank {comm.rank}: {type(error).__name__}: {error}"
        return
    raise AssertionError(f"rank {comm.rank}: no error")


