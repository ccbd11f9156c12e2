"""Capture: what a thread's state holds is stored in its session once, as it is now, along the path it has taken."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from operator import eq, is_
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_wmem._dedup import (
    MASKED,
    SeenMessages,
    append_new,
    assign_ids,
    assign_turn_ids,
    is_conversation,
    is_summary,
    list_ids,
    lookback,
    mark_unanswered,
    newest_answer_index,
    newest_human_index,
)
from langchain_wmem._lenient_convert import read_leniently
from langchain_wmem._masks import Masks, align_shown
from langchain_wmem._path import Moves, StoredPath
from langchain_wmem._pieces import whole_id
from langchain_wmem._run import Run, find_checkpoints
from wmem import AsyncScope, Message, Scope
from wmem.adapter import LruCache, Steps, TurnPrompts, describe, find_logger
from wmem.errors import InvalidInputError
from wmem.types import Path

_MAX_SESSIONS = 256
_MAX_RUNS = 64  # of one session at one time, that are known to have called a model
_TRIES = 3
_NEWEST = 8  # stored messages that are looked at first for what others stored
_MAX_CHECKPOINTS = 32  # that are looked through for a message of the thread, when its state holds none

_log = find_logger("langchain_wmem")


class _Turn(NamedTuple):
    """A turn that a run began and has not ended: its id and question, and the ids of what was stored of it."""

    id: str | None
    question: str
    ids: list[str]


class _Called:
    """What is known of a run that called a model, until it ends.

    Args:
        siblings: Ids of what others store that run in the same graph at this time.
        is_known: False if another process called the model: what that was not shown is not known.
    """

    def __init__(self, siblings: Sequence[set[str]] = (), *, is_known: bool = True) -> None:
        self.is_known = is_known
        self.masks = Masks()
        self.ids: set[str] = set()
        self.begun: int | None = None  # the place in the session after which all that is not its own is of others
        self._siblings = siblings

    def spares(self, id: str, path: StoredPath) -> bool:
        """Whether a message was stored by others meanwhile, so that its absence from this run's state says nothing."""
        if id in self.ids:
            return False
        return any(id in each for each in self._siblings) or (self.begun is not None and path.is_since(id, self.begun))


class _Session:
    """What is known of one session and one thread: what is stored, the path, and where the newest run is."""

    def __init__(self, stored: Sequence[Message], withdrawn: Sequence[Message], run: Run, *, is_whole: bool) -> None:
        self.seen = SeenMessages([*stored, *withdrawn], is_whole=is_whole)
        self.is_whole = is_whole  # whether the path has all of the session
        self.path = StoredPath(run.thread, stored, withdrawn)
        self.masks: Masks | None = None
        self.calls: LruCache[tuple[object, str], _Called] = LruCache(_MAX_RUNS)
        self.partials: LruCache[str | None, list[str]] = LruCache(_MAX_RUNS)
        """Ids of the parts of answers that were given, by the turn they are of."""
        self.run: Run | None = None
        self.turn: _Turn | None = None

    def begins(self, run: Run, messages: Sequence[BaseMessage]) -> bool:
        """Whether a run is another one than that of the last look, as its place or its question says."""
        if self.run is None or self.turn is None or self.run.key != run.key or self.run.step >= run.step:
            return True
        return bool(messages) and messages[newest_human_index(messages)].id != self.turn.id

    def call(self, run: Run) -> _Called:
        """What is known of a run that calls a model."""
        known = self.calls.get(run.key)
        if known is None:
            beside = [] if run.control is None else self.calls.select(lambda key: key[0] is run.control)
            known = self.calls.put(run.key, _Called([each.ids for each in beside]))
        return known


