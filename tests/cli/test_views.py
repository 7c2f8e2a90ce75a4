"""restride copy: views in the order typed, each on what the one before it left, with NumPy as the judge."""
import os
import random
import shlex

import numpy as np
import pytest

SEED = int(os.environ.get("RESTRIDE_VIEWS_SEED", random.randrange(1 << 32)))
SEQUENCES, BATCH = 600, 50


def random_slice(rng, a):
    words, index, dotted = [], [], rng.random() < 0.2
    for extent in a.shape[:rng.randint(1, a.ndim)] if not dotted else a.shape:
        kind = rng.random()
        if kind < 0.15 and extent:
            i = rng.randrange(-extent, extent)
            words.append(str(i)), index.append(i)
        elif kind < 0.4:
            words.append(":"), index.append(slice(None))
        else:
            start, stop = (rng.choice([None, rng.randint(-extent, extent)]) for _ in range(2))
            step = rng.choice([None, None, 2, -1, -1, -2, 3])
            s = slice(start, stop, step)
            if len(range(extent)[s]) == 0 and rng.random() < 0.9:  # empty ones would be most
                s = slice(None, None, step)
            words.append(":".join("" if x is None else str(x) for x in (s.start, s.stop, s.step)))
            index.append(s)
    if dotted:
        first = rng.randint(0, a.ndim)
        last = rng.randint(first, a.ndim)
        words[first:last], index[first:last] = ["..."], [Ellipsis]
    return ["--slice", ",".join(words)], a[tuple(index)]


def random_flip(rng, a):
    modes = rng.sample(range(a.ndim), rng.randint(1, a.ndim))
    signed = [m - a.ndim if rng.random() < 0.3 else m for m in modes]
    return ["--flip", ",".join(map(str, signed))], np.flip(a, modes)


def random_axes(rng, a):
    axes = rng.sample(range(a.ndim), a.ndim)
    text = rng.choice(["{}", "({})"]).format(rng.choice([",", " ", ", "]).join(map(str, axes)))
    return ["--axes", text], a.transpose(axes)


def random_rot90(rng, a):
    if a.ndim < 2:
        return None
    quarters = rng.randint(-5, 5)
    return ["--rot90", str(quarters)], np.rot90(a, quarters)


def random_broadcast(rng, a):
    shape = [rng.randint(1, 4) if e == 1 else e for e in a.shape]
    if rng.random() < 0.3:
        shape.insert(0, rng.randint(1, 3))
    if np.prod(shape) > 5000:
        return None
    return ["--broadcast", ",".join(map(str, shape))], np.broadcast_to(a, shape)


