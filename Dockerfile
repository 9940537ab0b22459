# The command `understudy` alone, with the exact libraries that the tests ran with:
#   docker build -t understudy .
#   docker run --rm --network none -v "$PWD:/work" understudy plan schema.toml --epsilon 1
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/understudy \
    && /opt/understudy/bin/pip install --no-cache-dir -c constraints.txt '.[demo,evaluate,files,ledger]'

FROM python:3.13-slim
COPY --from=build /opt/understudy /opt/understudy
ENV PATH=/opt/understudy/bin:$PATH NUMBA_CACHE_DIR=/tmp/compiled
RUN useradd --create-home steward
USER steward
WORKDIR /work
ENTRYPOINT ["understudy"]
CMD ["--help"]
