# Four processes of MinIO with a drive each; the arguments are their addresses. In a container it refuses to be told of
# itself as 127.0.0.1, so it is told the address of the machine, and listens there, too.
set -eu
# Its drives are on one disk.
export MINIO_CI_CD=on
machine=$(hostname -I | cut -d' ' -f1)
drives=
for address in "$@"; do
    drives="$drives http://$machine:${address##*:}$PWD/data/${address##*:}"
done
for address in "$@"; do
    mkdir "data/${address##*:}"
    # shellcheck disable=SC2086 # a word for each drive
    "$PROGRAM" server --quiet --address ":${address##*:}" $drives &
done
wait -n
