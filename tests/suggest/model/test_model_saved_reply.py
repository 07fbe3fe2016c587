"""A reply saved from a chat window, as editors of every system save it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.suggest.drafting import LARGEST_BYTES, saved_reply

TEXT = "Größe: ```cuda\r\n__global__ void k() {}\r\n```"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_in_the_encodings_that_say_themselves(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "reply.txt").write_bytes(TEXT.encode(encoding))
    assert saved_reply(tmp_path / "reply.txt") == TEXT


def test_standard_input() -> None:
    assert saved_reply("-", io.BytesIO(TEXT.encode())) == TEXT


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\t\n", "is empty"),
    "Latin-1": (TEXT.encode("latin-1"), "is not text in utf-8: byte 2 cannot be read"),
    "binary": (b"\x7fELF\0\0", "zero bytes"),
    "half a character": ("é".encode("utf-16")[:3], "is not text in utf-16"),
    "too large": (b"x" * (10 * LARGEST_BYTES), "larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("piped", [False, True])
def test_what_is_no_reply(tmp_path: Path, case: str, piped: bool) -> None:
    content, words = BAD[case]
    path = tmp_path / "reply.txt"
    path.write_bytes(content)
    with pytest.raises(UsageProblem, match=words) as caught:
        saved_reply("-" if piped else path, io.BytesIO(content))
    assert ("standard input" if piped else "reply.txt") in caught.value.message
    assert caught.value.hint


def test_no_more_is_read_than_needed() -> None:
    stream = io.BytesIO(b"x" * (10 * LARGEST_BYTES))
    with pytest.raises(UsageProblem):
        saved_reply("-", stream)
    assert stream.tell() == LARGEST_BYTES + 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.txt", tmp_path):
        with pytest.raises(UsageProblem, match="cannot be read"):
            saved_reply(path)
