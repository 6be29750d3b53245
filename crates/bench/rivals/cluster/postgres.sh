# Sourced: starts a PostgreSQL in ./postgres at $POSTGRES_PORT, with the syncs that it has by itself, and waits for it.
# A database that syncs nothing would say nothing about a server that is durable.
binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$binaries" ]; then
    echo 'error: PostgreSQL is not installed below /usr/lib/postgresql'
    exit 1
fi
mkdir postgres
as_another() { "$@"; }
if [ "$(id -u)" = 0 ]; then
    # It refuses to run as root.
    as_another() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
    chown nobody:nogroup postgres
    if ! as_another test -x postgres; then
        echo "error: PostgreSQL runs as nobody, who may not look into $PWD: choose another --data, or another user"
        exit 1
    fi
fi
(cd / && as_another "$binaries/initdb" -D "$OLDPWD/postgres/data" -U bench --auth=trust --data-checksums -E UTF8 --locale=C)
# As for a server of its own with 4 GB; the rest is as installed.
as_another "$binaries/postgres" -D "$PWD/postgres/data" -k "$PWD/postgres" --listen-addresses=127.0.0.1 \
    -p "$POSTGRES_PORT" -c max_connections=300 -c shared_buffers=1GB -c max_wal_size=4GB &
until "$binaries/psql" -h 127.0.0.1 -p "$POSTGRES_PORT" -U bench -qc 'SELECT 1' postgres >/dev/null 2>&1; do
    sleep 0.1
done
