"""The reference as Markdown: the headers from Doxygen's XML, the Python package from its sources and stubs."""
import ast
import pathlib
import re
import xml.etree.ElementTree as ET

# Docstrings are paragraphs of labelled sentences; a label begins a line of its own.
LABELS = ("Shape", "Strides", "Memory", "Alias", "Cast", "Stream", "Device", "Errors", "Threads", "Stack", "Cost", "Example",
          "Source", "Returns", "Invariants")
LABEL = re.compile(r"(?:(?<=[.!?)\n`]) +|^|\n)(" + "|".join(LABELS) + r")( of `\w+`)?: ", re.M)
# Files that docstrings name, as links from the repository's docs/.
NAMED = re.compile(r"(?<![\w/`\[(])((?:examples|docs)/[\w./]+\.(?:cc|c|md|py))(?![\w/])")


def labelled(text):
    text = LABEL.sub(lambda m: f"\n\n**{m[1]}{m[2] or ''}**: ", text)
    return NAMED.sub(lambda m: f"[{m[1]}](../{m[1]})", text)


def escaped(text):
    return re.sub(r"([*_<\[\]])", r"\\\1", text)


# ---- Doxygen

def inline(element):
    """An element's text as Markdown."""
    out = [escaped(element.text or "")]
    for child in element:
        tag = child.tag
        if tag == "computeroutput":
            out.append("`" + "".join(child.itertext()).strip("`") + "`")
        elif tag == "linebreak":
            out.append("\n")
        elif tag in ("verbatim", "programlisting"):
            out.append("\n\n" + code(child) + "\n\n")
        elif tag in ("itemizedlist", "orderedlist"):
            out.append("\n\n" + "\n".join("- " + inline(item).strip().replace("\n\n", "\n  ") for item in child) + "\n\n")
        elif tag == "para":
            out.append("\n\n" + inline(child).strip() + "\n\n")
        elif tag == "emphasis":
            out.append("*" + inline(child) + "*")
        elif tag == "bold":
            out.append("**" + inline(child) + "**")
        elif tag in ("ndash", "mdash"):
            out.append("--")
        elif tag == "sp":
            out.append(" ")
        else:
            out.append(inline(child))
        out.append(escaped(child.tail or ""))
    return "".join(out)


def code(element):
    if element.tag == "verbatim":
        text = element.text or ""
    else:
        text = "\n".join("".join(" " if part.tag == "sp" else (part.text or "") for part in line.iter()) + (line.tail or "").strip()
                         for line in element.iter("codeline"))
    return "```cpp\n" + text.strip("\n") + "\n```"


def described(member):
    parts = [inline(member.find(tag)) for tag in ("briefdescription", "detaileddescription", "inbodydescription")
             if member.find(tag) is not None]
    return labelled(re.sub(r"\n{3,}", "\n\n", "\n\n".join(p.strip() for p in parts if p.strip())))


def text_of(element, tag):
    found = element.find(tag)
    return "" if found is None else "".join(found.itertext())


def declaration(member):
    kind = member.get("kind")
    if kind == "define":
        params = [p.findtext("defname") for p in member.findall("param")]
        return f"#define {member.findtext('name')}" + (f"({', '.join(params)})" if params else "")
    if kind == "enum":
        names = [v.findtext("name") + (" " + text_of(v, "initializer") if v.find("initializer") is not None else "")
                 for v in member.findall("enumvalue")]
        strong = "enum class" if member.get("strong") == "yes" else "enum"
        body = ", ".join(names)
        return f"{strong} {member.findtext('name')} {{ {body} }};" if len(body) < 80 else \
            f"{strong} {member.findtext('name')} {{\n  " + ",\n  ".join(names) + "\n};"
    if kind == "variable":
        value = text_of(member, "initializer")
        name = re.sub(r"[\w:]+::(?=\w+$)", "", member.findtext("definition"))
        text = (name + member.findtext("argsstring") + (" " + value if value else "")) + ";"
    elif kind == "typedef":
        text = member.findtext("definition") + ";"
    else:
        text = member.findtext("definition") + member.findtext("argsstring") + ";"
        if member.get("explicit") == "yes" and "explicit" not in text:
            text = "explicit " + text
    text = re.sub(r"\brestride::(dist::)?(\w+::)?(?=~?\w+\s*\()", "", text).replace("restride::", "")
    return re.sub(r"\s+", " ", text).replace("( ", "(").replace(" *", "* ").replace(" &", "& ").replace(")=default", ") = default").strip()


