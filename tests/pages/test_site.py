"""The documentation's site in a browser: accessible, silent, asks no network, and its search works from a file."""
import os
import pathlib

import pytest

import browser

SITE = os.environ.get("RESTRIDE_SITE")
if not SITE:
    pytest.exit("skipped: RESTRIDE_SITE names no site; ./dev docs makes one", returncode=77)
why_not = browser.why_not()
if why_not:
    pytest.exit(f"skipped: {why_not}", returncode=77)

# One page of every kind.
KINDS = ["index.html", "glance.html", "tutorial/cpp.html", "recipes.html", "casts.html", "distributed.html",
         "reference/copy-hpp.html", "reference/restride-h.html", "reference/python.html", "reference/command.html",
         "architecture.html", "families/cpu-tile.html", "families/cuda-tile.html", "results.html", "results/index.html", "lab.html",
         "files/examples/quickstart.cc.html"]  # fmt: skip


@pytest.mark.parametrize("page", KINDS)
def test_a_page_asks_no_network_and_is_silent(page):
    visit = browser.Visit(pathlib.Path(SITE) / page)
    assert visit.requests == []
    assert visit.console == []
    assert [e for e in visit.dom.elements if e["tag"] == "h1"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", KINDS)
def test_axe_finds_nothing_serious(page, dark):
    axe_core_python = pytest.importorskip("axe_core_python", reason="pip install axe-core-python")
    script = next(pathlib.Path(axe_core_python.__file__).parent.rglob("axe*.js")).read_text()
    found = browser.axe(pathlib.Path(SITE) / page, script, dark, in_place=True)
    assert [f for f in found if f[0] in ("serious", "critical")] == []


def test_the_search_works_from_a_file():
    page = pathlib.Path(SITE) / "index.html"
    dom = browser.searched(page, "broadcast_to")
    results = [e for e in dom.elements if "md-search-result__link" in (e.get("class") or "")]
    assert results and any("layout-hpp" in e["href"] or "migration" in e["href"] for e in results)
