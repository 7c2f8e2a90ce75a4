#!/usr/bin/env python3
"""Puts the pages of the site together from the files of the repository; MkDocs makes HTML of them.

  scripts/site/stage.py OUT [--restride COMMAND] [--doxygen-xml FOLDER]

Nothing is written twice: docs/, ARCHITECTURE.md, the families' README.md and the rest are taken as they are, with their
links turned to where the pages lie on the site. A file that a page links to and that is no page becomes one, as text.
"""
import argparse
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import reference

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Where pages of the repository lie on the site; all of docs/ lies at its own name.
PAGES = {"README.md": "glance.md", "docs/README.md": "index.md", "ARCHITECTURE.md": "architecture.md",
         "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "docs/restride.1": "reference/command.md"}
# Pages that the command writes: file, title, arguments.
WRITTEN = {
    "results/cpu-xeon-avx512.html": ("One and two threads of a Xeon", ["bench", "--from", "bench/results/cpu-xeon-avx512.json"]),
    "results/cpu-xeon-avx512-peers.html": ("The same Xeon beside peers", ["bench", "--from", "bench/results/cpu-xeon-avx512-peers.json"]),
    "results/cpu-epyc-avx512.html": ("An EPYC", ["bench", "--from", "bench/results/cpu-epyc-avx512.json"]),
    "results/cpu-epyc-zen4-avx512.html": ("An EPYC of family 25 (Zen 4)",
                                          ["bench", "--from", "bench/results/cpu-epyc-zen4-avx512.json"]),
    "results/cuda-nvidia-h200.html": ("NVIDIA H200 beside peers", ["bench", "--from", "bench/results/cuda-nvidia-h200.json"]),
    "results/cuda-nvidia-h100.html": ("NVIDIA H100, against the H200",
                                      ["bench", "--from", "bench/results/cuda-nvidia-h100.json", "--against",
                                       "bench/results/cuda-nvidia-h200.json"]),
    "lab-ladder.html": ("The ladder, rung by rung, with drawings", ["lab", "--from", "lab/results/h200.json"]),
    "drawn/transpose.html": ("A transpose on a GPU", ["explain", "f32 (4096,4096) -> (1,0)", "--device", "cuda"]),
    "drawn/planes.html": ("Pixels into planes on a CPU", ["explain", "u8 (1080,1920,3) -> (2,0,1)", "--device", "cpu"]),
}
LANGUAGES = {".cc": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".cu": "cpp", ".cuh": "cpp", ".py": "python", ".sh": "bash",
             ".json": "json", ".txt": "text", ".cmake": "cmake"}
MOST_SHOWN = 200_000  # bytes of a file that is shown as a page; a larger one is offered for download


def tracked():
    """Files of the repository, those that git does not know yet included."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}
    return {str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and not p.relative_to(ROOT).parts[0].startswith((".", "build"))}


def anchors_of(path):
    """Anchors of a page's headings, as git hosts and the site make them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    heads = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


class Site:
    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.files = tracked()
        self.wanted = []  # files that pages link to, to be shown, too
        self.places = {}

    def place(self, name):
        """Where a file or folder of the repository lies on the site; None where it is none."""
        if name in self.places:
            return self.places[name]
        if name in PAGES:
            place = PAGES[name]
        elif name.startswith("docs/") and name in self.files:
            place = name.removeprefix("docs/")
        elif match := re.fullmatch(r"src/(cpu|cuda)/(\w+)/(README\.md|\w+\.svg)", name):
            engine, family, file = match.groups()
            place = f"families/{engine}-{family}" + (".md" if file == "README.md" else f"-{file}")
        elif name in self.files:
            large = (ROOT / name).stat().st_size > MOST_SHOWN
            place = f"files/{name}" if large else f"files/{name.removesuffix('.md')}.md"
            self.wanted.append(name)
        elif any(f.startswith(name + "/") for f in self.files):
            place = f"files/{name}/index.md"
            self.wanted.append(name)
        else:
            return None
        self.places[name] = place
        return place

    def link(self, page, target, here):
        """A link of the file `page`, whose place is `here`, as it must be on the site."""
        path, mark, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            return target
        if not path:
            if anchor not in anchors_of(ROOT / page):
                raise SystemExit(f"{page} has no heading #{anchor}")
            return target
        name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        place = self.place(name)
        if place is None:
            raise SystemExit(f"{page}: there is no {name} to link to")
        if anchor and name.endswith(".md") and anchor not in anchors_of(ROOT / name):
            raise SystemExit(f"{page}: {name} has no heading #{anchor}")
        return posixpath.relpath(place, posixpath.dirname(here) or ".") + mark + anchor

    def rewritten(self, page, text, here):
        """Links turned; blank lines where git hosts want none and Markdown does; comments for scripts left out."""
        lines, fenced, before = [], False, ""
        for line in text.split("\n"):
            if line.lstrip().startswith("```"):
                if not fenced and before.strip() and not before.startswith((" ", "```")):
                    lines.append("")
                fenced = not fenced
            elif not fenced:
                if line.startswith("    ") and not before.strip():
                    raise SystemExit(f"{page}: code stands between fences, not behind blanks, which are lost when lines are "
                                     f"filled: {line.strip()}")
                if re.fullmatch(r"\s*<!--.*-->\s*", line):
                    line = ""
                starts = re.match(r"(- |\d+\. |\|)", line)
                if starts and before.strip() and not before.startswith((starts.group(1)[0], " ", "#")) \
                        and not re.match(r"\d+\. |- |\|", before):
                    lines.append("")
                line = re.sub(r"(\]\()([^()\s]+)(\))", lambda m: m[1] + self.link(page, m[2], here) + m[3], line)
            lines.append(line)
            before = line
        return "\n".join(lines)

    def write(self, place, text):
        path = self.out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def page(self, name):
        here = self.place(name)
        self.write(here, self.rewritten(name, (ROOT / name).read_text(), here))

    def show(self, name):
        """A file that is no page, or a folder."""
        here = self.place(name)
        if not here.endswith(".md"):
            (self.out / here).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, self.out / here)
        elif name in self.files:
            text = (ROOT / name).read_text(errors="replace")
            if name.endswith(".md"):
                self.write(here, self.rewritten(name, text, here))
                return
            fence = "`" * max([3] + [len(m) + 1 for m in re.findall(r"`{3,}", text)])
            language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
            self.write(here, f"# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n")
        else:
            inside = sorted(f for f in self.files if f.startswith(name + "/"))
            rows = [f"- [{f.removeprefix(name + '/')}]({self.link(name + '/x', f.removeprefix(name + '/'), here)})" for f in inside]
            self.write(here, f"# {name}\n\n" + "\n".join(rows) + "\n")


