"""A headless browser that opens pages: what it says on its console, what it asks the network for, what the DOM holds.

Chromium by its command line alone: --dump-dom prints the document when it is loaded, --log-net-log lists every request.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

AXE_MARK = "axe-result"

# What Chromium asks for by itself, whatever the page. A page that asked there would be stopped by its own policy, which
# says so on the console.
OF_THE_BROWSER = re.compile(r"https?://([a-z0-9.-]+\.)?(google|googleapis|gvt1|gstatic)\.com[/:]")


def find():
    """The browser, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


def why_not():
    """Why no page can be opened; empty where one can."""
    browser = find()
    if browser is None:
        return "there is no chromium (Debian: apt-get install chromium)"
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text("<p>it runs</p>")
        try:
            done = run(page, folder)
        except subprocess.TimeoutExpired:
            return f"{browser} does not end here"
    return "" if "it runs" in done.stdout else f"{browser} does not run here: {done.stderr[-300:]}"


def run(page, folder, *options):
    return subprocess.run(
        [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter,Translate", "--disable-sync", "--disable-extensions",
         "--enable-logging=stderr", "--v=0", f"--user-data-dir={folder}/profile", "--dump-dom", *options, f"file://{page}"],
        capture_output=True, text=True, timeout=600, env={**os.environ, "HOME": str(folder)})


class Document(html.parser.HTMLParser):
    """The DOM as far as tests ask: elements in order with their attributes and text."""

    EMPTY = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in self.EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append({"tag": tag, "text": "", **dict(attributes)})

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def having(self, attribute, value=None):
        return [e for e in self.elements if attribute in e and (value is None or e[attribute] == value)]

    def figure(self, name):
        """The text of the one figure of that name, or of the first of several."""
        return self.having("data-figure", name)[0]["text"]


class Visit:
    """A page as the browser loaded it."""

    def __init__(self, page):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "net.json"
            done = run(pathlib.Path(page).resolve(), folder, f"--log-net-log={log}", "--net-log-capture-mode=Everything")
            assert done.returncode == 0, done.stderr[-2000:]
            text = log.read_text()
        self.dom = Document(done.stdout)
        self.console = re.findall(r"CONSOLE[^\n]*", done.stderr)
        # A browser that is killed may leave the list's end out.
        asked = set(re.findall(r'"url":"((?:https?|wss?|ftp):[^"]*)"', text))
        self.requests = sorted(url for url in asked if not OF_THE_BROWSER.match(url))


def run_copy(page, text, folder, in_place, budget_ms=60000):
    """Loads a page with another text."""
    copy = (pathlib.Path(page).resolve().parent if in_place else pathlib.Path(folder)) / f"copy-{os.getpid()}.html"
    copy.write_text(text)
    try:
        return run(copy, folder, f"--virtual-time-budget={budget_ms}", "--window-size=1400,1000")
    finally:
        copy.unlink()


def searched(page, words):
    """The DOM of a page of the site after `words` were typed into its search."""
    typing = (f"setTimeout(() => {{ const field = document.querySelector('[data-md-component=search-query]'); field.focus(); "
              f"field.value = {json.dumps(words)}; field.dispatchEvent(new Event('keyup', {{bubbles: true}})); "
              "field.dispatchEvent(new Event('input', {bubbles: true})); }, 3000);")
    text = pathlib.Path(page).read_text().replace("</body>", f"<script>{typing}</script></body>")
    with tempfile.TemporaryDirectory() as folder:
        return Document(run_copy(page, text, folder, True, 20000).stdout)


def axe(page, script, dark=False, in_place=False):
    """What axe-core finds: [(impact, rule, element)]. `script` is its text; it runs in a copy of the page, which lies
    beside the page where that is one of a site with files of its own (`in_place`)."""
    text = pathlib.Path(page).read_text()
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    if dark:
        text = text.replace("(prefers-color-scheme:dark)", "all").replace('data-md-color-scheme="default"', 'data-md-color-scheme="slate"')
        text = re.sub(r'(data-md-color-media="\(prefers-color-scheme: )light', r"\1none", text)
    run_it = (f"axe.run(document, {{resultTypes: ['violations']}}).then(r => {{ const p = document.createElement('pre'); "
              f"p.id = '{AXE_MARK}'; p.textContent = JSON.stringify(r.violations.flatMap(v => v.nodes.map(n => "
              "[n.impact, v.id, n.html.slice(0, 200)]))); document.body.append(p); });")
    with tempfile.TemporaryDirectory() as folder:
        done = run_copy(page, text.replace("</body>", f"<script>{script}</script><script>{run_it}</script></body>"), folder, in_place)
    found = Document(done.stdout).having("id", AXE_MARK)
    assert found, f"axe did not end: {done.stderr[-1000:]}"
    return json.loads(found[0]["text"])