class Capture:
    """Stores what agents' states hold, and lets each session follow its thread's path.

    Args:
        artifacts: Store the artifacts of tool results that are plain data.
        removed: What becomes of messages that a state took back: withdrawn from the session, or kept in it.

    Raises:
        InvalidInputError: An unknown way.
    """

    def __init__(self, *, artifacts: bool = True, removed: Literal["follow", "keep"] = "follow") -> None:
        if removed not in (known_ways := ("follow", "keep")):
            raise InvalidInputError(f"unknown removed {describe(removed)}; known: {', '.join(known_ways)}")
        self._artifacts = artifacts
        self._withdraws = removed == "follow"
        self.prompts = TurnPrompts()
        """What was packed in turns that have not ended."""
        self._sessions: LruCache[tuple[Path, str | None], _Session] = LruCache(_MAX_SESSIONS)

    def discard(self, matches: Callable[[Path], bool]) -> None:
        """Forget what is known of the sessions whose paths match."""
        self._sessions.discard(lambda key: matches(key[0]))
        self.prompts.discard(lambda path: matches(path[1:]))

    def store(
        self,
        scope: Scope | AsyncScope,
        run: Run,
        messages: Sequence[BaseMessage],
        shown: Sequence[BaseMessage],
        *,
        is_packed: bool = False,
    ) -> Steps[list[Message]]:
        """Store what is new or edited, withdraw what the state took back, and restore what it brought back.

        Args:
            messages: The state's.
            shown: What middleware around ours made of them for this model call.
            is_packed: That was another instance of ours: what it left out is no less said.

        Returns:
            The messages of the call that may not be stored in their current form, or at all: those of this
            turn, and those before it as well unless all of them are stored and unchanged since.
        """
        is_state = len(shown) == len(messages) and all(map(is_, shown, messages))
        messages = assign_ids(messages)
        shown = messages if is_state else assign_ids(shown)
        if not is_packed and not is_state:
            shown = align_shown(messages, shown)
        session = yield from self._open(scope, run, messages)
        called = session.call(run)
        called.masks.learn(messages, messages if is_packed else shown, session.seen, session.masks)
        session.masks = called.masks
        yield from self._store(scope, run, session, messages, called)
        begun = newest_human_index(shown)
        past: Sequence[BaseMessage] = () if is_state else shown[:begun]
        held = {message.id: message for message in messages} if past else {}
        if all(
            (each.id in session.seen and called.masks.is_form(each, held.get(each.id))) or not is_conversation(each)
            for each in past
        ):
            past = ()
        live = [message for message in (*past, *shown[begun:]) if is_conversation(message)]
        return [piece for each in live for piece in read_leniently(each, artifacts=self._artifacts).messages]

    def finish(
        self, scope: Scope | AsyncScope, run: Run, messages: Sequence[BaseMessage], later: Sequence[str]
    ) -> Steps[bool]:
        """Store how a run ended, unless it never came to a model call; returns whether all before its turn is stored.

        Args:
            later: Other middleware that may still change how it ended: then the next run stores it.
        """
        messages = assign_ids(messages)
        session = yield from self._open(scope, run, messages)
        newest = messages[newest_human_index(messages)] if messages else None
        # What was blocked before it reached a model is stored when a model is shown it.
        is_reached = not isinstance(newest, HumanMessage) or newest.id in session.seen
        called = session.calls.get(run.key) or _Called(is_known=False)
        if is_reached and not later:
            yield from self._store(scope, run, session, messages, called)
        session.run = None
        session.calls.discard(partial(eq, run.key))
        if is_reached:
            session.turn = None
            if newest is not None and newest.id is not None:
                yield scope.end_turn(newest.id, *self.prompts.take(scope))
        return is_reached and called.is_known

    def store_partial(
        self, scope: Scope | AsyncScope, run: Run, messages: Sequence[BaseMessage], message: Message
    ) -> Steps[None]:
        """Store the part of an answer that was given; a call that gives the whole one withdraws it.

        Args:
            messages: The state's, when the model was called.
        """
        messages = assign_ids(messages)
        turn_id = messages[newest_human_index(messages)].id if messages else None
        stored: Message = yield scope.messages.append(
            message.model_copy(update={"turn_id": turn_id, "thread_id": run.thread})
        )
        session = self._sessions.get(_key(scope, run))
        if session is not None and stored.id is not None:
            session.path.add([stored])
            session.partials.setdefault(turn_id, []).append(stored.id)
            session.call(run).ids.add(stored.id)
            if session.turn is not None and session.turn.id == turn_id:
                session.turn.ids.append(stored.id)

    # -- steps

    def _open(self, scope: Scope | AsyncScope, run: Run, messages: Sequence[BaseMessage]) -> Steps[_Session]:
        key = _key(scope, run)
        session = self._sessions.get(key)
        if session is None:
            limit = lookback(messages)
            stored: list[Message] = yield scope.messages.all(limit=limit)
            withdrawn: list[Message] = yield scope.messages.withdrawn()
            made = _Session(stored, withdrawn, run, is_whole=len(stored) < limit)
            session = self._sessions.setdefault(key, made)
        elif session.begins(run, messages):
            # Another process may have served the thread in between, along another path.
            withdrawn = yield scope.messages.withdrawn()
            session.path.set_withdrawn(withdrawn)
            session.seen.add(message for message in withdrawn if message.id not in session.seen)
            yield from _catch_up(scope, session)
        return session

    def _store(
        self,
        scope: Scope | AsyncScope,
        run: Run,
        session: _Session,
        messages: Sequence[BaseMessage],
        called: _Called,
    ) -> Steps[None]:
        """Store what is new or edited; if another process called the model, the answer alone."""
        is_new, seen = session.begins(run, messages), session.seen
        kept = called.masks.apply(messages, seen)
        look = seen.look(kept, trust_objects=not is_new)
        if not called.is_known:
            answer = newest_answer_index(kept)
            look = look._replace(places=[at for at in look.places if at >= answer and kept[at].id not in seen])
        # Behind a run that broke off, one from another checkpoint may look like the same, gone on.
        if is_new or look.is_changed or session.path.has_withdrawn(kept[place].id for place in look.places):
            yield from self._follow(scope, run, session, messages, called)
        if called.begun is None:
            called.begun = session.path.end
        fresh = seen.find_new(kept, partial(self._to_messages, seen), places=look.places)
        if fresh:
            if is_new and not run.has_state:
                yield from _withdraw_failed_turn(scope, session, messages)
            turned = mark_unanswered(assign_turn_ids(fresh, kept, run.thread, seen.turn_ids), kept)
            turned = [_mark_masked(message, called.masks) for message in turned]
            fresh = yield from append_new(scope.messages, turned, seen, lookback(messages))
            session.path.add(fresh)
            called.ids.update(message.id for message in fresh if message.id is not None)
            yield from _withdraw_partials(scope, session, fresh)
        if self._withdraws and run.has_state and look.places:
            yield from _follow_order(scope, session, kept, look.places[0])
        if run.has_state:
            session.path.add_held(seen.list_stored_ids(kept[place] for place in look.places))
        if called.is_known:
            seen.remember(kept, look)
        else:
            seen.forget_list()
        session.run = run
        if is_new and messages:
            asked = messages[newest_human_index(messages)]
            session.turn = _Turn(asked.id, str(asked.text), [])
        if session.turn is not None:
            session.turn.ids.extend(message.id for message in fresh if message.id is not None)

    def _follow(
        self,
        scope: Scope | AsyncScope,
        run: Run,
        session: _Session,
        messages: Sequence[BaseMessage],
        called: _Called,
    ) -> Steps[None]:
        """Let the session have the path that the thread's state has now."""
        held = set(list_ids(messages))
        withdraws = self._withdraws and run.has_state
        is_emptied = False
        if withdraws and not session.is_whole:
            yield from _reach_back(scope, session, messages, held)
        if withdraws and session.path.is_disjoint(held):
            is_emptied = session.path.brings_back(held)
            if not is_emptied and _begins_anew(messages):
                # If no checkpoint holds any of them, the checkpointer is new to the thread: it forgot.
                is_emptied = not session.path.list_own().isdisjoint((yield from _list_checkpointed(scope)))
        moves = session.path.find_moves(held, is_emptied=is_emptied)
        if not withdraws:
            moves = moves._replace(withdrawn=[])
        else:
            moves = moves._replace(withdrawn=[id for id in moves.withdrawn if not called.spares(id, session.path)])
        if moves.withdrawn:
            yield scope.messages.withdraw(*moves.withdrawn)
        if moves.restored:
            yield scope.messages.restore(*moves.restored)
        session.path.move(moves)

    def _to_messages(self, seen: SeenMessages, original: BaseMessage) -> list[Message]:
        messages, left_out = read_leniently(original, artifacts=self._artifacts)
        if left_out and original.id not in seen:
            _log.warning(
                "Left %s of %s message %s out of the session: only plain data can be stored",
                ", ".join(left_out),
                original.type,
                original.id,
            )
        return messages


