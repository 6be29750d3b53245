# LiteIO servers over a PostgreSQL, with their bodies in one directory.
set -eu
. ./postgres.sh
mkdir bodies
export LITEIO_METADATA="postgres://bench@127.0.0.1:$POSTGRES_PORT/postgres" LITEIO_BLOBS="file://$PWD/bodies"
export LITEIO_MASTER_KEY_FILE="$PWD/master.key"
"$PROGRAM" cluster create
for address in "$@"; do
    "$PROGRAM" server --log off --address "$address" --server-name "$address" \
        --access-key "$ACCESS" --secret-key "$SECRET" &
done
# The end of one is that of all.
wait -n