def enum_values(member):
    rows = [f"| `{v.findtext('name')}` | {described(v).replace(chr(10), ' ') or '-'} |" for v in member.findall("enumvalue")]
    if all(row.endswith("| - |") for row in rows):
        return ""
    return "\n| value | |\n|---|---|\n" + "\n".join(rows) + "\n"


def line_of(element):
    place = element.find("location")
    return int(place.get("line")) if place is not None else 0


def member_text(member, level, seen):
    name = member.findtext("name")
    if not name or name.startswith("@"):
        name = "enum"
    out = [] if name == seen else [f"{'#' * level} `{name}`\n"]
    out.append(f"```cpp\n{declaration(member)}\n```\n")
    out.append(described(member) + "\n")
    if member.get("kind") == "enum":
        out.append(enum_values(member))
    return "\n".join(out)


def class_text(xml, ref):
    compound = ET.parse(xml / f"{ref}.xml").getroot().find("compounddef")
    name = compound.findtext("compoundname").split("::")[-1]
    out = [f"## `{compound.get('kind')} {name}`\n", described(compound) + "\n"]
    members = [m for m in compound.iter("memberdef") if m.get("prot") == "public" and not m.findtext("name").startswith("operator")]
    fields = [m for m in members if m.get("kind") == "variable"]
    if fields:
        out.append("| field | |\n|---|---|")
        for f in sorted(fields, key=line_of):
            out.append(f"| `{declaration(f).removesuffix(';')}` | {described(f).replace(chr(10), ' ').replace('|', '&#124;')} |")
        out.append("")
    seen = None
    for m in sorted((m for m in members if m.get("kind") in ("function", "enum", "typedef")), key=line_of):
        if m.get("kind") == "typedef" and not described(m).strip():
            continue
        out.append(member_text(m, 3, seen))
        seen = m.findtext("name")
    return line_of(compound), "\n".join(out)


def head_comment(path):
    """The comment that a header begins with, as Markdown."""
    text = path.read_text()
    if text.startswith("/*"):
        lines = [line.strip().removeprefix("*").removeprefix(" ") for line in text[2:text.index("*/")].split("\n")]
    else:
        lines = []
        for line in text.split("\n"):
            if not line.startswith("//"):
                break
            lines.append(line[2:].removeprefix(" "))
    out, code_before = [], False
    for line in lines:
        is_code = line.startswith("    ")
        if is_code != code_before:
            out.append("```text" if is_code else "```")
        code_before = is_code
        out.append(line.removeprefix("    ") if is_code else escaped(line))
    return "\n".join(out + (["```"] if code_before else []))


def header_pages(xml, root):
    """Each public header as a page: {place on the site: Markdown}."""
    xml = pathlib.Path(xml)
    pages = {}
    for header in sorted((root / "include/restride").glob("*.h*")):
        if header.name == "restride.hpp":
            continue
        ref = re.sub(r"_", "__", header.name).replace(".", "_8")
        compound = ET.parse(xml / f"{ref}.xml").getroot().find("compounddef")
        parts = [class_text(xml, inner.get("refid")) for inner in compound.findall("innerclass")
                 if "detail" not in inner.text and "Impl" not in inner.text]
        members = [m for m in compound.iter("memberdef")]
        for space in compound.findall("innernamespace"):
            inner = ET.parse(xml / f"{space.get('refid')}.xml").getroot().find("compounddef")
            if "detail" not in inner.findtext("compoundname"):
                members += [m for m in inner.iter("memberdef") if m.find("location").get("file").endswith("/" + header.name)]
        seen, ids = None, set()
        for m in sorted(members, key=line_of):
            name = m.findtext("name")
            if m.get("id") in ids or name.startswith("operator") or "RESTRIDE_RESTRIDE_H" in name or name.endswith("_H"):
                continue
            ids.add(m.get("id"))
            if m.get("kind") == "define" and not described(m).strip() and not name.endswith("_INIT"):
                continue
            parts.append((line_of(m), member_text(m, 2, seen)))
            seen = name
        body = "\n".join(text for _, text in sorted(parts, key=lambda p: p[0]))
        include = f"```{'c' if header.suffix == '.h' else 'cpp'}\n#include <restride/{header.name}>\n```"
        kind = "C" if header.suffix == ".h" else "C++"
        pages[f"reference/{header.name.replace('.', '-')}.md"] = \
            f"# {kind}: {header.name}\n\n{include}\n\n{head_comment(header)}\n\n{body}\n"
    return pages


