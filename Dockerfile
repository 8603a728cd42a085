# The decision service: one process, not root, nothing written but /data.
#
#   docker build -t bothworlds .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -p 127.0.0.1:8787:8787 -v bothworlds:/data bothworlds
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/bothworlds
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
ARG EXTRAS=fast,service
RUN python -m pip --python /opt/bothworlds/bin/python install ".[${EXTRAS}]" \
 && find /opt/bothworlds -depth -type d -name tests -exec rm -r {} +
# The kernels of the default policy are compiled here, and not when the first decision is asked for; a processor with
# other features than the one that builds compiles its own, into /tmp.
ENV BOTHWORLDS_CACHE_DIR=/opt/bothworlds/kernels
RUN BOTHWORLDS_COMPILE=wait /opt/bothworlds/bin/python -c "\
import bothworlds as bw; from bothworlds.service import monitor; \
bandit = bw.open('/tmp/warm.db', 'warm', arms=['a', 'b']); \
bandit.update(bandit.pull(), reward=1.0); \
bandit.close(); monitor.compile_kernels()"

FROM python:${PYTHON}-slim
# The standard library comes without bytecode, and a read-only root keeps none: each start, and each question about
# health, would compile it again.
RUN python -m compileall -q -x site-packages "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
 && groupadd --gid 10001 bothworlds \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin bothworlds \
 && install --directory --owner=bothworlds --group=bothworlds /data
COPY --from=build /opt/bothworlds /opt/bothworlds
ENV PATH=/opt/bothworlds/bin:$PATH \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    BOTHWORLDS_CACHE_DIR=/opt/bothworlds/kernels \
    BOTHWORLDS_SERVER_HOST=0.0.0.0 \
    BOTHWORLDS_STORAGE_URL=sqlite:////data/bothworlds.db \
    BOTHWORLDS_STORAGE_EXPORTS=/data/exports
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["python", "-c", "from http.client import HTTPConnection; \
service = HTTPConnection('127.0.0.1', 8787, timeout=2); service.request('GET', '/readyz'); \
raise SystemExit(service.getresponse().status != 200)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["bothworlds"]
CMD ["serve"]