def session_path(scope: Scope | AsyncScope) -> Path:
    """A scope's path from the session on, without the agent."""
    return scope.path[1:]


def _key(scope: Scope | AsyncScope, run: Run) -> tuple[Path, str | None]:
    return session_path(scope), run.thread


def _catch_up(scope: Scope | AsyncScope, session: _Session) -> Steps[None]:
    """Learn of what others stored since: another process that serves the thread, or an agent of the same graph."""
    limit = _NEWEST
    while True:
        stored: list[Message] = yield scope.messages.all(limit=limit)
        if len(stored) < limit or session.path.has(stored[0]):
            session.path.add_newest(stored)
            session.seen.add(message for message in stored if message.id not in session.seen)
            return
        limit *= 4


def _reach_back(
    scope: Scope | AsyncScope, session: _Session, messages: Sequence[BaseMessage], state_ids: set[str | None]
) -> Steps[None]:
    """Read all of the session, unless what is known of it reaches back to where the state begins.

    A thread that is new is not looked for: nothing of a session that many threads share is its own.
    """
    first = next((message for message in messages if is_conversation(message)), None)
    if first is not None and session.path.knows(first.id):
        return
    if not (yield from _list_checkpointed(scope)) <= state_ids:
        stored: list[Message] = yield scope.messages.all()
        withdrawn: list[Message] = yield scope.messages.withdrawn()
        session.path.set_all(stored, withdrawn)
        session.is_whole = True