def random_reshape(rng, a):
    """Modes merged and split, or any extents of the same product."""
    shape = list(a.shape)
    if a.size == 0:
        return None
    if rng.random() < 0.2:
        shape = [a.size]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(shape))
        divisors = [d for d in range(1, shape[at] + 1) if shape[at] % d == 0]
        if rng.random() < 0.5 and at + 1 < len(shape):
            shape[at:at + 2] = [shape[at] * shape[at + 1]]
        else:
            d = rng.choice(divisors)
            shape[at:at + 1] = [d, shape[at] // d]
    text = list(map(str, shape))
    if rng.random() < 0.3:
        text[rng.randrange(len(text))] = "-1"
    return ["--reshape", ",".join(text)], a.reshape(shape)


def random_rearrange(rng, a):
    """Modes split and merged: each stage is NumPy's own."""
    left, sizes, extents, names = [], [], [], []
    for i, extent in enumerate(a.shape):
        name = "abcdefgh"[i]
        divisors = [d for d in range(2, extent) if extent % d == 0]
        if divisors and rng.random() < 0.4:
            d = rng.choice(divisors)
            left.append(f"({name}1 {name}2)")
            sizes += ["--size", f"{name}2={d}"]
            names += [f"{name}1", f"{name}2"]
            extents += [extent // d, d]
        else:
            left.append(name), names.append(name), extents.append(extent)
    order = rng.sample(range(len(names)), len(names))
    groups, at = [], 0
    while at < len(order):
        n = rng.choice([1, 1, 1, 2, 3])
        groups.append(order[at:at + n])
        at += n
    right = [names[g[0]] if len(g) == 1 else "(" + " ".join(names[i] for i in g) + ")" for g in groups]
    shape = [int(np.prod([extents[i] for i in g])) for g in groups]
    return (["--rearrange", f"{' '.join(left)} -> {' '.join(right)}", *sizes],
            a.reshape(extents).transpose(order).reshape(shape))


VIEWS = [random_slice, random_flip, random_axes, random_rot90, random_broadcast, random_reshape, random_rearrange]


def random_views(rng, a):
    """Some of the views in any order, each at most once; --axes and --rearrange exclude each other."""
    views = rng.sample(VIEWS, rng.randint(1, 5))
    if random_axes in views and random_rearrange in views:
        views.remove(rng.choice([random_axes, random_rearrange]))
    words = []
    for view in views:
        if a.ndim and (done := view(rng, a)) and done[1].ndim <= 8:
            words += done[0]
            a = done[1]
    return words, a


def test_what_runs_downwards_behind_a_reshape_is_written_upwards(restride, tmp_path):
    a = np.arange(6 * 6 * 4, dtype="i4").reshape(6, 6, 4, 1)
    np.save(tmp_path / "in.npy", a)
    restride("copy", "in.npy", "out.npy", "--slice", "::3", "--rot90", "-1", "--reshape", "2,2,12", "--flip", "1,-1,0")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.flip(np.rot90(a[::3], -1).reshape(2, 2, 12)))


@pytest.mark.parametrize("batch", range(SEQUENCES // BATCH))
def test_random_views_are_numpys(restride, numbered, tmp_path, batch):
    refused = 0
    for sequence in range(batch * BATCH, (batch + 1) * BATCH):
        rng = random.Random(SEED * SEQUENCES + sequence)
        shape = [rng.choice([1, 2, 3, 4, 5, 6, 8]) for _ in range(rng.randint(1, 4))]
        a = numbered(shape, "i4")
        if rng.random() < 0.3:
            a = np.asfortranarray(a)
        np.save(tmp_path / "in.npy", a)
        words, expected = random_views(rng, a)
        order = rng.choice("CFcf")
        line = f"RESTRIDE_VIEWS_SEED={SEED}, sequence {sequence}: shape {shape}: {shlex.join([*words, '--order', order])}"
        command = ["copy", "in.npy", "out.npy", "--no-sync", "--force", *words, "--order", order]
        try:
            report = restride(*command)
        except AssertionError as e:
            assert "more than one pass" in str(e), line
            assert "--reshape" in words or "--rearrange" in words, line  # nothing else makes what no strides describe
            refused += 1
            continue
        out = np.load(tmp_path / "out.npy")
        np.testing.assert_array_equal(out, expected, err_msg=line)
        assert out.flags[f"{order.upper()}_CONTIGUOUS"], line
        assert report.err == "" or report.err.startswith("restride: note: views apply in the order typed"), line
    assert refused <= BATCH // 4, f"RESTRIDE_VIEWS_SEED={SEED}: {refused} of {BATCH} sequences are refused"


BIG = (2, 3, 4, 6)


def run(restride, tmp_path, a, *words, code=0):
    np.save(tmp_path / "in.npy", a)
    result = restride("copy", "in.npy", "out.npy", "--force", *words, code=code)
    return result if code else (np.load(tmp_path / "out.npy"), result)


@pytest.mark.parametrize("words, expected", [
    (["--axes", "3,0,1,2", "--slice", "1:"], lambda a: a.transpose(3, 0, 1, 2)[1:]),
    (["--slice", "1:", "--axes", "3,0,1,2"], lambda a: a[1:].transpose(3, 0, 1, 2)),
    (["--reshape", "6,24", "--axes", "1,0", "--flip", "0"], lambda a: a.reshape(6, 24).T[::-1]),
    (["--rearrange", "a b c d -> (d a) (b c)", "--slice", "2:4,::-1"],
     lambda a: a.transpose(3, 0, 1, 2).reshape(12, 12)[2:4, ::-1]),
    (["--axes", "3,2,1,0", "--reshape", "24,6", "--flip", "1"], lambda a: a.T.reshape(24, 6)[:, ::-1]),
])
def test_views_apply_in_the_order_typed(restride, numbered, tmp_path, words, expected):
    a = numbered(BIG)
    np.testing.assert_array_equal(run(restride, tmp_path, a, *words)[0], expected(a))


@pytest.mark.parametrize("quarters", range(-5, 6))
def test_rot90_turns_as_numpys(restride, numbered, tmp_path, quarters):
    a = numbered((3, 4, 2))
    np.testing.assert_array_equal(run(restride, tmp_path, a, "--rot90", quarters)[0], np.rot90(a, quarters))


@pytest.mark.parametrize("words, code, message", [
    (["--rot90", "x"], 2, "--rot90 'x': 'x' is no whole number"), (["--rot90", "1,2"], 2, "one whole number of quarter turns"),
    (["--rot90", "90"], 2, "counts quarter turns, not degrees; write --rot90 1"), (["--rot90", "-180"], 2, "write --rot90 -2"),
    (["--reshape", "144", "--rot90", "1"], 1, "--rot90 1: i32 (144):(1) has fewer than the two modes"),
])
def test_rot90_says_what_is_wrong(restride, numbered, tmp_path, words, code, message):
    assert message in run(restride, tmp_path, numbered(BIG), *words, code=code).err


@pytest.mark.parametrize("axes", ["0 3 1 2", "(0,3,1,2)", "(0, 3, 1, 2)", " 0,3 , 1,2 ", "( 0 3  1 2 )"])
def test_axes_are_read_as_people_type_them(restride, numbered, tmp_path, axes):
    a = numbered(BIG)
    np.testing.assert_array_equal(run(restride, tmp_path, a, "--axes", axes)[0], a.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("order", ["f", "F", "c", "C"])
def test_the_order_is_read_in_either_case(restride, numbered, tmp_path, order):
    out, _ = run(restride, tmp_path, numbered(BIG), "--order", order)
    assert out.flags[f"{order.upper()}_CONTIGUOUS"]


@pytest.mark.parametrize("text, index", [
    ("...,::2", np.s_[..., ::2]), ("1,...", np.s_[1, ...]), ("1:,...,0,-1", np.s_[1:, ..., 0, -1]),
    ("0,1,...,2,3", np.s_[0, 1, ..., 2, 3]), ("...", np.s_[...]),
])
def test_dots_in_slices_stand_for_the_modes_not_named(restride, numbered, tmp_path, text, index):
    a = numbered(BIG)
    np.testing.assert_array_equal(run(restride, tmp_path, a, "--slice", text)[0], a[index])


def test_dots_in_slices_stand_once(restride, numbered, tmp_path):
    assert "stands there twice" in run(restride, tmp_path, numbered(BIG), "--slice", "...,1,...", code=2).err
    assert "slice" in run(restride, tmp_path, numbered(BIG), "--slice", "...,1,1,1,1,1", code=1).err


@pytest.mark.parametrize("words, expected", [
    (["--reshape", "6,24"], lambda a: a.reshape(6, 24)),  # merges
    (["--reshape", "16,9"], lambda a: a.reshape(16, 9)),  # cuts across modes that lie in one stride
    (["--slice", ":,:,:3", "--reshape", "6,3,3,2"], lambda a: a[:, :, :3].reshape(6, 3, 3, 2)),  # merges here, splits there
    (["--axes", "1,0,2,3", "--reshape", "6,-1"], lambda a: a.transpose(1, 0, 2, 3).reshape(6, -1)),
    (["--flip", "1", "--reshape", "6,8,3"], lambda a: a[:, ::-1].reshape(6, 8, 3)),
])
def test_reshape_goes_with_fortran_order(restride, numbered, tmp_path, words, expected):
    a = numbered(BIG)
    out, _ = run(restride, tmp_path, a, *words, "--order", "F")
    np.testing.assert_array_equal(out, expected(a))
    assert out.flags.f_contiguous


@pytest.mark.parametrize("shape, words, expected", [
    ((4, 6), ["--axes", "1,0", "--reshape", "8,3", "--order", "F"], lambda a: a.T.reshape(8, 3)),
    ((4, 6), ["--axes", "1,0", "--reshape", "8,3", "--flip", "0,1", "--order", "F"], lambda a: a.T.reshape(8, 3)[::-1, ::-1]),
    ((4, 6), ["--flip", "1", "--axes", "1,0", "--reshape", "8,3", "--rot90", "1"], lambda a: np.rot90(a[:, ::-1].T.reshape(8, 3))),
    ((6, 10, 15), ["--axes", "2,0,1", "--reshape", "4,225", "--dtype", "f64", "--order", "F"], lambda a: a.transpose(2, 0, 1).reshape(4, 225)),
    ((4, 6), ["--slice", ":,1:", "--reshape", "10,2", "--order", "F"], lambda a: a[:, 1:].reshape(10, 2)),
])
@pytest.mark.parametrize("order", "<>")
def test_a_shape_that_cuts_across_modes_is_one_call(restride, numbered, tmp_path, shape, words, expected, order):
    a = numbered(shape, order + "i4")
    out, report = run(restride, tmp_path, a, *words)
    np.testing.assert_array_equal(out, expected(a))
    out, _ = run(restride, tmp_path, a, *words, "--measure")
    np.testing.assert_array_equal(out, expected(a))
    assert " -> " not in restride("explain", "in.npy", *words).err


def test_one_call_holds_all_of_it(restride, numbered, tmp_path):
    a = numbered((1000, 600), "i4")  # 2.4 MB
    words = ["--axes", "1,0", "--reshape", "800,750", "--order", "F"]
    err = run(restride, tmp_path, a, *words, "--buffer-mib", 1, code=1).err
    assert "give --buffer-mib 3, or copy with the options in front of --reshape into a file" in err
    assert not os.path.exists(tmp_path / "out.npy")
    np.testing.assert_array_equal(run(restride, tmp_path, a, *words, "--buffer-mib", 3)[0], a.T.reshape(800, 750))


def test_what_takes_two_passes_says_so(restride, numbered, tmp_path):
    words = ["--axes", "1,0", "--reshape", "8,3", "--slice", "1:7"]
    err = run(restride, tmp_path, numbered((4, 6)), *words, "--order", "F", code=1).err
    assert "more than one pass" in err and "into a file" in err
    assert not os.path.exists(tmp_path / "out.npy")


def test_the_report_prints_the_views(restride, numbered, tmp_path):
    words = ["--axes", "3,0,1,2", "--slice", "1:"]
    assert "--axes '3,0,1,2' (6,2,3,4), then --slice '1:' (5,2,3,4)\n" in run(restride, tmp_path, numbered(BIG), *words)[1].out
    sequence = [{"option": "--axes", "value": "3,0,1,2", "shape": "(6,2,3,4)"}, {"option": "--slice", "value": "1:", "shape": "(5,2,3,4)"}]
    assert run(restride, tmp_path, numbered(BIG), *words, "--json")[1].json()["views"] == sequence
    assert restride("explain", "in.npy", *words, "--json").json()["views"] == sequence
    assert restride("explain", "in.npy", *words).out.startswith("views      --axes '3,0,1,2' (6,2,3,4), then")
    assert "views" not in restride("explain", "in.npy").out


def test_a_line_that_meant_something_else_before_is_noted(restride, numbered, tmp_path):
    words = ["--axes", "3,0,1,2", "--rot90", "1", "--slice", "1:"]
    note = ("restride: note: views apply in the order typed, --axes, --slice; "
            "earlier versions applied --slice, --axes\n")
    assert run(restride, tmp_path, numbered(BIG), *words)[1].err == note
    assert run(restride, tmp_path, numbered(BIG), *words, "-q")[1].err == note
    assert restride("explain", "in.npy", *words).err == note
    for same in (["--slice", "1:", "--axes", "3,0,1,2"], ["--axes", "3,0,1,2", "--rot90", "1"], ["--rot90", "1", "--flip", "0"]):
        assert run(restride, tmp_path, numbered(BIG), *same)[1].err == ""
