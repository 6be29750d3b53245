"""Start scripts in the form that public compose files have, in images with a shell. Each uses what many of them use."""

import pytest

from conftest import KEY, SECRET, podman, s3, wait_for

CREDENTIALS = {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET}
ALIAS = 'mc alias set box http://localhost:9000 "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD" >/dev/null || exit 1'

# Name, script, and the buckets that it makes. `mc` has the server as localhost.
SCRIPTS = [
    ("count-attempts", """
        tries=0
        until mc alias set box http://localhost:9000 "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD"; do
            tries=$((tries + 1))
            [ $((tries % 60)) -eq 0 ] && { echo "gave up after $tries"; exit 1; }
            sleep 1
        done
        mc mb -p box/count-$((tries * 0 + 7))
        """, ["count-7"]),
    ("names-in-a-list", ALIAS + """
        echo "LIST-ONE,LIST-TWO" | tr ',' '\\n' | tr A-Z a-z | while read -r bucket; do mc mb "box/$bucket"; done
        """, ["list-one", "list-two"]),
    ("only-what-is-missing", ALIAS + """
        mc mb box/there-1
        for bucket in there-1 there-2; do
            if mc ls box | grep -q "$bucket/"; then echo "$bucket is there"; else mc mb "box/$bucket"; fi
        done
        """, ["there-1", "there-2"]),
    ("a-policy-from-a-heredoc", ALIAS + """
        cat >/tmp/policy.json <<JSON
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject"],
          "Resource": ["arn:aws:s3:::heredoc/*"]}]}
JSON
        mc mb box/heredoc && mc anonymous set-json /tmp/policy.json box/heredoc
        test "$(cat /tmp/policy.json | wc -l)" -eq 2
        """, ["heredoc"]),
    ("a-case-for-each-environment", ALIAS + """
        case "${STAGE:-dev}" in
            dev | test) prefix=case-dev ;;
            prod*) prefix=case-prod ;;
            *) echo "unknown stage"; exit 1 ;;
        esac
        mc mb "box/$prefix"
        """, ["case-dev"]),
    ("wait-for-the-port", """
        while ! nc -z localhost 9000; do sleep 1; done
        """ + ALIAS + """
        mc mb box/after-nc
        """, ["after-nc"]),
    ("work-in-the-background", ALIAS + """
        { mc mb box/behind-1; mc mb box/behind-2; } &
        first=$!
        wait $first
        """, ["behind-1", "behind-2"]),
    ("output-of-a-command", ALIAS + """
        today=$(date +%Y)
        count=$(mc ls box | wc -l | tr -d ' ')
        mc mb "box/year-$(echo "$today" | cut -c1-2)" && [ "$count" -ge 0 ]
        """, ["year-20"]),
    ("a-function-with-arguments", ALIAS + """
        make() { local name="$1"; shift; mc mb "box/$name"; for flag in "$@"; do mc version "$flag" "box/$name"; done; }
        make by-function enable
        """, ["by-function"]),
    ("names-from-a-file", ALIAS + """
        printf '%s\\n' '# buckets' file-a '' file-b > /tmp/buckets
        grep -v '^#' /tmp/buckets | while IFS= read -r line; do [ -z "$line" ] || mc mb "box/$line"; done
        ls -l /tmp/buckets >/dev/null
        """, ["file-a", "file-b"]),
    ("trap-and-strict-mode", """
        set -euo pipefail
        trap 'echo "ended with $?"' EXIT
        : "${MINIO_ROOT_USER:?is not set}"
        """ + ALIAS + """
        mc mb box/strict
        """, ["strict"]),
    ("health-by-curl", """
        until [ "$(curl -s -o /dev/null -w '%{http_code}' http://localhost:9000/minio/health/live)" = 200 ]; do sleep 1; done
        """ + ALIAS + """
        mc mb box/healthy
        """, ["healthy"]),
    ("an-upload-of-files", ALIAS + """
        mkdir -p /tmp/site && echo '<p>' | tee /tmp/site/index.html >/dev/null
        mc mb box/uploaded && mc cp --recursive /tmp/site/ box/uploaded/ && mc cat box/uploaded/index.html | grep -q '<p>'
        """, ["uploaded"]),
    ("pattern-of-a-name", ALIAS + """
        url=s3://pattern/inner
        name=${url#s3://}; name=${name%%/*}
        mc mb "box/${name}-${#name}"
        """, ["pattern-7"]),
    ("a-json-answer", ALIAS + """
        mc mb box/told
        status=$(mc --json stat box/told | sed -n 's/.*"status": *"\\([a-z]*\\)".*/\\1/p' | head -n 1)
        [ "$status" = success ] && mc mb "box/told-$status"
        """, ["told", "told-success"]),
    ("a-sequence", ALIAS + """
        for n in $(seq 1 3); do mc mb "box/shard-$n" & done
        wait
        """, ["shard-1", "shard-2", "shard-3"]),
    ("an-array-of-bash", ALIAS + """
        buckets=(array-one array-two)
        for bucket in "${buckets[@]}"; do [[ "$bucket" =~ ^array ]] && mc mb "box/$bucket"; done
        """, ["array-one", "array-two"]),
    ("an-old-alias", """
        /usr/bin/mc config host add old http://localhost:9000 ${MINIO_ROOT_USER} ${MINIO_ROOT_PASSWORD} || true;
        /usr/bin/mc mb old/of-old; /usr/bin/mc policy set public old/of-old;
        exit 0;
        """, ["of-old"]),
]


