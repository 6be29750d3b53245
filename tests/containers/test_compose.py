"""Compose files as they are in the wild, with another image name."""

from conftest import COMPOSE_FILES, check_s3, podman, s3


def check(container, *command):
    """The health check of the file, by hand: timers want systemd."""
    podman("exec", container.name, *command)


def test_the_file_of_the_documents(up, tmp_path):
    document = COMPOSE_FILES.parents[2] / "docs" / "container.md"
    text = document.read_text().split("```yaml\n")[1].split("```")[0]
    for shown, here in (("image: liteio", "image: localhost/liteio-liteio"), ("9000:9000", "${PORT}:9000")):
        assert shown in text
        text = text.replace(shown, here)
    (tmp_path / "documents.yml").write_text(text)
    container, _ = up(tmp_path / "documents.yml")
    check_s3(s3(container.endpoint, "an-access-key", "a-secret-key"))


def test_langfuse(up):
    container, _ = up(COMPOSE_FILES / "langfuse.yml")
    check(container, "mc", "ready", "local")
    client = s3(container.endpoint, "minio", "miniosecret", "auto")
    assert [it["Name"] for it in client.list_buckets()["Buckets"]] == ["langfuse"]
    check_s3(client, "langfuse")


def test_milvus(up):
    container, _ = up(COMPOSE_FILES / "milvus.yml")
    check(container, "curl", "-f", "http://localhost:9000/minio/health/live")
    check_s3(s3(container.endpoint, "minioadmin", "minioadmin"))


def test_suitenumerique_docs(up):
    container, run = up(COMPOSE_FILES / "docs.yml")
    check(container, "mc", "ready", "local")
    run("createbuckets")
    client = s3(container.endpoint, "impress", "password")
    bucket = "impress-media-storage"
    assert client.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    check_s3(client, bucket)


def test_supabase(up):
    container, run = up(COMPOSE_FILES / "supabase.yml")
    check(container, "mc", "ready", "local")
    for _ in range(2):
        run("minio-createbucket")
    check_s3(s3(container.endpoint, "supa-storage", "secret1234", "stub"), "stub")
