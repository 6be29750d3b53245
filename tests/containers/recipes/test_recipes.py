"""The recipes of docs/recipes: their services start as they are written, and clients of the projects use them with their settings."""

import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import pytest
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from conftest import COMPOSE_FILES, free_port, podman, s3, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
RECIPES = ROOT / "docs/recipes"
CLIENTS = pathlib.Path(__file__).parent / "clients"
WORK = ROOT / "target/recipes"


def read(name):
    return yaml.safe_load((RECIPES / f"{name}.yml").read_text())


def output(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert result.returncode == 0, f"{command}: {result.stdout[-6000:]}{result.stderr[-6000:]}"
    return result.stdout


@pytest.fixture
def recipe(up, tmp_path, monkeypatch):
    """Starts the services of a recipe, with the image that is here and a free port: alone, or as an override of `base`."""
    def start(name, base=None, services=("s3",), **variables):
        text = (RECIPES / f"{name}.yml").read_text()
        assert "image: liteio:0.1.0\n" in text
        text = text.replace("image: liteio:0.1.0\n", "image: localhost/liteio-liteio\n")
        if not base:
            text, replaced = re.subn(r"- (127\.0\.0\.1:)?9000:9000", "- 127.0.0.1:${PORT}:9000", text)
            assert replaced == 1
        file = tmp_path / f"{name}.yml"
        file.write_text(text)
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        return up(*([COMPOSE_FILES / f"{base}.yml"] if base else []), file, services=services)

    return start


def settings(container, service, bucket, region="us-east-1", **more):
    """The variables of a client: the credentials are those of the service in the recipe."""
    environment = {key: os.path.expandvars(value) for key, value in service["environment"].items()}
    return os.environ | {"ENDPOINT": container.endpoint, "ACCESS_KEY": environment["LITEIO_ACCESS_KEY"],
                         "SECRET_KEY": environment["LITEIO_SECRET_KEY"], "REGION": region, "BUCKET": bucket} | more


def check_buckets(variables, *names):
    client = s3(variables["ENDPOINT"], variables["ACCESS_KEY"], variables["SECRET_KEY"])
    assert {it["Name"] for it in client.list_buckets()["Buckets"]} == set(names)


def node(name, variables):
    # Modules are looked up from the place of the file.
    copy = WORK / "node" / f"{name}.mjs"
    copy.write_text((CLIENTS / f"node/{name}.mjs").read_text())
    assert output("node", copy, env=variables).strip() == "passed"


def go(name, variables, *arguments):
    variables = variables | {"ENDPOINT": variables["ENDPOINT"].removeprefix("http://")}
    assert output(WORK / "recipes-go", name, *arguments, env=variables).strip() == "passed"


def test_each_recipe_is_in_the_table_and_names_its_test():
    table = (RECIPES / "README.md").read_text()
    for file in RECIPES.iterdir():
        if file.name == "README.md":
            continue
        assert f"[{file.name}]({file.name})" in table
        assert f"def test_{file.stem.replace('-', '_')}(" in pathlib.Path(__file__).read_text()


def test_langfuse(recipe):
    container, _ = recipe("langfuse", base="langfuse", services=())
    service = read("langfuse")["services"]["minio"]
    variables = settings(container, service, "langfuse", "auto", ORIGIN=service["environment"]["LITEIO_CORS_ORIGIN"])
    podman("exec", container.name, "/liteio", "health")
    check_buckets(variables, "langfuse")
    node("langfuse", variables)


def test_supabase(recipe):
    container, once = recipe("supabase", base="supabase", services=("minio",), MINIO_ROOT_USER="supa-storage",
                             MINIO_ROOT_PASSWORD="secret1234", GLOBAL_S3_BUCKET="stub")
    # The service that others wait for ends by itself, with success.
    once("minio-createbucket")
    variables = settings(container, read("supabase")["services"]["minio"], "stub", "stub")
    check_buckets(variables, "stub")
    node("supabase", variables)


def test_milvus(recipe):
    container, _ = recipe("milvus", base="milvus", services=("minio",))
    # No region is set, and the bucket is made by the client.
    services = read("milvus")["services"]
    variables = settings(container, services["minio"], "a-bucket", "")
    app = services["standalone"]["environment"]
    assert (app["MINIO_ACCESS_KEY_ID"], app["MINIO_SECRET_ACCESS_KEY"]) == (variables["ACCESS_KEY"], variables["SECRET_KEY"])
    go("minio-go", variables)


def test_outline(recipe):
    container, _ = recipe("outline")
    services = read("outline")["services"]
    app, server = services["outline"]["environment"], services["s3"]
    origin = server["environment"]["LITEIO_CORS_ORIGIN"]
    variables = settings(container, server, app["AWS_S3_UPLOAD_BUCKET_NAME"], app["AWS_REGION"], ORIGIN=origin)
    assert (app["AWS_ACCESS_KEY_ID"], app["AWS_SECRET_ACCESS_KEY"]) == (variables["ACCESS_KEY"], variables["SECRET_KEY"])
    check_buckets(variables, "outline")
    node("outline", variables)


def test_mattermost(recipe):
    container, _ = recipe("mattermost")
    services = read("mattermost")["services"]
    app = {key.removeprefix("MM_FILESETTINGS_AMAZONS3"): value for key, value in services["mattermost"]["environment"].items()}
    variables = settings(container, services["s3"], app["BUCKET"], app["REGION"])
    assert (app["ACCESSKEYID"], app["SECRETACCESSKEY"]) == (variables["ACCESS_KEY"], variables["SECRET_KEY"])
    check_buckets(variables, "mattermost")
    go("minio-go", variables)


def test_grafana(recipe, tmp_path):
    container, _ = recipe("grafana")
    whole = read("grafana")
    variables = settings(container, whole["services"]["s3"], "tempo")
    check_buckets(variables, "loki", "tempo", "mimir-blocks", "mimir-ruler", "mimir-alertmanager", "thanos")
    parts = {name: yaml.safe_load(part["content"]) for name, part in whole["configs"].items()}
    endpoint = container.endpoint.removeprefix("http://")

    def store(name, access_key, secret_key, bucket):
        config = parts["thanos"]["config"] | {"endpoint": endpoint, "bucket": bucket, "access_key": access_key, "secret_key": secret_key}
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(config))
        go("objstore", variables, str(file))

    loki = parts["loki"]["common"]["storage"]["s3"]
    store("loki", loki["access_key_id"], loki["secret_access_key"], loki["bucketnames"])
    mimir = parts["mimir"]
    for each in ("blocks_storage", "ruler_storage", "alertmanager_storage"):
        common = mimir["common"]["storage"]["s3"]
        store(each, common["access_key_id"], common["secret_access_key"], mimir[each]["s3"]["bucket_name"])
    thanos = parts["thanos"]["config"]
    store("thanos", thanos["access_key"], thanos["secret_key"], thanos["bucket"])
    # Tempo uses minio-go by itself.
    tempo = parts["tempo"]["storage"]["trace"]["s3"]
    go("minio-go", variables | {"BUCKET": tempo["bucket"], "ACCESS_KEY": tempo["access_key"], "SECRET_KEY": tempo["secret_key"]})


