# SeaweedFS with its filer on a PostgreSQL; the arguments are those of `weed`, which reads filer.toml here.
set -eu
. ./postgres.sh
"$PROGRAM" "$@" &
wait -n
