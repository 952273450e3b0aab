#!/usr/bin/env python3
"""Checks the documentation against the repository.

check.py ROOT snippets SOURCES   each ```cpp and ```c block stands, but for its indentation, in one of the files that
                                 SOURCES lists, a path a line: those that the build or a test compiles
check.py ROOT links              relative links, their anchors, and paths named in backticks or in headers exist
check.py ROOT entities           what docs/architecture.md says stands in a header does, in three files a question at most
"""
import pathlib
import re
import sys
import textwrap

FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*(\w*)")


def pages(root):
    """Every page of the repository that people read."""
    folders = [root.glob("*.md"), (root / "docs").rglob("*.md"), (root / "examples").rglob("*.md")]
    return sorted(page for folder in folders for page in folder)


def split_page(text):
    """The lines outside of code blocks, as (number, line), and the blocks, as (number, language, lines)."""
    prose, blocks, fence = [], [], None
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence is None and found:
            fence = found.group(2)
            blocks.append((number, found.group(3), []))
        elif fence is not None and found and found.group(2).startswith(fence) and not found.group(3):
            fence = None
        elif fence is not None:
            blocks[-1][2].append(line)
        else:
            prose.append((number, line))
    return prose, blocks


def normal(lines):
    """Lines without common indentation, trailing space and empty lines at both ends."""
    text = textwrap.dedent("\n".join(line.rstrip() for line in lines))
    return text.strip("\n").split("\n")


def stands_in(snippet, lines):
    """Whether a snippet is a run of consecutive lines, all indented by the same amount more."""
    for start in range(len(lines) - len(snippet) + 1):
        if lines[start].strip() == snippet[0].strip() and normal(lines[start:start + len(snippet)]) == snippet:
            return True
    return False


def check_snippets(root, list_file):
    listed = pathlib.Path(list_file).read_text(encoding="utf-8").split("\n")
    files = sorted({pathlib.Path(name) for name in listed if name.endswith((".cpp", ".hpp", ".c"))})
    if not files:
        yield f"{list_file}: lists no source"
    sources = [[line.rstrip() for line in file.read_text(encoding="utf-8").split("\n")] for file in files]
    for page in pages(root):
        for number, language, lines in split_page(page.read_text(encoding="utf-8"))[1]:
            if language not in ("cpp", "c++", "cxx", "c"):
                continue
            if not any(stands_in(normal(lines), source) for source in sources):
                yield f"{page.relative_to(root)}:{number}: no compiled file below examples/ or tests/ has this snippet"


def check_entities(root):
    page = root / "docs" / "architecture.md"
    count = 0
    for number, line in split_page(page.read_text(encoding="utf-8"))[0]:
        named = re.findall(r"`(gsub/[\w/.]+)`(?:[^(`|]*)\(`(\w+)`\)", line)
        paths = re.findall(r"`(gsub/[\w/.]+)`", line)
        count += len(named)
        if len(paths) != len(named):
            yield f"{page.name}:{number}: a header without the entity that stands in it"
        if len(paths) > 3:
            yield f"{page.name}:{number}: more than three files to open"
        for path, entity in named:
            header = root / "include" / path
            if not header.is_file():
                yield f"{page.name}:{number}: there is no include/{path}"
            elif not re.search(rf"\b{entity}\b", re.sub(r"//.*", "", header.read_text(encoding="utf-8"))):
                yield f"{page.name}:{number}: include/{path} has no {entity}"
    if count < 20:
        yield f"{page.name}: names {count} entities"


def anchors(page):
    """Names of a page's headings as code hosts make them."""
    names = set()
    for _, line in split_page(page.read_text(encoding="utf-8"))[0]:
        heading = re.match(r"#+\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
        name = base = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = 0
        while name in names:
            count += 1
            name = f"{base}-{count}"
        names.add(name)
    return names


def check_links(root):
    path = re.compile(r"`((?:include|src|examples|tests|docs|cmake|bench)/[\w./-]*\w)`")
    for page in pages(root):
        for number, line in split_page(page.read_text(encoding="utf-8"))[0]:
            where = f"{page.relative_to(root)}:{number}"
            without_code = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(\s*<?([^)>\s]+)", without_code):
                if re.match(r"[a-z][a-z+.-]*:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                if not file.exists():
                    yield f"{where}: {target} does not exist"
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    yield f"{where}: {name or page.name} has no heading #{anchor}"
            for name in path.findall(line):
                if not (root / name).exists():
                    yield f"{where}: {name} does not exist"
    for folder in ("include", "src"):
        for file in sorted((root / folder).rglob("*.?pp")):
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
                for name in re.findall(r"\b(?:docs/decisions|examples)/[\w./-]*\.(?:md|cpp|hpp)\b", line):
                    if not (root / name).exists():
                        yield f"{file.relative_to(root)}:{number}: {name} does not exist"


def main(arguments):
    if len(arguments) == 3 and arguments[1] == "snippets":
        problems = list(check_snippets(pathlib.Path(arguments[0]), arguments[2]))
    elif len(arguments) == 2 and arguments[1] == "links":
        problems = list(check_links(pathlib.Path(arguments[0])))
    elif len(arguments) == 2 and arguments[1] == "entities":
        problems = list(check_entities(pathlib.Path(arguments[0])))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
