"""The site's documents: Markdown and text below one folder, cut into sections, found by full-text search (SQLite FTS5).

The index is made in memory of the files as they are, and made anew when one of them changes.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from data.errors import CannotKnow

log = logging.getLogger(__name__)

ENDINGS = (".md", ".markdown", ".txt")
MOST_FILES = 500
MOST_FILE_BYTES = 1_000_000
_MOST_WORDS = 12
_EXCERPT_WORDS = 64
_WORD = re.compile(r"\w{2,40}")
# Words of questions, that stand in every document.
_COMMON = frozenset(
    [
        "about",
        "and",
        "are",
        "can",
        "cannot",
        "do",
        "does",
        "for",
        "from",
        "get",
        "has",
        "have",
        "how",
        "in",
        "is",
        "it",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "tell",
        "that",
        "the",
        "there",
        "this",
        "to",
        "use",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, slots=True)
class Section:
    """`file` is the path below the folder, `heading` the headings that lead to it, `line` where it begins (1 = top)."""

    file: str
    heading: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that holds the words, with an excerpt of its own words around them."""

    section: Section
    excerpt: str


class Documents:
    """The sections of a folder and their index. Safe for several threads. `left_out` counts files beyond the bounds."""

    def __init__(self, sections: Sequence[Section], left_out: int = 0) -> None:
        self.sections = tuple(sections)
        self.left_out = left_out
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE section USING fts5(heading, text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = ((place, one.heading, one.text) for place, one in enumerate(self.sections))
        self._index.executemany("INSERT INTO section(rowid, heading, text) VALUES (?, ?, ?)", rows)

    @property
    def files(self) -> int:
        return len({one.file for one in self.sections})

    def search(self, words: str, most: int) -> tuple[Hit, ...]:
        """The sections that hold the words, the most fitting first: all of the words where any section has them, else
        some."""
        terms = _terms(words)
        for joined in (" AND ", " OR ") if terms else ():
            found = self._found(joined.join(f'"{term}"' for term in terms), most)
            if found:
                return found
        return ()

    def _found(self, match: str, most: int) -> tuple[Hit, ...]:
        query = (
            f"SELECT rowid, snippet(section, 1, '', '', '…', {_EXCERPT_WORDS}) FROM section WHERE section MATCH ? "
            "ORDER BY bm25(section, 4.0, 1.0), rowid LIMIT ?"
        )
        with self._lock:
            rows = self._index.execute(query, (match, most)).fetchall()
        return tuple(Hit(self.sections[place], excerpt) for place, excerpt in rows)


def signature(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells whether any document changed: path, time of change and size of each. Raises CannotKnow."""
    try:
        return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in _files(folder))
    except OSError as err:
        raise CannotKnow(
            f"chat.documents: {folder} cannot be read: {err.strerror or err}", hint="See the setting chat.documents."
        ) from err


def read_documents(folder: Path) -> Documents:
    """All documents below a folder. A file that cannot be read is left out and counted. Raises CannotKnow."""
    paths = [Path(path) for path, _, _ in signature(folder)]
    sections: list[Section] = []
    left_out = max(0, len(paths) - MOST_FILES)
    for path in paths[:MOST_FILES]:
        text = _text_of(path)
        if text is None:
            left_out += 1
            continue
        name = path.relative_to(folder.resolve()).as_posix()
        sections += _sections(name, text, is_markdown=path.suffix.lower() != ".txt")
    return Documents(sections, left_out)


def _files(folder: Path) -> Iterator[Path]:
    """Documents below the folder, hidden ones and those outside of it (by a link) left out, in the order of names."""
    root = folder.resolve(strict=True)
    for path in sorted(root.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        is_inside = path.resolve().is_relative_to(root)
        if path.suffix.lower() in ENDINGS and not is_hidden and is_inside and path.is_file():
            yield path


def _text_of(path: Path) -> str | None:
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            log.warning("%s is longer than %d bytes and is left out of the documents", path, MOST_FILE_BYTES)
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as err:
        log.warning("%s cannot be read and is left out of the documents: %s", path, err)
        return None


def _sections(file: str, text: str, *, is_markdown: bool) -> Iterator[Section]:
    """A section for each heading with what stands below it up to the next; what is before the first, too. A heading
    with nothing below it is none."""
    lines = text.splitlines()
    heads = _headings(text) if is_markdown else []
    begins = [_Heading(0, 0, 0, ""), *heads]
    path: list[tuple[int, str]] = []
    for head, end in zip(begins, [*(one.begin for one in heads), len(lines)], strict=True):
        if head.level:
            path = [one for one in path if one[0] < head.level] + [(head.level, head.title)]
        body = "\n".join(lines[head.end : end]).strip()
        if body:
            yield Section(file, " > ".join(name for _, name in path), head.begin + 1, body)


@dataclass(frozen=True, slots=True)
class _Heading:
    """Lines [begin, end) of it; level 1 is the highest, 0 = the top of the file."""

    begin: int
    end: int
    level: int
    title: str


def _headings(text: str) -> list[_Heading]:
    """Every heading; a # in a block of code is none."""
    tokens = MarkdownIt().parse(text)
    return [
        _Heading(token.map[0], token.map[1], int(token.tag[1]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.level == 0
    ]


def _terms(words: str) -> list[str]:
    """The words to look for; of a question made of common words alone, these."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(words)))
    rare = [word for word in found if word not in _COMMON]
    return (rare or found)[:_MOST_WORDS]
