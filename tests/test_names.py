"""Names are the field's words: nothing is named by the old vocabulary, and nothing that acts by a bare participle."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

ROOT = Path(__file__).parent.parent
FOLDERS = ("core/wmem", "langchain_wmem", "llamaindex_wmem", "cookbook")

OLD_WORDS = {
    *("bell", "birth", "caught", "census", "colour", "colours", "cues", "door", "haystack", "larder", "ledger"),
    *("quoting", "shelf", "sought", "told", "upkeep", "whose"),
}
"""No part of any name."""
OLD_FILES = {
    *("account", "calibrate", "candidates", "choose", "columns", "crypto", "cut", "dense", "digest", "embedding"),
    *("entry_room", "forms", "front", "gating", "informative", "languages", "matches", "meaning"),
    *("outcomes", "replies", "reports", "room", "rotation", "scoring", "shown", "shown_rich", "sparse", "stem"),
    *("terms", "text_of", "tries", "turns", "waiting"),
}
"""No module's name: what they hold has the field's word now."""
OLD_NAMES = {
    *("bare", "behind", "beside", "Bulk", "choose", "Colours", "digest", "first_time", "front", "Hits"),
    *("landed", "let_go", "life", "Lines", "Maintained", "meaning", "OtherLife", "passed", "Place", "Recall"),
    *("settle", "shown", "standing", "text_of", "Turns", "Use", "waiting"),
}
"""No function, method or class."""
OLD_PARAMETERS = {
    *("answered", "asked", "been", "begun", "caught", "declared", "done", "found", "given", "held", "kept", "lent"),
    *("let", "life", "made", "meaning", "met", "opened", "said", "sought", "taken", "thought", "told", "wanted"),
    *("whose",),
}
"""No parameter: it is named by what it holds."""

IRREGULAR_PARTICIPLES = {
    *("begun", "bought", "broken", "brought", "built", "caught", "chosen", "dealt", "done", "drawn", "driven"),
    *("felt", "forgotten", "found", "frozen", "given", "gone", "got", "grown", "heard", "held", "hidden", "kept"),
    *("known", "laid", "led", "left", "lent", "lost", "made", "meant", "met", "paid", "said", "seen", "sent"),
    *("shown", "sought", "spent", "spoken", "stolen", "struck", "swept", "taken", "taught", "thought", "thrown"),
    *("told", "torn", "undone", "unwritten", "won", "worn", "written"),
}
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
PUBLIC_ADJECTIVES = {"balanced", "expired", "forgotten", "promoted"}
"""Lists of items, and a profile, that are named so in the source documents."""
FRAMEWORK_METHODS = {f"{before}structured_predict" for before in ("", "a", "stream_", "astream_")}
"""Methods of LlamaIndex's models, which a model has to have."""
NOUNS = {"derived"}
"""The field's word for data that is computed from other data, and can be again."""

Kind: TypeAlias = Literal["file", "class", "function", "parameter"]


class Name(NamedTuple):
    """One name and where it is given.

    Attributes:
        type: The annotation of a parameter, or of what a function returns; "" for none.
    """

    where: str
    kind: Kind
    name: str
    type: str = ""

    @property
    def bare(self) -> str:
        return self.name.strip("_")

    @property
    def words(self) -> list[str]:
        return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", self.name)]

    def __str__(self) -> str:
        return f"{self.where}: {self.kind} {self.name}"


@cache
def names() -> tuple[Name, ...]:
    """Every name of the library and the cookbook; tests in suites are sentences, and left out."""
    return tuple(
        name
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in (Name(str(path.relative_to(ROOT)), "file", path.stem), *defined(path))
        if not name.name.startswith("test_")
    )


def defined(path: Path) -> Iterator[Name]:
    file = path.relative_to(ROOT)
    for node in nodes(path):
        match node:
            case ast.ClassDef():
                yield Name(f"{file}:{node.lineno}", "class", node.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Name(f"{file}:{node.lineno}", "function", node.name, unparsed(node.returns))
            case ast.arg():
                yield Name(f"{file}:{node.lineno}", "parameter", node.arg, unparsed(node.annotation))


@cache
def nodes(path: Path) -> tuple[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.arg, ...]:
    """What has a name in a file."""
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.arg
    return tuple(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


def unparsed(annotation: ast.expr | None) -> str:
    return "" if annotation is None else ast.unparse(annotation)


def is_participle(word: str) -> bool:
    return word in IRREGULAR_PARTICIPLES or (
        len(word) > 3 and word.endswith("ed") and word not in NO_PARTICIPLES | NOUNS
    )


def test_no_name_has_a_word_of_the_old_vocabulary() -> None:
    assert [str(name) for name in names() if not OLD_WORDS.isdisjoint(name.words)] == []


def test_no_file_has_its_old_name() -> None:
    assert [str(name) for name in names() if name.kind == "file" and name.bare in OLD_FILES] == []


def test_no_function_and_no_class_has_its_old_name() -> None:
    assert [str(name) for name in names() if name.kind in ("class", "function") and name.bare in OLD_NAMES] == []


def test_a_parameter_is_named_by_what_it_holds() -> None:
    assert [str(name) for name in names() if name.kind == "parameter" and name.bare in OLD_PARAMETERS] == []


def test_no_file_and_no_function_but_a_claim_is_named_by_a_participle() -> None:
    assert [
        str(name)
        for name in names()
        if name.kind in ("file", "function")
        and name.bare not in PUBLIC_ADJECTIVES | FRAMEWORK_METHODS
        and name.type != "bool"
        and is_participle(name.words[0] if name.words else "")
    ] == []


def test_the_rule_knows_participles_from_verbs_and_claims() -> None:
    assert [
        word for word in ("kept", "stored", "need", "embed", "seed", "read", "put", "met") if is_participle(word)
    ] == [
        "kept",
        "stored",
        "met",
    ]


def test_every_argument_that_a_docstring_describes_is_there() -> None:
    wrong = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in nodes(path):
                if not isinstance(node, ast.arg) and ast.get_docstring(node, clean=False) is not None:
                    wrong += [
                        f"{path.relative_to(ROOT)}: {node.name}({name})" for name in described(node) - takes(node)
                    ]
    assert wrong == []


def described(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names under `Args:` in a docstring."""
    _, _, section = (ast.get_docstring(node) or "").partition("Args:\n")
    section = re.split(r"^\w", section, maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r"^    \*{0,2}(\w+):", section, flags=re.MULTILINE))


def takes(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """What a function takes; of a class, also its fields."""
    fields = [each.target for each in getattr(node, "body", []) if isinstance(each, ast.AnnAssign)]
    return {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} | {ast.unparse(each) for each in fields}
