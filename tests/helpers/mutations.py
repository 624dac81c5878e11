"""Files with a few bytes changed, for readers that must refuse them in one sentence or read them."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

_PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\n",
    b'"',
    b"[",
    b"]",
    b"{",
    b"=",
    b",",
    b"-",
    b"1e999",
    b"nan",
    b"_",
    b"#",
    b"9" * 30,
]


@st.composite
def mutated(draw, *files: bytes) -> bytes:
    """One of the files with up to four places cut out, replaced or copied."""
    data = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(_PIECES) | st.binary(max_size=3) | st.just(data[start:end] * 2))
        data = data[:start] + piece + data[end:]
    return data


def assert_read_or_refused(
    read: Callable[[bytes], Any], refusal: type[Exception], examples: int, *files: bytes
) -> None:
    """Whatever is in so many changed files, `read` takes it or refuses it in few words."""

    @settings(max_examples=examples, deadline=None)
    @given(data=mutated(*files))
    def check(data: bytes) -> None:
        said = ""
        try:
            read(data)
        except refusal as error:
            said = str(error)
        assert len(said) < 1000

    check()
