#!/usr/bin/env python3
"""bench/peers_torch.py, with a stand-in for PyTorch: what a ratio is of, and that every dtype has a name."""
import importlib.util
import pathlib
import re
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
torch = types.ModuleType("torch")
for theirs in ("uint8", "float32"):
    setattr(torch, theirs, theirs)
sys.modules["torch"] = torch
spec = importlib.util.spec_from_file_location("peers_torch", ROOT / "bench/peers_torch.py")
peers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peers)


class Ratios(unittest.TestCase):
    def setUp(self):
        peers.Problem = lambda case, device: None
        peers.rotation = lambda problem: []
        peers.WARM_SECONDS = 0
        self.pace = 1.0  # of the device
        peers.ceiling_batch = lambda *_: lambda calls: 2.0 / self.pace

    def slowing_down(self, seconds):
        def batch(calls):
            self.pace *= 0.9
            return seconds / self.pace * 0.9
        return lambda *_: (batch, 0)

    def test_are_of_ceilings_in_turns_with_the_library(self):
        peers.LIBRARIES = {"a": ("A", self.slowing_down(4.0)), "b": ("B", self.slowing_down(5.0))}
        row = {"bytes": 8, "peer_notes": {"A": "of an earlier run"}}
        peers.measure(row, {}, ["a", "b"], "cpu", 3)
        self.assertEqual(row["peers"], {"A": 0.5, "B": 0.4})
        self.assertEqual(row["peer_notes"], {})

    def test_are_left_out_where_a_library_fails(self):
        def fail(*_):
            raise peers.Unsupported("no such case")
        peers.LIBRARIES = {"a": ("A", fail), "b": ("B", lambda *_: (lambda calls: 4.0, 0))}
        row = {"bytes": 8, "peers": {"A": 0.9}}
        peers.measure(row, {}, ["a", "b"], "cpu", 1)
        self.assertEqual(row["peers"], {"B": 0.5})
        self.assertEqual(row["peer_notes"], {"A": "Unsupported: no such case"})


class Rows(unittest.TestCase):
    def test_are_those_of_the_runs_on_the_device(self):
        runs = [{"device": device, "cases": [{"name": device + name} for name in "ab"]} for device in ("cpu", "cuda")]
        self.assertEqual([(run["device"], row["name"]) for run, row in peers.rows_on({"runs": runs}, "cuda")],
                         [("cuda", "cudaa"), ("cuda", "cudab")])


class Dtypes(unittest.TestCase):
    def test_all_have_the_name_that_pytorch_and_jax_share(self):
        rows = (ROOT / "include/restride/dtype.hpp").read_text().partition("RESTRIDE_DTYPES(X)")[2].partition("\n\n")[0]
        names = re.findall(r'"(\w+)"', rows)
        self.assertGreater(len(names), 16)
        self.assertEqual(sorted(names), sorted(peers.DTYPE_NAMES))


if __name__ == "__main__":
    unittest.main()