def _follow_order(
    scope: Scope | AsyncScope, session: _Session, messages: Sequence[BaseMessage], start: int
) -> Steps[None]:
    """Let the session have the thread's messages in the order of its state, which was rewritten if they are not."""
    misplaced = session.path.list_misplaced(messages, start)
    if misplaced:
        moved = [message for message in messages if message.id in misplaced]
        yield scope.messages.move_to_end(*(id for id, _ in session.seen.list_stored_ids(moved)))
        session.path.put_last(misplaced)


def _withdraw_failed_turn(scope: Scope | AsyncScope, session: _Session, messages: Sequence[BaseMessage]) -> Steps[None]:
    """Withdraw what a run stored that failed, and is repeated with the same question under another id.

    Without a checkpointer nothing else tells that it is the same question.
    """
    turn, asked = session.turn, messages[newest_human_index(messages)]
    if turn is None or not turn.ids or not isinstance(asked, HumanMessage) or str(asked.text) != turn.question:
        return
    held = set(list_ids(messages))
    if not held.intersection(turn.ids):
        yield scope.messages.withdraw(*turn.ids)


def _withdraw_partials(scope: Scope | AsyncScope, session: _Session, fresh: Iterable[Message]) -> Steps[None]:
    """Withdraw the parts of answers that were given in these turns, now that the model has answered."""
    for turn_id in {message.turn_id for message in fresh if message.role == "assistant"}:
        if ids := session.partials.get(turn_id):
            yield scope.messages.withdraw(*ids)
            session.path.move(Moves(ids, []))
            session.partials.discard(partial(eq, turn_id))


def _mark_masked(message: Message, masks: Masks) -> Message:
    """The message, marked if middleware showed it in another form than the state's: another process has no masks."""
    if not masks.hides(whole_id(message)):
        return message
    return message.model_copy(update={"metadata": {**message.metadata, MASKED: True}})


def _begins_anew(messages: Sequence[BaseMessage]) -> bool:
    """Whether a state with nothing of before is a new beginning, not the newest part of a turn or behind a summary."""
    first = messages[0] if messages else None
    follows = isinstance(first, ToolMessage) or (isinstance(first, AIMessage) and bool(first.tool_calls))
    return not follows and not any(map(is_summary, messages))


def _list_checkpointed(scope: Scope | AsyncScope) -> Steps[set[str | None]]:
    """Ids of the messages that the newest checkpoints of this thread hold; none if they cannot be listed."""
    found = find_checkpoints()
    if found is None:
        return set()
    saver, config = found
    for _ in range(_TRIES):
        try:
            if isinstance(scope, AsyncScope):
                checkpoints: list[Any] = yield _collect(saver.alist(config, limit=_MAX_CHECKPOINTS))
            else:
                checkpoints = list(saver.list(config, limit=_MAX_CHECKPOINTS))
        except NotImplementedError:
            return set()
        except RuntimeError:  # a thread of this run added its newest checkpoint to the same dictionary
            continue
        except Exception as exc:  # noqa: BLE001  # a checkpointer's own, in what the run itself has no need of
            _log.warning("Took no message back: the thread's checkpoints could not be read (%s)", type(exc).__name__)
            return set()
        held = (each.checkpoint.get("channel_values", {}).get("messages") for each in checkpoints)
        return {getattr(each, "id", None) for messages in held if isinstance(messages, Iterable) for each in messages}
    return set()


async def _collect(checkpoints: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in checkpoints]
