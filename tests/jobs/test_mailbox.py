import threading

from hypothesis import given
from hypothesis import strategies as st

from workbench.jobs import Mailbox
from workbench.signals import Budget, Cancelled, Event, Finished, Memory, Metric, Notice, Progress
from workbench.signals.events import Terminal

events = st.one_of(
    st.builds(Progress, st.integers(0, 9), st.just(9)),
    st.builds(Metric, st.sampled_from("ab"), st.integers(0, 9), st.just(0.5)),
    st.builds(Budget, st.floats(0, 1), st.just(0.0), st.none()),
    st.builds(Memory, st.integers(0, 9), st.just(9), device=st.sampled_from(["cpu", "cuda"])),
    st.builds(Notice, st.just("info"), st.text(max_size=3)),
    st.builds(Finished, st.integers()),
)


def slot(event: Event) -> object:
    match event:
        case Metric():
            return "metric", event.name
        case Memory():
            return "memory", event.device
        case Notice():
            return id(event)
        case _:
            return type(event)


@given(st.lists(events))
def test_a_reader_sees_the_newest_of_each_gauge_every_notice_and_one_terminal_event(said: list[Event]) -> None:
    box = Mailbox()
    taken = [e for e in said if box.put(e)]
    ends = [i for i, e in enumerate(said) if isinstance(e, Terminal)]
    assert taken == (said[: ends[0] + 1] if ends else said)
    last = {slot(e): i for i, e in enumerate(taken)}
    assert box.drain() == [taken[i] for i in sorted(last.values())]
    assert box.drain() == []
    assert box.closed == bool(ends)


def test_what_comes_after_the_terminal_event_is_refused() -> None:
    box = Mailbox()
    assert box.put(Cancelled())
    assert not box.put(Progress(1, 2))
    assert not box.put(Finished(1))
    assert box.drain() == [Cancelled()]


def test_no_notice_is_lost_between_threads() -> None:
    box, read = Mailbox(), []

    def speak(name: str) -> None:
        for i in range(500):
            box.put(Notice("info", f"{name}{i}"))
            box.put(Metric(name, i, float(i)))

    threads = [threading.Thread(target=speak, args=(name,)) for name in "abc"]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        read += box.drain()
    for t in threads:
        t.join()
    read += box.drain()
    for name in "abc":
        mine = [e.text for e in read if isinstance(e, Notice) and e.text.startswith(name)]
        assert mine == [f"{name}{i}" for i in range(500)]
        steps = [e.step for e in read if isinstance(e, Metric) and e.name == name]
        assert steps == sorted(steps)
        assert steps[-1] == 499