def test_nextcloud(recipe):
    container, _ = recipe("nextcloud")
    services = read("nextcloud")["services"]
    app = {key.removeprefix("OBJECTSTORE_S3_"): value for key, value in services["nextcloud"]["environment"].items()}
    variables = settings(container, services["s3"], app["BUCKET"], app["REGION"])
    assert (app["KEY"], app["SECRET"]) == (variables["ACCESS_KEY"], variables["SECRET_KEY"])
    assert (app["HOST"], app["SSL"], app["USEPATH_STYLE"]) == ("s3", "false", "true")
    check_buckets(variables, "nextcloud")
    client = s3(variables["ENDPOINT"], app["KEY"], app["SECRET"])
    bucket = {"Bucket": app["BUCKET"]}
    client.head_bucket(**bucket)
    one = bucket | {"Key": "urn:oid:1"}
    client.put_object(**one, Body=b"small", ACL="private", ContentType="text/plain", StorageClass="STANDARD")
    # Larger files come in parts; all are read by ranges that have no end.
    large = bucket | {"Key": "urn:oid:2"}
    body = os.urandom(6 << 20)
    upload = client.create_multipart_upload(**large, ContentType="video/mp4", StorageClass="STANDARD", ChecksumAlgorithm="CRC32")
    part = large | {"UploadId": upload["UploadId"], "PartNumber": 1}
    sent = client.upload_part(**part, Body=body, ChecksumAlgorithm="CRC32")
    parts = {"Parts": [{"PartNumber": 1, "ETag": sent["ETag"], "ChecksumCRC32": sent["ChecksumCRC32"]}]}
    client.complete_multipart_upload(**large, UploadId=upload["UploadId"], MultipartUpload=parts)
    answer = client.get_object(**large, Range="bytes=1000-")
    assert answer["Body"].read() == body[1000:] and answer["ContentType"] == "video/mp4"
    copy = bucket | {"Key": "urn:oid:3"}
    client.copy_object(**copy, CopySource=one, ACL="private")
    assert client.head_object(**copy)["ContentType"] == "text/plain"
    for each in (one, large, copy):
        client.delete_object(**each)
    assert client.list_objects_v2(**bucket)["KeyCount"] == 0


