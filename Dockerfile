# The image holds one static binary and links to it; under the name of a link the binary acts as that program
# (docs/container.md). Flavours: --target shell, minio, localstack, s3mock, mc.
# .ci/image builds the same stages from an existing binary.
FROM rust:1.95-bookworm AS tree
WORKDIR /src
COPY . .
# For `liteio version`: there is no .git here.
ARG LITEIO_BUILD_COMMIT
RUN .ci/image-tree "$(.ci/static-build)" "$(.ci/shell "$(dpkg --print-architecture)")" /tree

FROM scratch AS base
COPY --from=tree /tree/base/ /
ENV PATH=/usr/local/bin:/usr/bin:/bin LITEIO_IN_CONTAINER=true
VOLUME ["/data"]
STOPSIGNAL SIGTERM
LABEL org.opencontainers.image.title="LiteIO" \
    org.opencontainers.image.description="An object store that speaks Amazon S3 and S3 Vectors: durable by default, one static binary" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.documentation="https://docs.rs/liteio"
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["/liteio", "health"]

# With Debian's bash and BusyBox, for images that run scripts.
FROM base AS tools
COPY --from=tree /tree/shell/ /
LABEL org.opencontainers.image.licenses="(MIT OR Apache-2.0) AND GPL-3.0-or-later AND GPL-2.0-only"

# The default image with a shell.
FROM tools AS shell
EXPOSE 9000
ENTRYPOINT ["/liteio"]
CMD ["server"]

# Replaces minio/minio.
FROM tools AS minio
ENV LITEIO_PROFILE=minio
EXPOSE 9000
ENTRYPOINT ["/usr/bin/docker-entrypoint.sh"]
CMD ["minio", "server", "/data"]

# Replaces localstack/localstack, for S3 only.
FROM tools AS localstack
ENV LITEIO_PROFILE=localstack
EXPOSE 4566
ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]

# Replaces adobe/s3mock.
FROM tools AS s3mock
ENV LITEIO_PROFILE=s3mock
EXPOSE 9090 9191
ENTRYPOINT ["/liteio"]
CMD ["server"]

# Replaces minio/mc.
FROM tools AS mc
HEALTHCHECK NONE
ENTRYPOINT ["/usr/bin/mc"]

# The last stage is the default target.
FROM base AS liteio
EXPOSE 9000
ENTRYPOINT ["/liteio"]
CMD ["server"]
