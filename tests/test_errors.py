from ncu_assist.errors import ModelProblem, did_you_mean


def test_the_nearest_name_is_offered() -> None:
    assert did_you_mean("lightening_decode", ["rope", "lightning_decode"]) == "did you mean 'lightning_decode'?"


def test_all_names_are_listed_when_none_is_near() -> None:
    assert did_you_mean("zzz", ["rope", "add"]) == "known: add, rope"


def test_a_name_between_several_gets_them_all() -> None:
    assert did_you_mean("n25", ["n16", "n26", "n28"]) == "known: n16, n26, n28"
    assert did_you_mean("b64_d9", ["b64_d96", "b64_d128", "b1_d96"]) == "did you mean 'b64_d96'?"


def test_no_names_at_all() -> None:
    assert did_you_mean("zzz", []) == "there are none"


def test_a_problem_with_the_model_has_an_exit_code_of_its_own() -> None:
    assert ModelProblem("no key").exit_code == 8
