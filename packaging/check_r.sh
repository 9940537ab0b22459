#!/usr/bin/env bash
# R CMD build and R CMD check --as-cran of the R package, without a network; the first argument is a
# Python that has Understudy. Any error, warning or note fails, except three that only say what this
# machine lacks: a package of another source for Parquet, a public clock, and a program for PDFs.
set -euo pipefail
source=$(cd "$(dirname "$0")/../r" && pwd)
python=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
# What is installed stands for the index of all packages, which R otherwise asks a server for.
mkdir -p cran/web/packages cran/src/contrib
touch cran/src/contrib/PACKAGES
Rscript -e 'saveRDS(installed.packages(fields = "Maintainer")[, c("Package", "Maintainer")],
    "cran/web/packages/packages.rds")'
export R_CRAN_WEB="file://$place/cran" R_CRAN_SRC="file://$place/cran"
export _R_CHECK_FORCE_SUGGESTS_=false _R_CHECK_CRAN_INCOMING_=false RETICULATE_PYTHON="$python"
R CMD build "$source"
R CMD check --as-cran --no-manual understudy_*.tar.gz || true
allowed="Packages suggested but not available for checking: |unable to verify current time|‘qpdf’ is needed"
log=understudy.Rcheck/00check.log
found=$(grep -A1 -E "^ ?(WARNING|NOTE|ERROR)$|\.\.\. .*(WARNING|NOTE|ERROR)$" "$log" |
    grep -vE "WARNING$|NOTE$|^--$" | grep -vE "^($allowed)" || true)
if [ -n "$found" ] || ! grep -q "^\* DONE$" "$log" || ! grep -q "re-building of vignette outputs.* OK" "$log"; then
    echo "The R package does not pass: $found"
    exit 1
fi
echo "The R package passes R CMD check."
