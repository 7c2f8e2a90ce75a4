#!/usr/bin/env python3
"""lab/profile.py's reading of ncu's raw page, on a page as ncu 2025.3 prints it."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lab"))
import profile as lab_profile  # noqa: E402  (lab/profile.py, found before the standard library's module)

PAGE = '''==PROF== Connected to process 7
"ID","Process ID","Kernel Name","a.sum","b.sum","dram__bytes_read.sum"
"","","","request","sector","Kbyte"
"0","7","void restride::lab::naive_rung<restride::lab::X>(T1)","1,024","32,768","67.5"
"1","7","void restride::lab::padded_rung<restride::lab::X>(T1)","1,024","","0"
'''
METRICS = {"store_requests": "a.sum", "store_sectors": "b.sum", "dram_read_bytes": "dram__bytes_read.sum"}


class ProfileTest(unittest.TestCase):
    def test_counters_are_read_with_their_units_and_missing_ones_left_out(self):
        naive, padded = lab_profile.parse_counters(PAGE, METRICS)
        self.assertIn("naive_rung", naive["kernel"])
        self.assertEqual(naive["store_sectors"], 32768)
        self.assertEqual(naive["dram_read_bytes"], 67500)
        self.assertNotIn("store_sectors", padded)

    def test_figures_are_per_request(self):
        figures = lab_profile.figures({"store_sectors": 64, "store_requests": 2, "load_sectors": 0, "load_requests": 0}, {})
        self.assertEqual(figures, {"store_sectors": 32})

    def test_a_degree_is_over_the_fewest_passes_that_the_width_allows(self):
        counters = {"shared_store_wavefronts": 80, "shared_stores": 10}
        from_map = {"put_wavefronts": 4, "put_conflicts": 1}  # 16 bytes a lane: four passes at least
        self.assertEqual(lab_profile.figures(counters, from_map)["put_conflicts"], 2)


if __name__ == "__main__":
    unittest.main()
