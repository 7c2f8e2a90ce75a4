#!/usr/bin/env python3
"""Checks a built site: every link and anchor leads somewhere, and no page loads anything from a network.

  scripts/site/check.py SITE
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data")}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {"", "__top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADS and not (tag == "link" and dict(attributes).get("rel") in ("canonical", "prev", "next")):
                self.loads.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")


def is_outside(target):
    return bool(re.match(r"([a-z][a-z0-9+.-]*:)?//", target))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text(errors="replace")) for path in root.rglob("*.html")}
    wrong, links = [], 0
    for path, page in pages.items():
        here = path.relative_to(root)
        for target in page.loads:
            if is_outside(target):
                wrong.append(f"{here} loads {target}")
        for target in page.links + [t for t in page.loads if not is_outside(t)]:
            if re.match(r"(https?|mailto|data|javascript):", target):
                continue
            links += 1
            name, _, anchor = target.partition("#")
            name, anchor = urllib.parse.unquote(name.partition("?")[0]), urllib.parse.unquote(anchor)
            to = (path.parent / name).resolve() if name else path
            if to.is_dir():
                to /= "index.html"
            if not to.exists():
                # The page for what is not found has links from a server's root.
                if here.name != "404.html":
                    wrong.append(f"{here}: no {target}")
            elif to in pages and anchor not in pages[to].anchors:
                wrong.append(f"{here}: no anchor {target}")
    for sheet in root.rglob("*.css"):
        for target in re.findall(r"url\(([^)]*)\)|@import\s+[\"']([^\"']*)", sheet.read_text()):
            if any(is_outside(t.strip("\"'")) for t in target):
                wrong.append(f"{sheet.relative_to(root)} loads {target}")
    print("\n".join(sorted(set(wrong))))
    print(f"links: {links} on {len(pages)} pages, {len(set(wrong))} wrong")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
