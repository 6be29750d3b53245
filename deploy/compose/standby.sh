#!/bin/sh
# Copies the primary at the first start, and follows it from then on.
set -eu
export PGPASSWORD="$(head -n 1 /run/secrets/database)"
data=/var/lib/postgresql/data
if [ ! -f "$data/PG_VERSION" ]; then
    rm -rf "$data"
    pg_basebackup --pgdata="$data" --wal-method=stream --checkpoint=fast --write-recovery-conf \
        --dbname="host=postgres user=liteio application_name=standby"
    chmod 700 "$data"
    # A file of its own for the password: that of the environment is not kept.
    printf 'postgres:5432:replication:liteio:%s\n' "$PGPASSWORD" >/var/lib/postgresql/pgpass
    chmod 600 /var/lib/postgresql/pgpass
    printf "primary_conninfo = 'host=postgres user=liteio application_name=standby passfile=/var/lib/postgresql/pgpass'\n" \
        >>"$data/postgresql.auto.conf"
fi
exec postgres -D "$data" -c hba_file=/etc/postgresql/pg_hba.conf -c listen_addresses='*' -c max_connections=200
