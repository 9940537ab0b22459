"""Commands that sign a release that is made, and that show one and who signed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, Quiet, app
from understudy.cli.json_output import print_json
from understudy.cli.terminal import escape, out, release_text

_Signer = Annotated[
    str | None, typer.Option(help="Public key, in hex, of whoever must have signed it.")
]


@app.command("show")
def show_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    signer: _Signer = None,
    as_json: Json = False,
) -> None:
    """Show what a release promises and holds, after checking its files and its signature."""
    from understudy.pipeline.page_set import pages
    from understudy.release import Release
    from understudy.release.release import render_pages_by

    render_pages_by(pages)
    loaded = Release.load(release, signer=signer)
    if as_json:
        print_json(
            {
                **loaded.manifest.to_json(),
                "signed_by": loaded.signed_by or None,
                "not_compared": [*loaded.not_compared],
            }
        )
    else:
        release_text.release(loaded)


@app.command("sign")
def sign_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    key: Annotated[
        Path, typer.Argument(help="File of a private key; understudy ledger key makes one.")
    ],
    quiet: Quiet = False,
) -> None:
    """Sign a release: manifest.sig says who vouches for it. What signed it before is replaced."""
    from understudy.pipeline.page_set import pages
    from understudy.release import Release
    from understudy.release.release import render_pages_by
    from understudy.release.release_signature import (
        clear_unfinished,
        require_key,
        write_signature,
    )

    require_key(key)
    clear_unfinished(release)
    render_pages_by(pages)
    Release.load(release)  # nobody signs what does not fit itself
    public = write_signature(release, key)
    if not quiet:
        out.print(
            f"{escape(str(release))}/ is signed; give this public key to those who receive it, in "
            f"another way than the release: {public}",
            soft_wrap=True,
        )
