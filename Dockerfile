# One image for the dashboard. Settings come from /etc/fullwarp/fullwarp.toml (mounted) or FULLWARP_* variables;
# secrets from mounted files (slurm.token_file, metrics.token_file, identity.secret_file), never from the build.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
# The libraries first, in a layer that a new Fullwarp leaves as it was. Their own tests and source maps are a sixth of it.
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN pip install -c constraints.txt '.[mcp,postgres,redis]' && \
    find /usr/local/lib/python3.*/site-packages \( -type d -name tests -o -name '*.js.map' \) -prune -exec rm -r {} +
COPY app.py cli.py settings.py identity.py ./
COPY api api
COPY commands commands
COPY configuration configuration
COPY pages pages
COPY components components
COPY chat chat
COPY terminal terminal
COPY ondemand ondemand
COPY policy policy
COPY data data
COPY assets assets
RUN pip install --no-deps --force-reinstall . && rm -rf /src/*

RUN useradd --uid 10001 --create-home --home-dir /var/lib/fullwarp fullwarp
USER 10001
WORKDIR /var/lib/fullwarp

# One tmpfs at /tmp is all that a read-only container needs.
ENV FULLWARP_SERVE__BIND=0.0.0.0:8050 \
    XDG_CACHE_HOME=/tmp
EXPOSE 8050
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8050, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["fullwarp"]
CMD ["serve"]
