"""Asking before something is done that a user may regret."""

from __future__ import annotations

import click

from semsearch.errors import UsageError


def confirm(question: str, otherwise: str) -> None:
    """Ask on standard error, and return only if the answer is yes.

    Raises:
        UsageError: the answer is no, or nobody is there to answer; `otherwise` says what follows.
    """
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        raise UsageError(otherwise, "Answer y, or add --yes to go ahead without being asked.")
