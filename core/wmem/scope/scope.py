"""A scope: an isolated container with a path, and its facets."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

from wmem.flow import Flow, run
from wmem.model.context import Context, ProviderProfile
from wmem.model.prompt import Roles
from wmem.model.recall_profile import Scoring
from wmem.model.results import Erased, MergeCount, RecallHit, RecallKind
from wmem.model.sendable import to_sendable
from wmem.pack.request import NoteRole, Orphans, PackOptions, PromptCounter, Reasoning
from wmem.policy import Policy
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.documents import export_document, import_document
from wmem.scope.entries.face import Entries
from wmem.scope.erasure import clear, dispose, erase
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import check_sync_on_flush
from wmem.scope.items.face import Items
from wmem.scope.merge import merge_at_exit, merge_to_parent
from wmem.scope.messages.face import Messages
from wmem.scope.messages.flows import MessageInput
from wmem.scope.packing import pack_scope
from wmem.scope.ports import PortPair
from wmem.scope.profile_choice import use_profile
from wmem.scope.properties import LEASE_S, ScopeProperties
from wmem.scope.queue.face import Queue
from wmem.scope.recall import recall
from wmem.scope.stats import ScopeStats, scope_stats
from wmem.scope.summaries.rolling import SessionSummary, summarize_session
from wmem.scope.trace import end_turn_with
from wmem.scope.view import ScopeView, take_view

if TYPE_CHECKING:
    from wmem.scope.async_scope import AsyncScope

R = TypeVar("R")


class Scope(ScopeProperties):
    """An isolated container; reads of entries fall back to its parents, writes stay in it.

    Attributes:
        entries: Values by key.
        items: Session memories.
        queue: The same items as a bounded queue.
        messages: The conversation.
    """

    __slots__ = ("entries", "items", "messages", "queue")

    def __init__(self, handle: Handle, ports: PortPair) -> None:
        super().__init__(handle, ports)
        check_sync_on_flush(handle.policy)  # sync only
        if handle.settings.embedding is not None:  # sync only
            handle.settings.embedding.check_sync()
        if handle.settings.summarizer is not None:  # sync only
            handle.settings.summarizer.guard.check_sync()
        self.entries = Entries(handle, self._drive)
        self.items = Items(handle, self._drive)
        self.queue = Queue(handle, self._drive)
        self.messages = Messages(handle, self._drive)

    def _drive(self, flow: Flow[R]) -> R:  # async: def _drive(self, flow: Flow[R]) -> Awaitable[R]:
        return run(flow, self._ports.sync)  # async: return arun(flow, self._ports.aio)

    def aio(self) -> "AsyncScope":
        """The async twin of this scope."""  # async: The sync twin of this scope.
        from wmem.scope.async_scope import AsyncScope

        return AsyncScope(self._handle, self._ports)

    def exists(self) -> bool:
        """Whether this scope, or one below it, was written and is not disposed; nothing is created by asking.

        An empty scope may exist: one that was cleared keeps its policy. Where a store drops what has expired, a scope
        in which nothing else was does not exist any more.
        """
        return self._drive(self._handle.exists())

    @property
    def semantic(self) -> "Scope":
        """The long-term memory of knowledge that lies here: a user's, whose scope sessions name in `Policy.long_term`.

        What maintenance merged or evicted of it comes back by its `items.undelete`. The agent's own memory is
        `AgentMemory.semantic`; what a session promotes that names another scope is not here, but there.

        Raises:
            FeatureNotEnabledError: The memory was opened without long-term memory.
            InvalidInputError: This is part of a long-term memory itself.
        """
        return Scope(self._long_term_handle(SEMANTIC), self._ports)

    @property
    def episodic(self) -> "Scope":
        """The long-term memory of experience that lies here; see `semantic`."""
        return Scope(self._long_term_handle(EPISODIC), self._ports)

    def child(self, name: str, policy: Policy | None = None, *, create: bool = True) -> "Scope":
        """The scope of that name below this one; it exists from its first write.

        Args:
            policy: For a scope that does not exist yet; of one that does it must be the same.
            create: See `AgentMemory.scope`.

        Raises:
            InvalidInputError: A name that is blank, reserved or holds control characters.
            DisposedError: This scope was disposed.
        """  # async: See `Scope.child`; it does no IO, so it is not awaited.
        return Scope(self._child_handle(name, policy, create=create), self._ports)

    @contextmanager
    def temporary(
        self,
        name: str,
        merge: bool = False,  # noqa: FBT001, FBT002  # reads well
        *,
        lease_s: float | None = LEASE_S,
    ) -> Iterator["Scope"]:
        """A child with a unique name, disposed at exit; see `dispose` for what may stay in files until maintenance.

        Args:
            merge: Merge its entries and items into this scope first, on a clean exit only;
                a child that cannot be merged is not disposed and has no lease any more, so its
                work is not lost.
            lease_s: Seconds after the last write to the child, or to a scope below it, when
                `AgentMemory.maintain` of any process disposes it: its own process may have died.
                Every write renews the lease, a read does not. None: never.
        """
        scope = Scope(self._temporary_handle(name, lease_s), self._ports)
        try:
            yield scope
        except BaseException:
            if not scope.is_disposed:
                scope.dispose(purge=False)  # await
            raise
        if merge:
            scope._drive(merge_at_exit(scope._handle))  # await
        if not scope.is_disposed:
            scope.dispose(purge=False)  # await

    def children(self) -> list[str]:
        """The names of the live scopes directly below, sorted."""
        return self._drive(self._handle.children())

    def merge_to_parent(self, overwrite: bool = True, items: bool = False) -> MergeCount:  # noqa: FBT001, FBT002  # as `temporary`
        """Copy the local entries into the parent, atomically and once.

        Items keep their ids, unless the parent has something else under one: then both stay, the
        copy under another id. A later merge brings a copy up to date, and an erasure follows it.
        Messages are not merged.

        Args:
            overwrite: Replace the parent's entries under the same keys.
            items: Copy the plain items too.

        Returns:
            How many were merged; 0 when the parent has merged this point of the history already.
            It also says what was `overwritten` and `renamed`.
        """
        return self._drive(merge_to_parent(self._handle, overwrite=overwrite, items=items))

    def dispose(self, *, purge: bool = True) -> int:
        """Delete this scope and all its descendants; a new one may be created under its name.

        Args:
            purge: Also remove its bytes from the store's files, which may rewrite them. `temporary`
                passes false, as suits the scopes of many short tasks: then `AgentMemory.maintain`
                or the next erasure purges them.

        Returns:
            How many entries were deleted; 0, with a warning in the log, when it was disposed already.
        """
        return self._drive(dispose(self._handle, purge=purge))

    def clear(self) -> int:
        """Delete all entries, items and messages; the scope, its parents and its children stay.

        Their bytes leave the store too, as far as it allows; what may still keep some is logged,
        and returned by `erase` without ids.

        Returns:
            How many of them were visible.
        """
        return self._drive(clear(self._handle, "all"))

    def erase(self, *ids: str) -> Erased:
        """Erase by id, for good, so that nothing of the content is left in the store.

        Copies are erased too: in long-term memory, in the parents it was merged into, and in
        the scopes it was merged from. The ids stay as tombstones without content.
        Without ids, it purges the bytes of what was removed from this scope before.

        Returns:
            What was erased, and what outside of wmem's control may still keep bytes of it.
        """
        return self._drive(erase(self._handle, ids))

    def export(self, *, redacted: bool = False) -> dict[str, Any]:
        """Everything the scope holds as plain JSON, including the expired and soft-deleted; for `import_`.

        Its policy, the ids of what was erased, which merges it has had, why items were evicted, expired or
        promoted, and which turns ended last are in it too. Its children are not.

        Args:
            redacted: For others' eyes: the memory's redaction goes over all texts and values; ids, keys and names of
                scopes stay. Else it is verbatim.

        Raises:
            InvalidInputError: It is to be redacted, and the memory was opened with `Redaction.off`.
        """
        return self._drive(self._handle.read(export_document(self._handle, redacted=redacted), local_only=True))

    def import_(self, document: Mapping[str, Any]) -> int:
        """Store a document made by `export`, here or elsewhere, all or nothing.

        A scope that does not exist yet becomes as the exported one was. It follows the document's
        policy, unless it was asked for with another, or is long-term memory. In one that exists, what
        the document has is added; what has the same id, or for an entry the same key, is replaced as
        a whole. An imported item is no copy of what it was exported from: each is promoted, merged
        and erased by itself.

        Returns:
            How many entries, items and messages were stored.

        Raises:
            InvalidInputError: It is not such a document, or of a newer version.
            CapacityError: There is no room for its items.
        """
        return self._drive(import_document(self._handle, document))

    def use_profile(self, scoring: Scoring) -> Policy:
        """Rank recall in this scope by another profile from now on, for everyone who opens it.

        The change is stored until the scope is disposed; child scopes have their own profile.
        A named profile may change with the version of wmem, coefficients do not.

        Args:
            scoring: ``evidence``, ``balanced``, or coefficients, such as `propose_profile` proposes.

        Returns:
            The scope's policy now. If the profile was in use already, nothing is written.

        Raises:
            InvalidInputError: There is no such profile, or one of its coefficients is out of range.
            DisposedError: This scope was disposed.
        """
        return self._drive(use_profile(self._handle, scoring))

    def stats(self) -> ScopeStats:
        """Counts and sizes of this scope alone."""
        return self._drive(scope_stats(self._handle))

    def view(self) -> ScopeView:
        """A frozen view of the scope and its parents as of now, on which repeated reads agree."""
        return self._drive(take_view(self._handle))

    def end_turn(self, turn_id: str, *contexts: Context) -> int:
        """End a turn that no `Turn` ends: the scope's step is one more, once, and its trace tells what happened.

        Adapters do this at the end of a run. Told are the prompts, so that `AgentMemory.replay` finds them, and the
        calls of tools among the newest messages. If the memory has a summarizer, and a prompt told in short what it
        had no room for, the summary of the session is rolled on with that, once it is 16 messages: see `summarize`.

        Args:
            turn_id: The id of the message that began it, or of the turn. See `Queue.advance_step`.
            contexts: The prompts that were packed in it.

        Returns:
            The scope's step.

        Raises:
            InvalidInputError: One of the contexts is of another scope.
        """
        return self._drive(end_turn_with(self._handle, turn_id, contexts))

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Collection[RecallKind] = ("entry", "item", "message"),
        long_term: bool = True,
        redacted: bool = False,
    ) -> list[RecallHit]:
        """What matches a query, best first: the ranked list that `pack` draws on. It counts no access.

        It looks at everything here, and at entries and items of the parents and of long-term memory; with an
        embedder also by meaning. A blank query finds nothing. Of two statements of one speaker that agree
        in subject and differ in value both are found: the newer first, or what held then if the query is
        in the past tense or names a date; `RecallHit.superseded_by` of the older names the newer.

        Args:
            limit: How many at most.
            kinds: Which kinds of things to look for.
            long_term: Look in long-term memory, too; see `pack`.
            redacted: The memory's redaction goes over the texts, also over those of the session itself.

        Raises:
            InvalidInputError: Anything out of range; or `redacted`, and the memory was opened with `Redaction.off`.
        """
        return self._drive(
            recall(self._handle, query, limit=limit, kinds=kinds, long_term=long_term, redacted=redacted)
        )

    def summarize(self, max_tokens: int | None = None, *, keep: int = 0) -> SessionSummary:
        """Sum up the conversation in an item of type ``summary``, or roll the one there is; messages stay as they are.

        With a summarizer (`wmem.open`) it writes the summary, else it is made of the sentences that tell most. The item
        names the messages that it covers in its `sources`, and `pack` uses it for these. Where nothing came, nothing
        is made; where the summarizer fails, or says what is no summary, nothing is stored and the next call tries
        again. Of a conversation above 2,048 messages there are several.

        Args:
            max_tokens: Most tokens of the summary; by default 0.8 of what it covers, with a summarizer 1,024. It never
                takes more than what it covers.
            keep: How many of the newest messages are left for a later round. Results stay with their calls.

        Raises:
            InvalidInputError: A number is out of range.
            FeatureNotEnabledError: The memory may not use summaries.
        """
        return self._drive(summarize_session(self._handle, max_tokens, keep))

    def pack(
        self,
        query: str | None = None,
        *,
        budget: int,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        reserve: int = 0,
        tail: float = 0.5,
        recent: int = 4,
        profile: ProviderProfile = "any",
        roles: Roles = "free",
        orphans: Orphans = "drop",
        messages: Sequence[MessageInput] | None = None,
        inherit: bool = True,
        long_term: bool = True,
        note_role: NoteRole = "user",
        stable: bool = False,
        summary: bool | int = False,
        scoring: Scoring | None = None,
        prompt_counter: PromptCounter | None = None,
        reasoning: Reasoning = "tools",
        zone: tzinfo | str | None = None,
    ) -> Context:
        """Build the prompt that serves a query best within a token budget; it changes nothing in the scope.

        The system text that the conversation begins with is in every prompt; a session that begins with the
        same again does not repeat it. Later system and developer messages are conversation, and so is the first
        of a series of reminders ("It is turn 0.") behind the system text.

        What the user of this scope asked to be followed from now on, and did not take back, is in every
        prompt, in at most a tenth of the room: see `Policy.standing_requests`. As messages, such
        requests are the scope's own; a child has none of its parent's. Where the room is too small for
        all, those that stand for every question come before those that stand for some ("when I ask …"),
        and these before preferences ("I prefer …"), each as it bears on the query, or newest first. With
        ``tail=0`` preferences are ranked among the other memories.

        With an embedder and a query, missing vectors of texts are stored, in a scope internal to
        wmem that no list, listener or export shows.

        Args:
            query: What to search memory for; None or blank packs by recency alone.
            budget: Most tokens for system text, tools, note, messages and reserve together.
            system: The system text; it is never truncated.
            tools: JSON schemas of the tools, counted.
            reserve: Tokens kept free for the reply.
            tail: The share of the room, 0 to 1, that the newest messages fill before anything is recalled:
                all of them if the conversation fits. The room is the budget without system text, tools,
                reserve and what is pinned. What a query finds moves no message: where it finds little, the
                note quotes the messages before the tail. 0 recalls first, for questions about a long past; 1
                recalls no messages, only items and entries, which have a tenth of the room if there are any.
            recent: How many of the newest messages are kept at least, truncated to a quarter of the
                budget together if need be.
            profile: The provider whose rules the prompt obeys: order of roles, names, ids, images, no
                blank text. What the provider would refuse is changed, in the prompt alone; the rest is
                sent as it is. ``any`` obeys OpenAI, Anthropic, Gemini, Mistral and Bedrock at once, but sends
                blocks that one provider alone takes, as ``server_tool_use``, back to where they came from.
                For another provider than that, name it: such blocks are then converted, told as text or
                left out, with a warning.
            roles: ``alternate`` joins the messages of one speaker in a row, as the templates of many
                local models demand.
            orphans: What to do with tool calls without a result: drop, or answer as interrupted.
            messages: A framework's own view of the conversation, for this pack only: stored
                messages are taken in its version, others are inserted at its positions. From its newest
                user message on it is whole: what others stored of this turn, by its `turn_id`, is left out.
            inherit: Recall entries and items of the parents too.
            long_term: Recall entries and items of the agent's long-term memory too, and of the scopes that the
                policy names: see `Policy.long_term`. What was promoted from here is there once. What is pinned
                there, and was not promoted, is in every prompt. Long-term memory that cannot be read is left out.
            note_role: The role of the message that carries recalled memories.
            stable: Start the conversation at the same message for many turns and put the note just
                before the newest user message, so that a provider's prompt cache keeps hitting.
                A cut leaves three quarters of what the conversation may take, which is 7/8 of the
                room with a query. What then stays free costs nothing, and is not filled.
                A system note stays in front where the provider takes system text only there.
            summary: Tokens reserved in the note for a summary of what the budget leaves out:
                its best sentences, verbatim; True for an eighth of the budget.
            scoring: How to rank the hits of the query, by name or as coefficients; None
                uses the policy of the scope.
            prompt_counter: A provider's own token counter of whole prompts; it overrides other counts.
            reasoning: Which messages are sent with their reasoning, as it came: ``"tools"``, those that
                call tools and those in flight, since the newest user message; ``"in-flight"``, only
                the latter; ``"all"``; or ``"none"``. What is not sent costs nothing. DeepSeek refuses
                a call without the reasoning it came with, however old; Anthropic, OpenRouter and most
                others want that of the turn in flight, and ignore or accept older ones.
            zone: The time zone, or its IANA name, in which the days of the note and of a dated query
                are; None uses the policy of the scope, which is UTC if nobody said otherwise.

        Raises:
            InvalidInputError: A budget below 1, or anything else out of range.
            BudgetError: System text, tools, reserve, what is pinned and the turn in flight, cut to a mark of each
                result, exceed the budget; it names the sizes, the largest first, and what is pinned.
        """
        return self._drive(
            pack_scope(
                self._handle,
                query,
                PackOptions(
                    budget=budget,
                    system=to_sendable(system),
                    tools=tools,
                    reserve=reserve,
                    tail=tail,
                    recent=recent,
                    profile=profile,
                    roles=roles,
                    orphans=orphans,
                    note_role=note_role,
                    stable=stable,
                    summary=summary,
                    prompt_counter=prompt_counter,
                    reasoning=reasoning,
                ),
                messages=messages,
                inherit=inherit,
                long_term=long_term,
                scoring=scoring,
                zone=zone,
            )
        )
