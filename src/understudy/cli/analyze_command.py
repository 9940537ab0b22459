"""The command for analysts: estimates from a release alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy import pipeline
from understudy.cli.app import Json, Quiet, app
from understudy.cli.json_output import print_json
from understudy.cli.terminal import progress_bar, release_text


@app.command()
def analyze(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    kind: Annotated[
        str,
        typer.Argument(
            help="mean, proportion, table, total, quantile, correlation, odds-ratio, independence, "
            "standardised-difference, ols, logit or poisson."
        ),
    ],
    formula: Annotated[
        str,
        typer.Argument(
            help="Such as 'log(income + 1)', 'income ~ sex', 'sex + region' (a table), "
            "'income + age' (a correlation), 'works + sex' (an odds ratio, or a test of "
            "independence) or "
            "'income ~ age + C(region)' (a model)."
        ),
    ],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give numbers even where no rule is valid, stamped so.")
    ] = False,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    probability: Annotated[float, typer.Option(help="Probability of a quantile.")] = 0.5,
    uncertainty: Annotated[
        str,
        typer.Option(
            help="rules (from noisy counts, or how sets differ), or bootstrap (the method is run "
            "again on tables drawn from the released model)."
        ),
    ] = "rules",
    repeats: Annotated[int, typer.Option(help="Replicates of a bootstrap.", min=1)] = 200,
    interval: Annotated[
        str, typer.Option(help="Of a bootstrap: basic, percentile or studentised.")
    ] = "basic",
    seed: Annotated[int, typer.Option(help="Of a bootstrap.", min=0)] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes of a bootstrap; by default one per processor.", min=1),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate from a release alone, with error bars that count sampling, synthesis and noise."""
    from understudy.parallel import processors

    with progress_bar.progress(quiet=quiet or as_json) as tell:
        analysis = pipeline.analyze(
            release,
            kind,
            formula,
            probability=probability,
            level=level,
            anyway=anyway,
            uncertainty=uncertainty,  # type: ignore[arg-type]  # refused there if it is neither
            repeats=repeats,
            interval=interval,  # type: ignore[arg-type]
            seed=seed,
            workers=jobs or processors(),
            progress=tell,
        )
    if as_json:
        print_json(analysis.to_json())
    else:
        release_text.analyzed(analysis)
