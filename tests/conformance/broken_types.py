"""Memory types that break a promise each, by the test of the suite that states it."""

from collections.abc import Mapping, Sequence

from tests.external_types import SqliteNotes
from wmem import Capacity, Filters, Forgotten, ItemDraft, Memorized, Remembered, Summary
from wmem.model.filters import NO_FILTERS


class KeepsWhatIsForgotten(SqliteNotes):
    def forget(self, ids: Sequence[str], /) -> Forgotten:
        items, tokens, *_ = self.capacity()
        known = [each.item.id for each in self.remember("", limit=99)]
        gone = tuple(id for id in ids if id in known)
        return Forgotten(gone, items - len(gone), tokens)


class ForgetsWhatIsUnknown(SqliteNotes):
    def forget(self, ids: Sequence[str], /) -> Forgotten:
        return super().forget(ids)._replace(ids=tuple(ids))


class IgnoresFilters(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        return super().remember(query, limit=limit)


class FiltersTheBestAlone(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        return [each for each in super().remember(query, limit=limit) if filters.accepts(each.item)]


class IgnoresTheLimit(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        return super().remember(query, filters=filters, limit=99)


class OldestFirst(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        found = super().remember(query, filters=filters, limit=99)
        return (found if query.strip() else found[::-1])[:limit]


class WorstFirst(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        found = super().remember(query, filters=filters, limit=99)
        return (found[::-1] if query.strip() else found)[:limit]


class ScoresAreNoNumbers(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        found = super().remember(query, filters=filters, limit=limit)
        return [each._replace(score=float("nan")) for each in found]


class TrimsTexts(SqliteNotes):
    def memorize(self, draft: ItemDraft, /) -> Memorized:
        return super().memorize(ItemDraft(draft.content[:999].replace("\n", " "), fields=draft.fields))


class LosesFields(SqliteNotes):
    def memorize(self, draft: ItemDraft, /) -> Memorized:
        return super().memorize(ItemDraft(draft.content))


class CountsTheLastItemTwice(SqliteNotes):
    def memorize(self, draft: ItemDraft, /) -> Memorized:
        reply = super().memorize(draft)
        return reply._replace(items=reply.items + 1)


class NeverCounts(SqliteNotes):
    def capacity(self) -> Capacity:
        return Capacity(0, 0)


class SummarizesAll(SqliteNotes):
    def summarize(self, token_limit: int = 256, /) -> Summary:
        items = [each.item for each in self.remember("", limit=99)]
        text = "\n".join(item.content for item in items)
        return Summary(text, min(token_limit, len(text)), tuple(item.id for item in items))


class SummarizesWhatIsForgotten(SqliteNotes):
    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    def memorize(self, draft: ItemDraft, /) -> Memorized:
        reply = super().memorize(draft)
        self.texts[reply.item.id] = draft.content
        return reply

    def summarize(self, token_limit: int = 256, /) -> Summary:
        text = "\n".join(self.texts.values()) if token_limit >= 200 else ""
        return Summary(text, len(text.split()), tuple(self.texts))


class ForgetsWhatItRemembers(SqliteNotes):
    def remember(self, query: str, /, *, filters: Filters = NO_FILTERS, limit: int = 10) -> Sequence[Remembered]:
        found = super().remember(query, filters=filters, limit=limit)
        if query.strip():
            self.forget([each.item.id for each in found[-1:]])
        return found


class HasNoName(SqliteNotes):
    name = " "


BROKEN: Mapping[type[SqliteNotes], str] = {
    KeepsWhatIsForgotten: "test_what_is_forgotten_is_not_remembered_and_no_longer_counted",
    ForgetsWhatIsUnknown: "test_forgetting_again_or_nothing_forgets_nothing",
    IgnoresFilters: "test_what_does_not_pass_the_filters_is_not_remembered[sync-parcel]",
    FiltersTheBestAlone: "test_what_does_not_pass_the_filters_is_not_remembered[sync-]",
    IgnoresTheLimit: "test_no_more_come_than_are_asked_for",
    OldestFirst: "test_a_blank_query_asks_for_the_newest_first[sync-]",
    WorstFirst: "test_the_best_come_first_and_scores_are_numbers",
    ScoresAreNoNumbers: "test_the_best_come_first_and_scores_are_numbers",
    TrimsTexts: "test_a_text_comes_back_as_it_was[sync-one\\ntwo\\r\\n\\ttabs]",
    LosesFields: "test_a_reply_has_the_item_as_it_was_drafted",
    CountsTheLastItemTwice: "test_replies_count_what_is_held",
    NeverCounts: "test_replies_count_what_is_held",
    SummarizesAll: "test_a_summary_keeps_its_limit_and_names_items_that_are_there[sync-8]",
    SummarizesWhatIsForgotten: "test_a_summary_has_nothing_of_what_was_forgotten",
    ForgetsWhatItRemembers: "test_remembering_changes_nothing",
    HasNoName: "test_a_type_has_a_name_and_fulfils_the_protocol",
}
"""By broken type, the test that states what it breaks."""
