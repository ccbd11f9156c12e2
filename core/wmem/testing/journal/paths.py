"""Tests of paths: any text is a segment, no two paths share a journal, and a prefix is of whole segments."""

from wmem.testing.journal.client import JournalClient, JournalFixtures

__all__ = ["SEGMENTS", "PathsTests"]

SEGMENTS = (
    "a", "A", "ab", "a b", "a ", " a", "a.", ".a", "a/b", "a\\b", "a:b", "a|b", "a,b", "a%2Fb", "a%b", "a_b",
    "a*", "a?", "[a]", "[a", "{a}", "{", "}", "a}b", '"', 'a"b', "'", "a'b", "`", "$a", "${a}", "#a", "~a", "!a",
    "a&b", "a;b", "-a", "(a)", "<a>", "a\u2028b", "é", "e\u0301", "ß", "SS", "\u0131", "\u0130", "日本",
    "👩\u200d👩\u200d👧", "\u202ea", "\ufeffa", "a\u00a0", "..", ".", "...", "/", "//", "\\", "CON", "nul", "0", "00",
    "1", "-1", "1e3", "null", "None", "true", "*", "%", "_", "%_", "x" * 255, "x" * 10_000, "y" * 10_000,
)  # fmt: skip


class PathsTests(JournalFixtures):
    """The text of a segment has no meaning to a journal."""

    def test_every_segment_names_a_journal_of_its_own(self, client: JournalClient) -> None:
        paths = [("agent", segment) for segment in SEGMENTS]
        for number, path in enumerate(paths):
            client.append(path, b"%d" % number)
        assert client.paths() == sorted(paths)
        for number, path in enumerate(paths):
            assert client.paths(path) == [path]
            assert [record.payload for record in client.read(path).records] == [b"%d" % number]

    def test_every_segment_names_a_root_of_its_own(self, client: JournalClient) -> None:
        paths = [(segment, "session") for segment in SEGMENTS]
        for number, path in enumerate(paths):
            client.append(path, b"%d" % number)
        assert client.paths() == sorted(paths)
        for number, path in enumerate(paths):
            assert client.paths(path[:1]) == [path]
            assert [record.payload for record in client.read(path).records] == [b"%d" % number]

    def test_a_deletion_of_one_segment_deletes_no_other(self, client: JournalClient) -> None:
        paths = {("agent", segment, "below") for segment in SEGMENTS}
        for path in paths:
            client.append(path, b"x")
        for path in sorted(paths)[::3]:
            client.delete(path[:2])
            paths.remove(path)
        assert client.paths() == sorted(paths)
        assert all(len(client.read(path).records) == 1 for path in paths)

    def test_segments_are_not_joined_into_others(self, client: JournalClient) -> None:
        paths = [
            ("a", "b", "c"), ("a/b", "c"), ("a", "b/c"), ("a/b/c",), ("a", '"b","c"'), ('a","b', "c"), ("a,b", "c"),
            ("a", "b\\", "c"), ("a\\", "b", "c"), ("a", "b:c"), ("a:b", "c"), ("ab", "c"), ("a", "bc"), ("abc",),
        ]  # fmt: skip
        for number, path in enumerate(paths):
            client.append(path, b"%d" % number)
        assert client.paths() == sorted(paths)
        for number, path in enumerate(paths):
            assert [record.payload for record in client.read(path).records] == [b"%d" % number]

    def test_a_prefix_means_whole_segments(self, client: JournalClient) -> None:
        paths = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "bb"), ("a", "B"), ("a", "b/c"), ("aa",), ("b", "a")]
        for path in paths:
            client.append(path, b"x")
        assert client.paths(()) == sorted(paths)
        assert client.paths(("a",)) == sorted(path for path in paths if path[0] == "a")
        assert client.paths(("a", "b")) == [("a", "b"), ("a", "b", "c")]
        assert client.paths(("a", "b", "c", "d")) == []
        assert client.paths(("c",)) == []

    def test_a_path_is_listed_once_however_much_is_written(self, client: JournalClient) -> None:
        cursors = client.append_many(("a", "b"), *[b"x"] * 5)
        client.compact(("a", "b"), cursors[-1])
        client.append_many(("a", "b"), b"x")
        assert client.paths(("a",)) == [("a", "b")]
