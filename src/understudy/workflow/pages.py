"""The pages that are saved with a release; charts are drawn only then."""

from __future__ import annotations

from understudy._parallel import single_threaded
from understudy.release.release import Release


def pages(release: Release) -> dict[str, str]:
    """File name → HTML text: the public page, the codebook, and that of declared or paid answers.

    Args:
        release: that is saved.
    """
    from understudy.report.public_page import codebook_page, public_page
    from understudy.report.results_page import results_page

    asked = release.manifest.analyses or release.manifest.amendments
    with single_threaded():  # of many small questions
        answers = {"results.html": results_page(release)} if asked else {}
        codebook = {"codebook.html": codebook_page(release)}
        return {"report.html": public_page(release), **answers, **codebook}
