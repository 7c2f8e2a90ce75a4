"""The Python of the pages beside docs/python.md (test_package.py) runs; a section stands by itself."""
import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = [(page, part) for page in ("recipes.md", "casts.md")
            for part in (REPOSITORY / "docs" / page).read_text().split("\n## ") if "```python\n" in part]  # fmt: skip


@pytest.mark.parametrize("page, part", SECTIONS, ids=[f"{page}-{part.splitlines()[0]}" for page, part in SECTIONS])
def test_the_section_runs(page, part):
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", part, re.M | re.S):
        exec(compile(block, page, "exec"), names)