def test_airbyte(run_server):
    values = read("airbyte")
    assert values["minio"] == {"enabled": False} and values["global"]["storage"]["type"] == "minio"
    config = values["global"]["storage"]["minio"]
    container = run_server(LITEIO_ACCESS_KEY=config["accessKeyId"], LITEIO_SECRET_KEY=config["secretAccessKey"])
    client = s3(container.endpoint, config["accessKeyId"], config["secretAccessKey"])
    for name in sorted(set(values["global"]["storage"]["bucket"].values())):
        bucket = {"Bucket": name}
        # It makes a bucket that is not there.
        with pytest.raises(client.exceptions.ClientError):
            client.head_bucket(**bucket)
        client.create_bucket(**bucket)
        for prefix in ("job-logging", "/state", "/workload/output", "/activity-payloads"):
            keys = [f"{prefix}/{number}/document.json" for number in (1, 2)]
            for key in keys:
                client.put_object(**bucket, Key=key, Body=key.encode())
            # The paths are kept: a slash in front is a part of the key.
            pages = client.get_paginator("list_objects_v2").paginate(**bucket, Prefix=prefix, PaginationConfig={"PageSize": 1})
            assert [it["Key"] for page in pages for it in page["Contents"]] == keys
            assert client.get_object(**bucket, Key=keys[0])["Body"].read() == keys[0].encode()
            client.head_object(**bucket, Key=keys[0])
            client.delete_object(**bucket, Key=keys[0])
            with pytest.raises(client.exceptions.NoSuchKey):
                client.get_object(**bucket, Key=keys[0])


def test_velero(run_server):
    [location] = read("velero")["configuration"]["backupStorageLocation"]
    key, secret = re.findall(r"=(\S+)", read("velero")["credentials"]["secretContents"]["cloud"])
    container = run_server(LITEIO_ACCESS_KEY=key, LITEIO_SECRET_KEY=secret, LITEIO_BUCKET=location["bucket"])
    config = location["config"]
    assert config["s3ForcePathStyle"] == "true" and config["checksumAlgorithm"] == "CRC32"
    go("velero", os.environ | {"ENDPOINT": container.endpoint, "ACCESS_KEY": key, "SECRET_KEY": secret, "REGION": config["region"],
                               "BUCKET": location["bucket"]})


@pytest.fixture
def run_server(request):
    start = request.getfixturevalue("run")

    def with_variables(**environment):
        return start(*(word for key, value in environment.items() for word in ("--env", f"{key}={value}")))

    return with_variables


def test_gitlab(run_server, tmp_path):
    server = run_server(LITEIO_ACCESS_KEY="gitlab", LITEIO_SECRET_KEY="a-secret-key",
                        LITEIO_BUCKET=",".join(re.findall(r"--bucket (\S+)", (RECIPES / "gitlab.rb").read_text())))
    # The recipe itself is read, as the omnibus does, and its connection given to the library that GitLab uses.
    script = """
require 'fog/aws'
gitlab_rails = Hash.new { |hash, key| hash[key] = Hash.new(&hash.default_proc) }
eval File.read(ARGV[0])
store = gitlab_rails['object_store']
connection = store['connection'].transform_keys(&:to_sym).merge(endpoint: ARGV[1])
connection.delete(:provider)
s3 = Fog::AWS::Storage.new(connection)
body = '0123456789abcdef' * (12 << 16)
store['objects'].each_value do |object|
  directory = s3.directories.get(object['bucket']) or raise "no bucket #{object}"
  directory.files.create(key: '@hashed/a/file', body: 'small')
  directory.files.create(key: '@hashed/a/large', body: StringIO.new(body), multipart_chunk_size: 5 << 20)
  raise 'the body differs' unless directory.files.get('@hashed/a/large').body == body
  # Workhorse uploads by such links, in parts.
  s3.put_object_url(object['bucket'], 'tmp/uploads/1', Time.now + 60)
  s3.copy_object(object['bucket'], '@hashed/a/file', object['bucket'], '@hashed/a/copy')
  listed = s3.get_bucket(object['bucket']).body['Contents'].map { |each| each['Key'] }
  raise "listed: #{listed}" unless listed == %w[@hashed/a/copy @hashed/a/file @hashed/a/large]
  s3.delete_multiple_objects(object['bucket'], %w[@hashed/a/copy @hashed/a/file @hashed/a/large])
end
puts store['objects'].size
"""
    assert output("ruby", "-e", script, str(RECIPES / "gitlab.rb"), server.endpoint).split()[-1] == "4"


