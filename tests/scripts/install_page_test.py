#!/usr/bin/env python3
"""docs/install.md names the packages that scripts/packages.txt has, and presets that there are."""
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/install.md").read_text()
FOR_SCRIPTS = {"python3", "python3-dev", "python3-venv"}  # ./dev and the checks want them, a build does not


class InstallPage(unittest.TestCase):
    def test_the_apt_line_is_what_a_build_needs(self):
        lines = [line.split() for line in (ROOT / "scripts/packages.txt").read_text().splitlines() if line[:1] not in ("", "#")]
        needed = {line[0] for line in lines if "build" in line[1].split(",")} - FOR_SCRIPTS
        apt_line = re.search(r"^apt-get install (g\+\+ .*)$", PAGE, re.M).group(1)
        self.assertEqual(set(apt_line.split()), needed)

    def test_the_presets_exist(self):
        presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["workflowPresets"]}
        named = set(re.findall(r"--workflow --preset (\w+)", PAGE))
        self.assertEqual(named - presets, set())
        self.assertIn("package", named)


if __name__ == "__main__":
    unittest.main()