def title_of(path):
    return next(line for line in path.read_text().splitlines() if line.startswith("# ")).removeprefix("# ")


def man_page(site):
    done = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=98n", str(ROOT / "docs/restride.1")],
                          capture_output=True, text=True, check=True)
    text = re.sub(r"\n{3,}", "\n\n", done.stdout.strip())
    site.write("reference/command.md", f"# The command's manual\n\n`man restride` says the same.\n\n```text\n{text}\n```\n")


def write_pages_of_the_command(site, restride):
    env = {**os.environ, "RESTRIDE_MACHINE": "", "CUDA_VISIBLE_DEVICES": ""}
    for name, (_, args) in WRITTEN.items():
        path = site.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([restride, *args, "--html", str(path)], cwd=ROOT, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"restride {' '.join(args)}: {done.stderr}")


def written_list(site, folder, words):
    """A list of pages that the command writes, as a page."""
    rows = [f"- [{title}]({posixpath.basename(name)})\n" for name, (title, _) in WRITTEN.items() if posixpath.dirname(name) == folder]
    site.write(f"{folder}/index.md", words + "\n" + "".join(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--restride", help="the command, which writes the pages of results and the lab")
    parser.add_argument("--doxygen-xml", help="what Doxygen made of the headers")
    args = parser.parse_args()
    site = Site(args.out)
    shutil.rmtree(site.out, ignore_errors=True)
    site.out.mkdir(parents=True)

    families = sorted(f for f in site.files if re.fullmatch(r"src/(cpu|cuda)/\w+/README\.md", f))
    pages = [name for name in PAGES if name.endswith(".md")] + families
    pages += sorted(f for f in site.files if f.startswith("docs/") and f.endswith(".md") and f not in PAGES)
    sections = (HERE / "mkdocs.yml").read_text()
    for name in pages:
        site.page(name)
        if name.startswith("docs/") and not re.search(rf"[\[ ]{re.escape(site.place(name))}[,\]]", sections):
            raise SystemExit(f"{name} is in no section of scripts/site/mkdocs.yml: list it there, under nav")
    for name in sorted(f for f in site.files if re.fullmatch(r"src/(cpu|cuda)/\w+/\w+\.svg", f)):
        place = site.out / site.place(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place)

    man_page(site)
    references = reference.python_pages(ROOT)
    if args.doxygen_xml:
        references.update(reference.header_pages(args.doxygen_xml, ROOT))
    for place, text in references.items():
        site.write(place, site.rewritten("docs/x", text, place))
    if args.restride:
        write_pages_of_the_command(site, args.restride)
        written_list(site, "results", "# Results as pages\n\nMade by `restride bench --from` of the committed result files: who "
                     "wins which layout, the worst first, noise, and the JSON of each.\n")
        written_list(site, "drawn", "# Copies, drawn\n\nMade by `restride explain --html`, for the model of a GPU and for the CPU "
                     "that built this site. The command draws any copy, also of your files.\n")
        lab = site.out / "lab.md"
        lab.write_text(lab.read_text().replace("\n\n", "\n\n[The ladder as a page, with each rung's drawing](lab-ladder.html).\n\n", 1))
    done = set()
    while site.wanted:
        name = site.wanted.pop()
        if name not in done:
            done.add(name)
            site.show(name)

    shutil.copytree(HERE / "assets", site.out / "assets")
    nav = (HERE / "mkdocs.yml").read_text()
    titles = sorted((title_of(site.out / p), p) for p in references)
    titles = [t for t in titles if t[0].startswith("C++")] + [t for t in titles if not t[0].startswith("C++")]
    listed = "\n".join(f"      - \"{title}\": {place}" for title, place in titles + [("The command", "reference/command.md")])
    nav = nav.replace(" REFERENCE", "\n" + listed)
    how = ["architecture.md", site.place("src/distributed/README.md")] + (["drawn/index.md"] if args.restride else [])
    how += ["{%s: [%s]}" % (title, ", ".join(site.place(f) for f in families if f.startswith(f"src/{engine}/")))
            for engine, title in (("cpu", "Families on CPUs"), ("cuda", "Families on GPUs"))]
    nav = nav.replace(" HOW", " [" + ", ".join(how) + "]").replace(", RESULTS", ", results/index.md" if args.restride else "")
    nav = nav.replace("../../build/docs/", "").replace("[HOOKS]", f"[{HERE / 'hooks.py'}]")
    (site.out.parent / "mkdocs.yml").write_text(nav)
    print(f"site: {len(list(site.out.rglob('*.md')))} pages")


if __name__ == "__main__":
    sys.exit(main())