def test_zammad(recipe):
    container, _ = recipe("zammad")
    services = read("zammad")["services"]
    urls = {service["environment"]["S3_URL"] for name, service in services.items() if name != "s3"}
    [url] = (urllib.parse.urlparse(each) for each in urls)
    variables = settings(container, services["s3"], url.path.strip("/"))
    assert (url.username, url.password) == (variables["ACCESS_KEY"], variables["SECRET_KEY"])
    check_buckets(variables, "zammad")
    options = {key: value == "true" or value for key, value in urllib.parse.parse_qsl(url.query)}
    # All of it goes into the global settings of the SDK.
    script = """
require 'aws-sdk-s3'
require 'json'
Aws.config.update(JSON.parse(ENV['OPTIONS'], symbolize_names: true).merge(
  endpoint: ENV['ENDPOINT'], credentials: Aws::Credentials.new(ENV['ACCESS_KEY'], ENV['SECRET_KEY'])))
s3 = Aws::S3::Client.new
bucket = ENV['BUCKET']
body = Random.bytes(11 << 20)
upload = s3.create_multipart_upload(bucket: bucket, key: 'sha').upload_id
parts = [body.byteslice(0, 5 << 20), body.byteslice(5 << 20, 6 << 20)].each_with_index.map do |chunk, index|
  part = s3.upload_part(bucket: bucket, key: 'sha', upload_id: upload, part_number: index + 1, body: chunk)
  { etag: part.etag, part_number: index + 1 }
end
s3.complete_multipart_upload(bucket: bucket, key: 'sha', upload_id: upload, multipart_upload: { parts: parts })
raise 'the body differs' unless s3.get_object(bucket: bucket, key: 'sha').body.read.b == body
s3.put_object(bucket: bucket, key: 'other', body: 'small')
raise 'listed' unless s3.list_objects_v2(bucket: bucket).contents.map(&:key) == %w[other sha]
s3.delete_object(bucket: bucket, key: 'sha')
puts 'passed'
"""
    assert output("ruby", "-e", script, env=variables | {"OPTIONS": json.dumps(options)}).strip() == "passed"


