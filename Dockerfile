# The image of every Taquin worker. `docker build .` needs no network but the package registry; where that is reached
# another way, hand pip its settings in, which leaves no trace in the image: --secret id=pip.conf,src=pip.conf
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
# The environment has no pip of its own: the base's serves, and stays behind.
RUN python -m venv --without-pip /opt/taquin
# The dependencies first and alone, so that a change of our code builds in seconds.
COPY pyproject.toml constraints.txt ./
RUN --mount=type=cache,target=/root/.cache/pip --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
      >/tmp/requirements.txt \
 && python -m pip --python /opt/taquin/bin/python install --constraint constraints.txt --requirement /tmp/requirements.txt
RUN --mount=type=cache,target=/root/.cache/pip --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --constraint constraints.txt hatchling
COPY README.md LICENSE ./
COPY worker worker
RUN /opt/build/bin/python -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /tmp/wheels . \
 && python -m pip --python /opt/taquin/bin/python install --no-index --no-deps /tmp/wheels/*.whl

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Taquin" \
      org.opencontainers.image.description="Validates, repairs and generates sliding-puzzle boards from a Celery queue on Redis." \
      org.opencontainers.image.licenses="MIT"
RUN groupadd --system --gid 10001 taquin \
 && useradd --system --uid 10001 --gid taquin --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin taquin
COPY --from=build /opt/taquin /opt/taquin
# /tmp is a tmpfs in compose.
ENV PATH=/opt/taquin/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OPENBLAS_NUM_THREADS=1 \
    TAQUIN_HEARTBEAT_FILE=/tmp/taquin-heartbeat
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["taquin"]
CMD ["worker"]
# What `taquin health` says, without the cost of a command line.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-m", "taquin.health"]