# ---- Python

def c_docstrings(root):
    """Docstrings of the compiled module: {name: (signature, text)}."""
    out = {}
    for path in sorted((root / "python/src").glob("*.cc")):
        text = path.read_text()
        for raw in re.findall(r'R"\((\w+\(.*?)\)"', text, re.S):
            add_docstring(out, raw)
        # "permute($self, axes, /)\n--\n\n..." in ordinary strings, side by side
        for strings in re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+)', text):
            joined = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings)).encode().decode("unicode_escape")
            if re.match(r"\w+\(.*\)\n--\n\n", joined):
                add_docstring(out, joined)
        for name, words in re.findall(r'\{"(\w+)", \w+, nullptr, ((?:"(?:[^"\\]|\\.)*"\s*)+), nullptr\}', text):
            out[name] = ("", "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', words)))
        for words in re.findall(r"Py_tp_doc, const_cast<char\*>\(((?:\"(?:[^\"\\]|\\.)*\"\s*)+)\)", text):
            name = "Plan" if "plan" in path.name else "Layout"
            out[name] = ("", "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', words)))
    return out


def add_docstring(out, raw):
    signature, _, text = raw.partition("\n--\n\n")
    if text:
        out[signature.split("(")[0]] = (signature.replace("$self, /", "").replace("$self, ", ""), text)


def python_text(text):
    """A docstring as Markdown: examples are code, labels begin a line, indented lines go on."""
    out, in_code = [], False
    for line in text.strip().split("\n"):
        starts = line.startswith((">>>", "..."))
        if starts and not in_code:
            out.append("\n```pycon")
            in_code = True
        elif in_code and not line.strip():
            out.append("```")
            in_code = False
        if in_code:
            out.append(line.replace("  # doctest: +ELLIPSIS", ""))
        elif re.match(r"[\w, *.`]+( before a byte is written)?: ", line) or line.startswith("Raises"):
            name, _, rest = line.partition(": ")
            out.append(f"\n**{name}**: {escaped(rest)}" if rest else "\n" + escaped(line))
        else:
            out.append(escaped(line.strip()))
    if in_code:
        out.append("```")
    return NAMED.sub(lambda m: f"[{m[1]}](../{m[1]})", "\n".join(out))


def python_pages(root):
    compiled = c_docstrings(root)
    pages = {"reference/python.md": module_page(root, "restride", ["_copies.py", "_core.pyi", "_bench.py", "_info.py"], compiled)}
    package = root / "python/restride"
    for path in sorted([*package.glob("[a-z]*.py"), *package.glob("[a-z]*/")]):
        files = sorted(path.glob("*.py")) if path.is_dir() else [path]  # __init__.py, which lists the names, is first
        sources = [str(file.relative_to(package)) for file in files]
        pages[f"reference/python-{path.stem}.md"] = module_page(root, f"restride.{path.stem}", sources, compiled)
    return pages


def module_page(root, module, sources, compiled):
    package = root / "python/restride"
    own = package / ("__init__.py" if module == "restride" else sources[0])
    tree = ast.parse(own.read_text())
    public = next((ast.literal_eval(n.value) for n in tree.body
                   if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id == "__all__"), None)
    out = [f"# Python: {module}\n", python_text(ast.get_docstring(tree) or "") + "\n"]
    for source in sources:
        for node in ast.parse((package / source).read_text()).body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            if public is not None and node.name not in public:
                continue
            out.append(entry(node, f"{module}.{node.name}", compiled, 2))
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                        out.append(entry(member, f"{node.name}.{member.name}", compiled, 3))
    return "\n".join(out) + "\n"


def entry(node, name, compiled, level):
    head = f"{'#' * level} `{name}`\n"
    doc = ast.get_docstring(node) or compiled.get(node.name, ("", ""))[1]
    if isinstance(node, ast.ClassDef):
        return head + "\n" + python_text(doc) + "\n"
    is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if is_property:
        shown = f"{node.name}: {ast.unparse(node.returns)}"
    else:
        arguments = ast.unparse(node.args)
        shown = f"{node.name}({arguments.removeprefix('self, /, ').removeprefix('self, ').removeprefix('self')}){returns}"
        if len(shown) > 90:
            shown = shown.replace(", ", ",\n    ")
    return head + f"\n```python\n{shown}\n```\n\n" + python_text(doc) + "\n"
