import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.spec import evaluate


def test_integers_names_and_operators() -> None:
    assert evaluate("2*n*(d + 1) - 6 // 4", {"n": 3, "d": 4}) == 29


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n * m", "names 'm'"),
        ("n ** 9", "not allowed"),
        ("__import__('os')", "not allowed"),
        ("n.real", "not allowed"),
        ("True", "not allowed"),
        ("1 +", "is not an expression"),
        ("1 // 0", "divides by zero"),
    ],
)
def test_anything_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        evaluate(text, {"n": 3})
