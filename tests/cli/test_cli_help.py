"""Help: it fits the terminal, its examples run, and a wrong word is answered with the nearest one."""

from __future__ import annotations

import re
import shlex

import pytest

from discrim import cli, datasets
from discrim.cli.parsing import closest_word, command_lines
from discrim.cli.verbs import GROUPS, VERBS, build_parser, parser_of
from tests.cli.support import refused


def text(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    return capsys.readouterr().out


def examples(help_text):
    """The commands that a help text shows, as a shell reads them."""
    joined = help_text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if re.match(r"  discrim \S+ ", line)]


FAST = ("lda", "predict", "datasets", "lr-test")


@pytest.mark.parametrize(
    "verb", ["", *(verb if verb in FAST else pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS)]
)
def test_every_example_of_every_help_text_runs(verb, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.chdir(tmp_path)
    shown = examples(text(capsys, *([verb] if verb else []), "--help"))
    assert shown
    assert not verb or any(shlex.split(command)[1] == verb for command in shown)
    for command in shown:
        assert cli.main(shlex.split(command)[1:]) == 0, command
        # What a method is famous for may be a warning.
        assert all(line.startswith("discrim: warning: ") for line in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize(
    ("verb", "columns"), [(verb, (60, 80, 200)[k % 3]) for k, verb in enumerate(["", *VERBS])]
)
def test_help_fits_the_terminal(verb, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = text(capsys, *([verb] if verb else []), "--help").splitlines()
    assert max(map(len, lines)) <= min(columns, 100)
    # A line is not turned within an option, or what is in braces would be hard to read.
    assert not any(re.search(r"\s-$|--$", line) for line in lines)


def test_the_help_shows_each_verb_once_in_its_group(capsys):
    shown = text(capsys, "--help")
    for name, verb in VERBS.items():
        assert len(re.findall(rf"^  {name}\b", shown, re.MULTILINE)) == 1
        heading = shown.index(f"{GROUPS[verb.group]}:")
        later = [shown.find(f"{other}:") for other in GROUPS.values()]
        end = min((place for place in later if place > heading), default=len(shown))
        assert heading < shown.index(f"\n  {name}") < end


def test_options_stand_in_groups(capsys):
    shown = text(capsys, "lda", "--help")
    groups = ["model:", "reading DATA:", "summary:", "output:", "examples:"]
    places = [shown.index(f"\n{group}\n") for group in groups]
    assert places == sorted(places)
    for option, group in (("--ncomp", 0), ("--sep", 1), ("--errors", 2), ("--plot", 3)):
        assert places[group] < shown.index(f"\n  {option}") < places[group + 1]


def test_only_the_verb_that_is_typed_has_its_options():
    parser = build_parser(only=["qda"])
    assert "--prior" in parser_of(parser, "qda").options()
    assert parser_of(parser, "lda").options() == ["-h", "--help"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ldaa",), "unknown verb 'ldaa': did you mean lda?"),
        (("LDA", "species ~ .", "iris"), "unknown verb 'LDA': did you mean lda?"),
        (("naive_bayes",), "unknown verb 'naive_bayes': did you mean naive-bayes?"),
        (("stepwize", "y ~ .", "iris"), "unknown verb 'stepwize': did you mean stepwise?"),
        (("--verison",), "unknown option '--verison': did you mean --version? See discrim --help"),
        (("lda", "s ~ .", "iris", "--pirors=x"), "unknown option '--pirors' of lda: did you mean --prior?"),
        (("lda", "s ~ .", "iris", "--na_action", "drop"), "did you mean --na-action?"),
        (
            ("lda", "s ~ .", "iris", "--method", "mel"),
            "--method: 'mel' is not known. Did you mean mle?",
        ),
        (("lda", "s ~ .", "iris", "--kind", "biplto"), "Did you mean biplot?"),
        (("lda", "s ~ .", "irsi"), "'irsi' is neither a file nor a data set of the package. Did you mean"),
        (("lda", "species ~ .", "iris", "--sections", "meens"), "Did you mean 'means'?"),
        (("lda", "species ~ .", "iris", "--errors", "bootstrap,lo"), "unknown method 'bootstrap'"),
        (("lda", "species ~ .", "iris", "--errors", "looo"), "unknown method 'looo'. Did you mean loo?"),
        (("datasets", "pengiuns"), "There is no data set 'pengiuns' in the package. Did you mean penguins?"),
        (("compare", "species ~ .", "iris", "--verbs", "lda,qad"), "Did you mean qda?"),
        (("stepwise", "species ~ .", "iris", "--verb", "lada"), "Did you mean lda?"),
        (
            ("compare", "species ~ .", "iris", "--verbs", "knn(n_neighbors=3)"),
            "knn() has no keyword 'n_neighbors': use k=",
        ),
        (("lda", "species", ".", "iris"), "quote a formula"),
        (("lda", "iris", "species ~ ."), "Write the formula first"),
        (("fda", "species ~ .", "iris", "--engine", "Rigde"), "Did you mean Ridge?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(arguments, says, capsys):
    assert says in refused(capsys, *arguments)


def test_similar_file_names_are_suggested(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text(datasets.text("iris"), encoding="utf-8")
    assert refused(capsys, "lda", "y ~ .", "flowers.cvs").endswith("Did you mean flowers.csv?")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "june.csv").touch()
    assert "Did you mean data/june.csv?" in refused(capsys, "lda", "y ~ .", "data/juen.csv")


@pytest.mark.parametrize("word", ["x" * 100_000, "", "-", "\x00", "数"])
def test_a_word_that_is_near_nothing_is_answered_with_all(word, capsys):
    assert closest_word(word, VERBS) is None
    assert "the verbs are lda, qda" in refused(capsys, word) if not word.startswith("-") else True


def test_hints_show_typed_options(capsys):
    separated = refused(capsys, "logistic", "species ~ .", "iris")
    assert "Pass bias_reduction=True" in separated
    assert separated.endswith(" --bias-reduction")
    limits = refused(capsys, "stepwise", "species ~ .", "iris", "--f-enter", "3.84", "--f-stay", "2.71")
    assert "--by F --enter 3.84 --stay 2.71" in limits
    ridge = refused(capsys, "logistic", "species ~ .", "iris", "--penalty", "ridge", "--strength", "0.1")
    assert "--penalty 'Ridge(0.1)'" in ridge
    collinear = refused(capsys, "lda", "species ~ . + I(2 * petal_width)", "iris")
    assert collinear.endswith(" --collinear drop")
    # What was typed itself is no way out.
    assert "Typed" not in refused(capsys, "lda", "species ~ .", "iris", "--ncomp", "5")


def test_long_commands_are_continued_with_a_backslash():
    command = 'discrim lda "species ~ ." iris --prior equal --sections header,means --format markdown'
    lines = command_lines(command, 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert shlex.split(" ".join(line.rstrip("\\") for line in lines)) == shlex.split(command)
