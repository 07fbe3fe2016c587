"""The mock of other tests is called as the real one is."""

from __future__ import annotations

import inspect

import pytest
from suggest.mock_model import MockModel

from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model import Endpoint, Message, ModelAnswer, ask


def test_the_mock_takes_what_the_real_one_takes() -> None:
    real, mock = inspect.signature(ask), inspect.signature(MockModel())
    assert list(real.parameters) == list(mock.parameters)


def test_the_mock_answers_in_turn_and_keeps_what_it_was_asked() -> None:
    model, texts = MockModel("one", ModelProblem("down")), list[str]()
    answer: ModelAnswer = model(Endpoint("m"), [Message("user", "?")], texts.append)
    assert (answer.text, texts) == ("one", ["one"])
    with pytest.raises(ModelProblem, match="down"):
        model(Endpoint("m"), lambda form: [Message("user", form)], texts.append)
    assert [asked[0].text for asked in model.asked] == ["?", "json_schema"]
