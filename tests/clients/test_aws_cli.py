"""What users do with the AWS CLI: buckets, large files, sync both ways, presigned URLs, s3api."""

import json
import os
import pathlib
import time
import urllib.error
import urllib.request
import uuid

MIB = 1 << 20


def fresh_bucket(aws):
    name = f"cli-{uuid.uuid4().hex[:16]}"
    assert f"make_bucket: {name}" in aws("s3", "mb", f"s3://{name}")
    return name


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def tree(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_a_bucket_is_made_listed_and_removed(aws):
    bucket = fresh_bucket(aws)
    assert bucket in aws("s3", "ls")
    aws("s3", "rb", f"s3://{bucket}")
    assert bucket not in aws("s3", "ls")


def test_a_bucket_with_objects_is_removed_only_by_force(aws, tmp_path):
    bucket = fresh_bucket(aws)
    write(tmp_path / "a", b"a")
    aws("s3", "cp", "a", f"s3://{bucket}/a")
    refused = aws("s3", "rb", f"s3://{bucket}", check=False)
    assert refused.returncode != 0 and "BucketNotEmpty" in refused.stderr
    aws("s3", "rb", f"s3://{bucket}", "--force")


def test_large_files_go_up_and_come_back(aws, tmp_path):
    bucket = fresh_bucket(aws)
    data = os.urandom(40 * MIB + 123)
    write(tmp_path / "large", data)
    aws("s3", "cp", "large", f"s3://{bucket}/dir/large")
    aws("s3", "cp", f"s3://{bucket}/dir/large", f"s3://{bucket}/copy of large")
    aws("s3", "cp", f"s3://{bucket}/copy of large", "back")
    assert (tmp_path / "back").read_bytes() == data
    head = json.loads(aws("s3api", "head-object", "--bucket", bucket, "--key", "dir/large"))
    assert head["ContentLength"] == len(data) and head["ETag"].endswith('-6"')


def test_a_stream_of_unknown_length_is_stored(aws, tmp_path, server):
    bucket = fresh_bucket(aws)
    write(tmp_path / "in", b"piped" * 1000)
    import subprocess
    from conftest import ACCESS_KEY, SECRET_KEY
    environment = dict(os.environ, AWS_ACCESS_KEY_ID=ACCESS_KEY, AWS_SECRET_ACCESS_KEY=SECRET_KEY,
                       AWS_DEFAULT_REGION="us-east-1")
    with open(tmp_path / "in", "rb") as source:
        subprocess.run(["aws", "--endpoint-url", server.endpoint, "s3", "cp", "-",
                        f"s3://{bucket}/piped"], stdin=source, check=True, env=environment)
    assert aws("s3", "cp", f"s3://{bucket}/piped", "-") == "piped" * 1000


def test_sync_both_ways(aws, tmp_path):
    bucket = fresh_bucket(aws)
    source, target = tmp_path / "source", tmp_path / "target"
    for name in ["a.txt", "deep/er/b.bin", "ünïcode/ключ", "space and +plus", "c%20d"]:
        write(source / name, name.encode() * 100)
    write(source / "large", os.urandom(9 * MIB))
    # S3's times have whole seconds: a file of this very second would look newer than its object.
    for file in filter(pathlib.Path.is_file, source.rglob("*")):
        os.utime(file, (time.time() - 60, time.time() - 60))
    aws("s3", "sync", "source", f"s3://{bucket}/root")
    aws("s3", "sync", f"s3://{bucket}/root", "target")
    assert tree(source) == tree(target)

    (source / "a.txt").unlink()
    write(source / "deep/er/b.bin", b"changed and longer than before" * 50)
    os.utime(source / "deep/er/b.bin", (time.time() - 60, time.time() - 60))
    aws("s3", "sync", "source", f"s3://{bucket}/root", "--delete")
    aws("s3", "sync", f"s3://{bucket}/root", "target", "--delete")
    assert tree(source) == tree(target)
    assert aws("s3", "sync", "source", f"s3://{bucket}/root").strip() == ""


def test_remove_recursive_with_filters(aws, tmp_path):
    bucket = fresh_bucket(aws)
    for number in range(30):
        write(tmp_path / f"files/{number}.{'log' if number % 2 else 'txt'}", b"x")
    aws("s3", "cp", "files", f"s3://{bucket}/", "--recursive")
    aws("s3", "rm", f"s3://{bucket}/", "--recursive", "--exclude", "*", "--include", "*.log")
    left = aws("s3", "ls", f"s3://{bucket}", "--recursive").split("\n")
    assert len([line for line in left if line]) == 15
    assert not any(line.endswith(".log") for line in left)
    aws("s3", "rm", f"s3://{bucket}", "--recursive")
    assert aws("s3", "ls", f"s3://{bucket}", check=False).stdout == ""


def test_a_presigned_url_works_without_credentials(aws, tmp_path):
    bucket = fresh_bucket(aws)
    write(tmp_path / "a", b"for everyone with the link")
    aws("s3", "cp", "a", f"s3://{bucket}/a b+c")
    url = aws("s3", "presign", f"s3://{bucket}/a b+c").strip()
    assert urllib.request.urlopen(url).read() == b"for everyone with the link"
    try:
        urllib.request.urlopen(url.replace("/a%20b", "/c%20b"))
        raise AssertionError("a changed URL was accepted")
    except urllib.error.HTTPError as refused:
        assert refused.code == 403 and b"SignatureDoesNotMatch" in refused.read()


def test_multipart_by_hand(aws, tmp_path):
    bucket = fresh_bucket(aws)
    parts = [os.urandom(5 * MIB), os.urandom(1000)]
    created = json.loads(aws("s3api", "create-multipart-upload", "--bucket", bucket, "--key", "k"))
    upload = created["UploadId"]
    finished = []
    for number, data in enumerate(parts, 1):
        write(tmp_path / f"part{number}", data)
        part = json.loads(aws(
            "s3api", "upload-part", "--bucket", bucket, "--key", "k", "--upload-id", upload,
            "--part-number", str(number), "--body", f"part{number}"))
        finished.append({"PartNumber": number, "ETag": part["ETag"]})
    listed = json.loads(aws("s3api", "list-parts", "--bucket", bucket, "--key", "k",
                            "--upload-id", upload))
    assert [part["Size"] for part in listed["Parts"]] == [len(data) for data in parts]
    uploads = json.loads(aws("s3api", "list-multipart-uploads", "--bucket", bucket))
    assert uploads["Uploads"][0]["UploadId"] == upload
    write(tmp_path / "parts.json", json.dumps({"Parts": finished}).encode())
    aws("s3api", "complete-multipart-upload", "--bucket", bucket, "--key", "k",
        "--upload-id", upload, "--multipart-upload", "file://parts.json")
    aws("s3api", "get-object", "--bucket", bucket, "--key", "k", "whole")
    assert (tmp_path / "whole").read_bytes() == b"".join(parts)
    aws("s3api", "get-object", "--bucket", bucket, "--key", "k", "--range", "bytes=5242870-5242889",
        "middle")
    assert (tmp_path / "middle").read_bytes() == b"".join(parts)[5242870:5242890]


def test_errors_name_what_is_wrong(aws):
    bucket = fresh_bucket(aws)
    missing = aws("s3api", "get-object", "--bucket", bucket, "--key", "none", "out", check=False)
    assert "NoSuchKey" in missing.stderr
    missing = aws("s3", "ls", "s3://no-such-bucket-here", check=False)
    assert "NoSuchBucket" in missing.stderr


def test_versions_locks_tags_and_rules_by_s3api(aws, tmp_path):
    bucket = f"cli-{uuid.uuid4().hex[:16]}"
    api = lambda operation, *arguments: aws(
        "s3api", operation, "--bucket", bucket, *arguments, "--output", "json")
    api("create-bucket", "--object-lock-enabled-for-bucket")
    write(tmp_path / "a", b"first")
    named = ("--key", "a")
    put = json.loads(api("put-object", *named, "--body", "a", "--tagging", "stage=raw"))
    version = ("--version-id", put["VersionId"])
    aws("s3", "rm", f"s3://{bucket}/a")
    found = json.loads(api("list-object-versions"))
    assert len(found["Versions"]) == len(found["DeleteMarkers"]) == 1
    tags = json.loads(api("get-object-tagging", *named, *version))["TagSet"]
    assert tags == [{"Key": "stage", "Value": "raw"}]
    api("put-object-legal-hold", *named, *version, "--legal-hold", "Status=ON")
    refused = aws("s3api", "delete-object", "--bucket", bucket, *named, *version, check=False)
    assert refused.returncode != 0 and "AccessDenied" in refused.stderr
    api("put-object-legal-hold", *named, *version, "--legal-hold", "Status=OFF")
    api("delete-object", *named, *version)
    rule = {"ID": "r", "Status": "Enabled", "Filter": {"Prefix": "x"}, "Expiration": {"Days": 1}}
    api("put-bucket-lifecycle-configuration",
        "--lifecycle-configuration", json.dumps({"Rules": [rule]}))
    assert json.loads(api("get-bucket-lifecycle-configuration"))["Rules"] == [rule]


def test_encryption_by_the_options_of_cp(aws, tmp_path):
    bucket = fresh_bucket(aws)
    data = os.urandom(9 * MIB)
    write(tmp_path / "in", data)
    (tmp_path / "key").write_bytes(os.urandom(32))
    mine = ("--sse-c", "AES256", "--sse-c-key", "fileb://key")
    for name, up, down in (("s3", ("--sse",), ()),
                           ("kms", ("--sse", "aws:kms", "--sse-kms-key-id", "reports"), ()),
                           ("mine", mine, mine)):
        aws("s3", "cp", "in", f"s3://{bucket}/{name}", *up)
        aws("s3", "cp", f"s3://{bucket}/{name}", "out", *down)
        assert (tmp_path / "out").read_bytes() == data
    refused = aws("s3", "cp", f"s3://{bucket}/mine", "out", check=False)
    assert refused.returncode != 0
    head = json.loads(aws("s3api", "head-object", "--bucket", bucket, "--key", "kms"))
    assert head["ServerSideEncryption"] == "aws:kms" and head["SSEKMSKeyId"] == "reports"


def test_vectors_are_put_found_listed_and_deleted(aws, tmp_path):
    bucket, index = f"cli-{uuid.uuid4().hex[:16]}", "films"
    place = ("--vector-bucket-name", bucket, "--index-name", index)

    def vectors(operation, *arguments):
        text = aws("s3vectors", operation, *arguments)
        return json.loads(text) if text else {}

    vectors("create-vector-bucket", "--vector-bucket-name", bucket)
    made = vectors("create-index", *place, "--data-type", "float32", "--dimension", "3",
                   "--distance-metric", "cosine")
    assert made["indexArn"].endswith(f":bucket/{bucket}/index/{index}")
    films = [
        {"key": "alien", "data": {"float32": [0.9, 0.1, 0.2]}, "metadata": {"year": 1979}},
        {"key": "amélie", "data": {"float32": [0.1, 0.9, 0.4]}, "metadata": {"year": 2001}},
        {"key": "up", "data": {"float32": [0.2, 0.8, 0.5]}, "metadata": {"year": 2009}},
    ]
    write(tmp_path / "films.json", json.dumps(films).encode())
    vectors("put-vectors", *place, "--vectors", "file://films.json")
    found = vectors("query-vectors", *place, "--top-k", "2", "--query-vector",
                    '{"float32": [0.8, 0.2, 0.1]}', "--filter", '{"year": {"$gt": 2000}}',
                    "--return-metadata", "--return-distance")
    assert [vector["key"] for vector in found["vectors"]] == ["up", "amélie"]
    assert found["vectors"][0]["metadata"] == {"year": 2009}
    assert found["distanceMetric"] == "cosine" and 0 < found["vectors"][0]["distance"] < 1
    got = vectors("get-vectors", *place, "--keys", "alien", "--return-data", "--return-metadata")
    assert got["vectors"][0]["metadata"] == {"year": 1979}
    assert [round(x, 6) for x in got["vectors"][0]["data"]["float32"]] == [0.9, 0.1, 0.2]
    # The CLI follows the pages by itself.
    listed = vectors("list-vectors", *place, "--page-size", "1")
    assert sorted(vector["key"] for vector in listed["vectors"]) == ["alien", "amélie", "up"]
    assert [it["indexName"] for it in
            vectors("list-indexes", "--vector-bucket-name", bucket)["indexes"]] == [index]

    wrong = aws("s3vectors", "query-vectors", *place, "--top-k", "1", "--query-vector",
                '{"float32": [1, 2]}', check=False)
    assert wrong.returncode != 0 and "ValidationException" in wrong.stderr
    films[0]["metadata"]["text"] = "x" * (40 << 20)
    write(tmp_path / "films.json", json.dumps(films).encode())
    large = aws("s3vectors", "put-vectors", *place, "--vectors", "file://films.json", check=False)
    assert large.returncode != 0 and "Request body exceeds max allowed size" in large.stderr
    full = aws("s3vectors", "delete-vector-bucket", "--vector-bucket-name", bucket, check=False)
    assert full.returncode != 0 and "ConflictException" in full.stderr
    vectors("delete-vectors", *place, "--keys", "alien", "up")
    assert [vector["key"] for vector in vectors("list-vectors", *place)["vectors"]] == ["amélie"]
    vectors("delete-index", *place)
    vectors("delete-vector-bucket", "--vector-bucket-name", bucket)
    gone = aws("s3vectors", "get-vector-bucket", "--vector-bucket-name", bucket, check=False)
    assert gone.returncode != 0 and "NotFoundException" in gone.stderr


def test_tags_and_policies_of_vector_buckets_are_kept(aws):
    bucket = f"cli-{uuid.uuid4().hex[:16]}"
    name = ("--vector-bucket-name", bucket)
    aws("s3vectors", "create-vector-bucket", *name)
    arn = json.loads(aws("s3vectors", "get-vector-bucket", *name))["vectorBucket"]["vectorBucketArn"]
    aws("s3vectors", "tag-resource", "--resource-arn", arn, "--tags", "team=search,stage=test")
    aws("s3vectors", "untag-resource", "--resource-arn", arn, "--tag-keys", "stage")
    tags = json.loads(aws("s3vectors", "list-tags-for-resource", "--resource-arn", arn))
    assert tags["tags"] == {"team": "search"}
    policy = {"Version": "2012-10-17", "Statement": [{
        "Sid": "read", "Effect": "Allow", "Principal": {"AWS": "000000000000"},
        "Action": "s3vectors:QueryVectors", "Resource": f"{arn}/index/*"}]}
    aws("s3vectors", "put-vector-bucket-policy", *name, "--policy", json.dumps(policy))
    kept = json.loads(aws("s3vectors", "get-vector-bucket-policy", *name))["policy"]
    assert json.loads(kept) == policy
    aws("s3vectors", "delete-vector-bucket-policy", *name)
    gone = aws("s3vectors", "get-vector-bucket-policy", *name, check=False)
    assert gone.returncode != 0 and "NotFoundException" in gone.stderr
    aws("s3vectors", "delete-vector-bucket", *name)


def test_acls_and_ownership_by_flags(aws):
    bucket = f"cli-{uuid.uuid4().hex[:16]}"
    name = ("--bucket", bucket)
    aws("s3api", "create-bucket", *name, "--object-ownership", "ObjectWriter", "--acl", "public-read")
    acl = json.loads(aws("s3api", "get-bucket-acl", *name))
    owner = acl["Owner"]["ID"]
    everybody = "http://acs.amazonaws.com/groups/global/AllUsers"
    assert [grant["Grantee"].get("URI") for grant in acl["Grants"]] == [None, everybody]
    aws("s3api", "put-object", *name, "--key", "k")
    aws("s3api", "put-object-acl", *name, "--key", "k", "--grant-read", f"id={owner},uri={everybody}")
    grants = json.loads(aws("s3api", "get-object-acl", *name, "--key", "k"))["Grants"]
    assert [grant["Permission"] for grant in grants] == ["READ", "READ"]
    controls = json.loads(aws("s3api", "get-bucket-ownership-controls", *name))
    assert controls["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "ObjectWriter"}]
    aws("s3api", "delete-bucket-ownership-controls", *name)
    gone = aws("s3api", "get-bucket-ownership-controls", *name, check=False)
    assert gone.returncode != 0 and "OwnershipControlsNotFoundError" in gone.stderr
