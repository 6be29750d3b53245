# The image holds one static binary and links to it; under the name of a link the binary acts as that program
# (docs/container.md). Flavours: --target minio, localstack, s3mock, mc.
# .ci/image builds the same stages from an existing binary.
FROM rust:1.95-bookworm AS tree
WORKDIR /src
COPY . .
# For `liteio version`: there is no .git here.
ARG LITEIO_BUILD_COMMIT
RUN .ci/image-tree "$(.ci/static-build)" /tree

FROM scratch AS base
COPY --from=tree /tree/ /
ENV PATH=/usr/local/bin:/usr/bin:/bin LITEIO_IN_CONTAINER=true
VOLUME ["/data"]
STOPSIGNAL SIGTERM
LABEL org.opencontainers.image.title="LiteIO" \
    org.opencontainers.image.description="An object store that speaks Amazon S3: durable by default, one static binary" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.documentation="https://docs.rs/liteio"
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["/liteio", "health"]

# Replaces minio/minio.
FROM base AS minio
ENV LITEIO_PROFILE=minio
EXPOSE 9000
ENTRYPOINT ["/usr/bin/docker-entrypoint.sh"]
CMD ["minio", "server", "/data"]

# Replaces localstack/localstack, for S3 only.
FROM base AS localstack
ENV LITEIO_PROFILE=localstack
EXPOSE 4566
ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]

# Replaces adobe/s3mock.
FROM base AS s3mock
ENV LITEIO_PROFILE=s3mock
EXPOSE 9090 9191
ENTRYPOINT ["/liteio"]
CMD ["server"]

# Replaces minio/mc.
FROM base AS mc
HEALTHCHECK NONE
ENTRYPOINT ["/usr/bin/mc"]

# The last stage is the default target.
FROM base AS liteio
EXPOSE 9000
ENTRYPOINT ["/liteio"]
CMD ["server"]