def test_dagster_s3(run_server, tmp_path):
    text = (RECIPES / "dagster_s3.py").read_text()
    variables = os.environ | {"AWS_ACCESS_KEY_ID": "an-access-key", "AWS_SECRET_ACCESS_KEY": "a-secret-key", "AWS_REGION": "us-east-1",
                              "DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "yes"}
    server = run_server(LITEIO_ACCESS_KEY="an-access-key", LITEIO_SECRET_KEY="a-secret-key", LITEIO_BUCKET="dagster")
    # dagster.yaml of the comment.
    instance = "\n".join(re.findall(r"^#     (.*)$", text, re.MULTILINE)).replace("http://localhost:9000", server.endpoint)
    (tmp_path / "dagster.yaml").write_text(f"{instance}\ntelemetry: {{enabled: false}}\n")
    output(WORK / "venv/bin/dagster", "asset", "materialize", "--select", "*", "-f", RECIPES / "dagster_s3.py", cwd=tmp_path,
        env=variables | {"S3_ENDPOINT": server.endpoint, "PYTHONDONTWRITEBYTECODE": "1"})
    client = s3(server.endpoint, "an-access-key", "a-secret-key")
    keys = [it["Key"] for it in client.list_objects_v2(Bucket="dagster")["Contents"]]
    assert {"assets/numbers", "assets/total"} < set(keys)
    assert any(key.startswith("logs/") for key in keys), keys


def test_pgbackrest(run, request):
    """A cluster is backed up, changed, lost and restored, up to the last segment of its log."""
    user = pwd.getpwnam("postgres")
    server = run("--env", "LITEIO_TLS_SELF_SIGNED=true", "--env", "LITEIO_ACCESS_KEY=an-access-key", "--env",
                 "LITEIO_SECRET_KEY=a-secret-key", "--env", "LITEIO_BUCKET=postgres", waits=False)
    wait_for("the server", lambda: podman("exec", server.name, "/liteio", "health", check=False).returncode == 0)
    port = server.endpoint.rsplit(":", 1)[1]
    # Not below pytest's directory, which only root may enter.
    home = pathlib.Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(home))
    podman("cp", f"{server.name}:/data/tls/certificate.pem", str(home / "ca.pem"))
    # The recipe, with places of this test.
    text = (RECIPES / "pgbackrest.conf").read_text()
    for shown, here in (("/etc/pgbackrest/liteio.pem", home / "ca.pem"), ("repo1-storage-port=9000", f"repo1-storage-port={port}"),
                        ("/var/lib/postgresql/15/main", home / "data")):
        assert shown in text
        text = text.replace(str(shown), str(here))
    text = text.replace("[global]", f"[global]\nlog-path={home}\nspool-path={home}\nlock-path={home}")
    local = free_port()
    text += f"pg1-port={local}\npg1-socket-path={home}\n"
    (home / "pgbackrest.conf").write_text(text)
    for each in (home, *home.iterdir()):
        os.chown(each, user.pw_uid, user.pw_gid)
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]

    def as_postgres(*command):
        return output(*map(str, command), cwd=home, user="postgres", group=user.pw_gid, extra_groups=[],
                                env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"})

    backrest = ["pgbackrest", f"--config={home}/pgbackrest.conf", "--stanza=main"]
    psql = ["psql", "--no-psqlrc", "-h", home, "-p", local, "-d", "postgres", "-Atc"]

    def start():
        as_postgres("pg_ctl", "-D", home / "data", "-w", "-l", home / "log", "start")

    as_postgres("initdb", "-D", home / "data", "-A", "trust", "--no-sync")
    archive = " ".join([*backrest, "archive-push", "%p"])
    with (home / "data/postgresql.conf").open("a") as file:
        file.write(f"port = {local}\nunix_socket_directories = '{home}'\nlisten_addresses = ''\n"
                   f"archive_mode = on\narchive_command = '{archive}'\n")
    start()
    try:
        as_postgres(*backrest, "stanza-create")
        as_postgres(*backrest, "check")
        as_postgres(*psql, "create table t as select generate_series(1, 1000) as n")
        as_postgres(*backrest, "backup", "--type=full")
        as_postgres(*psql, "insert into t values (1001)")
        as_postgres(*backrest, "backup", "--type=incr")
        as_postgres(*psql, "insert into t values (1002)")
        as_postgres(*psql, "select pg_switch_wal()")
    finally:
        as_postgres("pg_ctl", "-D", home / "data", "-w", "-m", "fast", "stop")
    as_postgres("rm", "-r", home / "data")
    as_postgres("mkdir", "-m", "700", home / "data")
    as_postgres(*backrest, "restore")
    start()
    try:
        assert as_postgres(*psql, "select count(*) from t").strip() == "1002"
        told = json.loads(as_postgres(*backrest, "info", "--output=json"))
        assert [it["type"] for it in told[0]["backup"]] == ["full", "incr"]
    finally:
        as_postgres("pg_ctl", "-D", home / "data", "-w", "-m", "fast", "stop")


def check_job(run_server, service, variables, script, cwd):
    """The service of a job, started as a runner does: without arguments. Then the commands of the job."""
    server = run_server(**service)
    # The runner waits for the health check of the image.
    [image] = json.loads(podman("image", "inspect", "localhost/liteio-liteio").stdout)
    kind, *command = image["Healthcheck"]["Test"]
    assert kind == "CMD"
    podman("exec", server.name, *command)
    environment = os.environ | variables | {"AWS_ENDPOINT_URL": server.endpoint, "PATH": f"{WORK}/venv/bin:{os.environ['PATH']}"}
    told = output("bash", "-euo", "pipefail", "-c", script, cwd=cwd, env=environment)
    assert '"Status": "Enabled"' in told, told
    client = s3(server.endpoint, variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"])
    assert client.get_object(Bucket="photos", Key="hello.txt")["Body"].read() == b"hello\n"


def test_github_actions(run_server, tmp_path):
    job = read("github-actions")["jobs"]["test"]
    service = job["services"]["s3"]
    assert service["image"] == "liteio:0.1.0"
    [step] = job["steps"]
    check_job(run_server, service["env"], job["env"], step["run"], tmp_path)


def test_gitlab_ci(run_server, tmp_path):
    job = read("gitlab-ci")["test"]
    [service] = job["services"]
    assert service["name"] == "liteio:0.1.0" and job["variables"]["AWS_ENDPOINT_URL"] == f"http://{service['alias']}:9000"
    script = [line for line in job["script"] if not line.startswith("pip install")]
    check_job(run_server, service["variables"], job["variables"], "\n".join(script), tmp_path)
