# Two stages: build one static binary, then run it alone in an empty image.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# glibc linked in: nothing of the build image is needed at run time.
ARG TARGET=x86_64-unknown-linux-gnu
# The system call for random bytes: an empty image has no /dev/urandom to fall back to.
RUN RUSTFLAGS="-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\"" \
    cargo build --release --locked --package liteio --target "$TARGET" \
    && cp "target/$TARGET/release/liteio" /liteio \
    && mkdir -p /empty/data

FROM scratch
COPY --from=build /liteio /liteio
# The volume's first content: a directory that the non-root user may write.
COPY --from=build --chown=65532:65532 /empty/data /data
USER 65532:65532
ENV LITEIO_ADDRESS=0.0.0.0:9000 LITEIO_DATA_DIR=/data
VOLUME ["/data"]
EXPOSE 9000
# Off loopback the default credentials are refused: pass LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/liteio", "health", "http://127.0.0.1:9000"]
ENTRYPOINT ["/liteio"]
CMD ["server"]
