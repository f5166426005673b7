"""Work done in order by several processes: this one, and helpers that it starts.

This process works too, because it has loaded what the work needs anyway: with two cores one helper is enough, and
nobody waits for it to start. Few tasks are under way at a time, so memory does not grow with their number.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from gditd.processes import deaf_to_ctrl_c, one_thread_each

AHEAD = 2  # tasks a helper has at a time: the one it does, and the next
WINDOW = 3  # results, for each process, that may wait for an earlier one

Task = TypeVar("Task")
Result = TypeVar("Result")


class HelperError(ValueError):
    """A helper process is gone."""


class Answer(NamedTuple):
    """What a helper sends: a result, or the error in its place."""

    value: Any
    failed: bool = False


class Crew(Generic[Task, Result]):
    """Does tasks in this process and, once `worth` says so, in helpers too; results come in the tasks' order.

    here: does a task in this process.
    make: called in each helper, once; returns what does a task there. It is pickled, as are tasks and results.
    """

    def __init__(
        self,
        here: Callable[[Task], Result],
        make: Callable[[], Callable[[Task], Result]],
        *,
        helpers: int,
        worth: Callable[[], bool] = lambda: True,
    ) -> None:
        self._here, self._make, self._worth = here, make, worth
        self._wanted = helpers
        self._helpers: list[Helper] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for helper in self._helpers:
            helper.end()

    def results(self, tasks: Iterator[Task]) -> Iterator[Result]:
        """Do the tasks. The first that fails, in their order, raises its error, be it in making, doing or reading."""
        waiting: deque[Future[Result]] = deque()
        tasks = iter(tasks)
        more = True

        def take(do: Callable[[Task], Future[Result]]) -> bool:
            """Do the next task; False if there is none."""
            nonlocal more
            try:
                task = next(tasks)
            except StopIteration:
                more = False
            except Exception as error:  # earlier tasks come first, and may have errors of their own
                more = False
                waiting.append(failed(error))
            else:
                waiting.append(do(task))
            return more

        while more or waiting:
            self._call_helpers()
            for helper in self._helpers:
                while more and helper.is_free and len(waiting) < self._window and take(helper.do):
                    pass
            if waiting and waiting[0].done():
                yield waiting.popleft().result()
            elif more and len(waiting) < self._window:
                take(self._do_here)
            elif waiting:
                yield waiting.popleft().result()

    @property
    def _window(self) -> int:
        return WINDOW * (1 + len(self._helpers))

    def _call_helpers(self) -> None:
        if self._wanted > len(self._helpers) and self._worth():
            self._helpers += [Helper(self._make) for _ in range(self._wanted - len(self._helpers))]

    def _do_here(self, task: Task) -> Future[Result]:
        done: Future[Result] = Future()
        try:
            done.set_result(self._here(task))
        except Exception as error:
            done.set_exception(error)
        return done


def failed(error: Exception) -> Future[Any]:
    """A result that is an error."""
    done: Future[Any] = Future()
    done.set_exception(error)
    return done


class Helper:
    """A process that does tasks. Threads carry them there and results back, so that neither process waits."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=help_out, args=(theirs, make), daemon=True)
        with one_thread_each(), deaf_to_ctrl_c():
            self._process.start()
        theirs.close()  # or its end would go unnoticed
        self._lock = threading.Lock()
        self._open: deque[Future[Any]] = deque()
        self._gone = False
        self._ready: Future[Any] = self._promise()
        self._tasks = outbox(self._connection)
        threading.Thread(target=self._receive, daemon=True).start()

    @property
    def is_free(self) -> bool:
        """Whether it has started and can take one more task."""
        if not self._ready.done():
            return False
        self._ready.result()
        return len(self._open) < AHEAD

    def do(self, task: Any) -> Future[Any]:
        """Send a task."""
        done = self._promise()
        self._tasks.put(pickle.dumps(task))
        return done

    def end(self) -> None:
        """End the process at once; it holds nothing that would have to be tidied up."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()

    def _promise(self) -> Future[Any]:
        done: Future[Any] = Future()
        with self._lock:
            if self._gone:
                done.set_exception(lost())
            else:
                self._open.append(done)
        return done

    def _receive(self) -> None:
        """Give each answer to whom it was promised: they come in the order of the tasks."""
        with suppress(Exception):  # until the process is gone, or sends what nobody understands
            while True:
                answer: Answer = self._connection.recv()
                done = self._open.popleft()
                done.set_exception(answer.value) if answer.failed else done.set_result(answer.value)
        with self._lock:
            self._gone = True
            for done in self._open:
                done.set_exception(lost())


def lost() -> HelperError:
    """What to say about a helper that ended without being asked to."""
    return HelperError(
        "a worker process was killed, most likely for lack of memory: run again with --workers 1, or free some memory"
    )


def outbox(connection: Connection) -> queue.SimpleQueue[bytes]:
    """Return a queue whose items are sent by a thread."""
    items: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def send() -> None:
        try:
            while True:
                connection.send_bytes(items.get())
        except OSError:  # nobody reads any more, which the receiving side notices
            return

    threading.Thread(target=send, daemon=True).start()
    return items


# --- in a helper process ---


def help_out(connection: Connection, make: Callable[[], Callable[[Any], Any]]) -> None:
    """Say that the work can begin, then do tasks until the parent ends this process, or is gone itself."""
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=read_ahead, args=(connection, tasks), daemon=True).start()
    answers = outbox(connection)
    work: Callable[[Any], Any] | None = None

    def begin(_: None) -> None:
        nonlocal work
        work = make()

    answers.put(answered(begin, None))
    while True:
        task = tasks.get()
        assert work is not None, "a helper that could not begin gets no task"
        answers.put(answered(work, task))


def read_ahead(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    """Take tasks from the connection as they come. Where the parent is gone, so is this process, at once."""
    try:
        while True:
            tasks.put(connection.recv())
    finally:
        os._exit(1)


def answered(work: Callable[[Any], Any], task: Any) -> bytes:
    """The answer to a task, ready to be sent."""
    try:
        return pickle.dumps(Answer(work(task)))
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return pickle.dumps(Answer(portable(error), failed=True))


def portable(error: Exception) -> Exception:
    """The error itself, or what it says where it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
