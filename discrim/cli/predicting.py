"""The verb predict: a saved fit and a table in, labels out as CSV."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from typing import Any

from discrim.cli.given import given_of
from discrim.cli.labels import labels_of_fit
from discrim.cli.output import refuse_same
from discrim.cli.streams import write
from discrim.cli.values import by_label, parse_prior
from discrim.errors import DataError

__all__ = ["predict"]


def predict(arguments: argparse.Namespace) -> None:
    """Label the rows of a table by a saved fit, as CSV."""
    for text in _labels(arguments):
        write(text)


def _labels(arguments: argparse.Namespace) -> Iterator[str]:
    """CSV part by part, or nothing where it goes to a file."""
    import discrim

    fit = discrim.load(arguments.fit)
    if isinstance(fit, discrim.Moments):
        raise DataError(
            f"{arguments.fit!r} holds moments and no fit: fit them, as "
            "discrim.lda(moments=discrim.load(...)), and name a file of that fit"
        )
    augment = "augment" in arguments
    labels = labels_of_fit(fit, whole=augment)
    gaps = {name: vars(arguments)[name] for name in ("unseen", "missing") if name in arguments}
    if augment and "prior" in arguments:
        raise DataError("--augment uses the prior of the fit: leave out --prior, or use --proba")
    prior = by_label(parse_prior(arguments.prior), fit.classes) if "prior" in arguments else None
    given = given_of(dict(vars(arguments)))
    source = given.source(labels)
    data = given.table(labels) if source is None else source
    out = getattr(arguments, "out", None)
    if out is not None:
        refuse_same("--out", out, arguments.data, arguments.fit)
    if augment:
        answer = fit.augment(data, **gaps, out=out)
    else:
        answer = _labelled(fit, data, prior, out, gaps, proba="proba" in arguments)
    if out is None:
        # Of a source an iterator of frames.
        for number, frame in enumerate([answer] if hasattr(answer, "columns") else answer):
            yield _as_csv(frame, header=number == 0)


def _labelled(fit: Any, data: Any, prior: Any, out: str | None, gaps: dict[str, Any], *, proba: bool) -> Any:
    """Labels of a table, or of each part of a source, with any posteriors beside them."""
    import pandas as pd

    from discrim.models.fits.gaps import Gaps
    from discrim.models.results.by_parts import answered

    if not proba:
        labels: Any = fit.predict(data, prior=prior, **gaps, out=out)
        return labels.to_frame() if isinstance(labels, pd.Series) else labels

    def answer(results: Any, part: Any) -> pd.DataFrame:
        rows = results._fit.new_rows(part, Gaps(**gaps))
        parts = [results.predict(rows, prior=prior), results.predict_proba(rows, prior=prior)]
        return pd.DataFrame(pd.concat(parts, axis=1))

    return answered(fit, data, out, answer)


def _as_csv(table: Any, *, header: bool = True) -> str:
    """Write a table, or a part of one, as CSV that is read back as it was."""
    text = str(table.to_csv(index=False, header=header))
    # Before Python 3.13 its writer does not quote a carriage return, where readers see the end of a line.
    if "\r" in text:
        text = str(table.to_csv(index=False, header=header, quoting=csv.QUOTE_NONNUMERIC))
    return text