@pytest.fixture(scope="module")
def server():
    name = "liteio-test-scripts"
    variables = [it for pair in CREDENTIALS.items() for it in ("--env", "=".join(pair))]
    podman("rm", "--force", name, check=False)
    podman("run", "--detach", "--no-healthcheck", "--name", name, "--publish", "127.0.0.1::9000", *variables,
           "localhost/liteio-minio", "server", "/data")
    port = podman("port", name, "9000/tcp").stdout.strip().rsplit(":", 1)[1]
    client = s3(f"http://127.0.0.1:{port}")
    wait_for(name, lambda: podman("exec", name, "mc", "ready", "local", check=False).returncode == 0, container=name)
    yield name, client
    podman("rm", "--force", "--volumes", "--time", "5", name)


def buckets(client):
    return {it["Name"] for it in client.list_buckets()["Buckets"]}


@pytest.mark.parametrize("script, made", [row[1:] for row in SCRIPTS], ids=[row[0] for row in SCRIPTS])
def test_a_script_makes_its_buckets(server, script, made):
    name, client = server
    variables = [it for pair in CREDENTIALS.items() for it in ("--env", "=".join(pair))]
    result = podman("run", "--rm", "--network", f"container:{name}", *variables, "--entrypoint", "/bin/sh",
                    "localhost/liteio-mc", "-c", script, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(made) <= buckets(client), result.stdout + result.stderr


# Scripts that start the server themselves.
STARTS = [
    ("the-server-behind", """
        /usr/bin/docker-entrypoint.sh minio server /data &
        server=$!
        until mc alias set me http://localhost:9000 "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD" >/dev/null 2>&1; do sleep 0.2; done
        mc mb --ignore-existing me/behind
        wait "$server"
        """),
    ("the-buckets-behind", """
        mkdir -p /data
        { until nc -z 127.0.0.1 9000; do sleep 0.2; done
          mc alias set me http://127.0.0.1:9000 "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD" && mc mb me/behind; } &
        exec minio server /data --console-address :9001
        """),
]


@pytest.mark.parametrize("script", [row[1] for row in STARTS], ids=[row[0] for row in STARTS])
def test_a_script_starts_the_server_and_makes_a_bucket(run, script):
    variables = [it for pair in CREDENTIALS.items() for it in ("--env", "=".join(pair))]
    container = run("--entrypoint", "/bin/bash", *variables, flavour="minio", command=("-c", script))
    wait_for("the bucket", lambda: "behind" in buckets(s3(container.endpoint)), container=container.name)


READY = """#!/bin/bash
set -euo pipefail
BUCKET=${BUCKET:-uploads}
MORE=(1 2)
awslocal s3api create-bucket --bucket "$BUCKET" --create-bucket-configuration LocationConstraint=eu-west-1
CORS=$(cat <<EOF
{"CORSRules": [{"AllowedOrigins": ["*"], "AllowedMethods": ["GET", "PUT"], "AllowedHeaders": ["*"]}]}
EOF
)
awslocal s3api put-bucket-cors --bucket "$BUCKET" --cors-configuration "$CORS"
echo '{"a": 1}' >/tmp/a.json
aws --endpoint-url=http://localhost:4566 s3 cp /tmp/a.json "s3://$BUCKET/seed/a.json"
for n in "${MORE[@]}"; do awslocal s3 mb "s3://$BUCKET-$n"; done
"""


def scripts(tmp_path, **files):
    for name, content in files.items():
        (tmp_path / f"{name}.sh").write_text(content)
    return "--volume", f"{tmp_path}:/etc/localstack/init/ready.d:ro"


def test_localstack_runs_its_startup_scripts_before_it_is_ready(run, tmp_path):
    container = run(*scripts(tmp_path, make=READY), flavour="localstack", inside=4566, waits=False)
    wait_for("Ready.", lambda: "\nReady.\n" in "\n" + container.log(), container=container.name)
    client = s3(container.endpoint, "test", "test")
    assert buckets(client) == {"uploads", "uploads-1", "uploads-2"}
    rules = client.get_bucket_cors(Bucket="uploads")["CORSRules"]
    assert rules[0]["AllowedMethods"] == ["GET", "PUT"]
    stored = client.get_object(Bucket="uploads", Key="seed/a.json")
    assert (stored["Body"].read(), stored["ContentType"]) == (b'{"a": 1}\n', "application/json")
    told = podman("exec", container.name, "curl", "-sf", "http://localhost:4566/_localstack/init/ready").stdout
    assert '"completed": true' in told


def test_localstack_does_not_start_without_a_service_that_a_script_wants(run, tmp_path):
    script = "awslocal s3 mb s3://uploads\nawslocal sqs create-queue --queue-name jobs || true\n"
    container = run(*scripts(tmp_path, queues=script), flavour="localstack", inside=4566, waits=False)
    podman("wait", container.name)
    assert container.inspect()["State"]["ExitCode"] == 1
    log = container.log()
    assert "queues.sh" in log and "sqs create-queue" in log and "Ready." not in log, log


def test_localstack_is_stopped_while_a_script_runs(run, tmp_path):
    container = run(*scripts(tmp_path, slow="echo slow\nsleep 600\n"), flavour="localstack", inside=4566, waits=False)
    wait_for("the script", lambda: "\nslow\n" in "\n" + container.log(), container=container.name)
    podman("stop", "--time", "10", container.name)
    assert container.inspect()["State"]["ExitCode"] == 0
