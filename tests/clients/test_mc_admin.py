"""`mc admin`, the client of MinIO, against the admin API. MC names its binary; the script `run` builds one."""

import json
import os
import subprocess
import time

import pytest

from conftest import ACCESS_KEY, SECRET_KEY

READ_REPORTS = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::mc-admin/reports/*"]}]}
OPERATORS = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["admin:ListUsers"]}]}

pytestmark = pytest.mark.skipif(not os.environ.get("MC"), reason="there is no mc: run builds one")


class Client:
    """mc with a configuration of its own."""

    def __init__(self, directory, endpoint):
        self.directory, self.endpoint = directory, endpoint
        certificates = os.environ.get("SSL_CERT_FILE")
        self.environment = {"HOME": str(directory), "PATH": os.environ["PATH"]}
        if certificates:
            self.environment["SSL_CERT_FILE"] = certificates
        self.login("lite", ACCESS_KEY, SECRET_KEY)

    def login(self, alias, access_key, secret_key):
        url = self.endpoint.replace("://", f"://{access_key}:{secret_key}@")
        self.environment[f"MC_HOST_{alias}"] = url

    def command(self, *arguments):
        return [os.environ["MC"], "--config-dir", str(self.directory / "mc"), "--json", *arguments]

    def run(self, *arguments, check=True):
        """The documents that it prints."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=120,
                              env=self.environment)
        documents = parse(done.stdout)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
            return documents
        assert done.returncode != 0, done.stdout
        # Some versions tell of their progress before.
        failed = next(it for it in documents if "error" in it)
        return failed["error"]["cause"]["error"]["Code"]


def parse(text):
    decoder, documents, place = json.JSONDecoder(), [], 0
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        document, place = decoder.raw_decode(text, place)
        documents.append(document)
    return documents


@pytest.fixture
def mc(server, tmp_path):
    client = Client(tmp_path, server.endpoint)
    yield client
    for user in client.run("admin", "user", "list", "lite"):
        client.run("admin", "user", "remove", "lite", user["accessKey"])
    for group in client.run("admin", "group", "list", "lite")[0].get("groups") or []:
        client.run("admin", "group", "remove", "lite", group)


def write(tmp_path, name, document):
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_users_are_added_disabled_and_removed(mc):
    mc.run("admin", "user", "add", "lite", "carol", "carol-secret")
    users = mc.run("admin", "user", "list", "lite")
    # Other tests have left users of theirs.
    assert ("carol", "enabled") in [(it["accessKey"], it["userStatus"]) for it in users]
    mc.run("admin", "policy", "attach", "lite", "readwrite", "--user", "carol")
    info = mc.run("admin", "user", "info", "lite", "carol")[0]
    assert info["policyName"] == "readwrite" and info["userStatus"] == "enabled"
    mc.login("carol", "carol", "carol-secret")
    mc.run("mb", "--ignore-existing", "carol/mc-admin")
    mc.run("admin", "user", "disable", "lite", "carol")
    assert mc.run("ls", "carol", check=False) == "InvalidAccessKeyId"
    mc.run("admin", "user", "enable", "lite", "carol")
    mc.run("ls", "carol")
    mc.run("admin", "user", "add", "lite", "carol", "another-secret")
    assert mc.run("ls", "carol", check=False) == "SignatureDoesNotMatch"
    mc.run("admin", "user", "remove", "lite", "carol")
    assert mc.run("admin", "user", "info", "lite", "carol", check=False) == "XMinioAdminNoSuchUser"
    assert mc.run("admin", "user", "add", "lite", "dave", "12345678901"[:7], check=False) \
        == "XMinioAdminInvalidSecretKey"


def test_policies_are_made_attached_and_told(mc, tmp_path):
    mc.run("admin", "policy", "create", "lite", "reports", write(tmp_path, "r", READ_REPORTS))
    names = {it["policy"] for it in mc.run("admin", "policy", "list", "lite")}
    assert {"reports", "readonly", "readwrite", "writeonly", "diagnostics", "consoleAdmin"} <= names
    info = mc.run("admin", "policy", "info", "lite", "reports")[0]
    assert info["policyInfo"]["Policy"] == READ_REPORTS
    mc.run("admin", "user", "add", "lite", "erin", "erin-secret")
    mc.run("admin", "policy", "attach", "lite", "reports", "readonly", "--user", "erin")
    # The client takes the error that it is attached already for success.
    mc.run("admin", "policy", "attach", "lite", "reports", "--user", "erin")
    entities = mc.run("admin", "policy", "entities", "lite", "--user", "erin")[0]["result"]
    assert sorted(entities["userMappings"][0]["policies"]) == ["readonly", "reports"]
    in_use = mc.run("admin", "policy", "remove", "lite", "reports", check=False)
    assert in_use == "XMinioIAMPolicyInUse"
    mc.run("admin", "policy", "detach", "lite", "reports", "--user", "erin")
    mc.run("admin", "policy", "remove", "lite", "reports")
    gone = mc.run("admin", "policy", "info", "lite", "reports", check=False)
    assert gone == "XMinioAdminNoSuchPolicy"


def test_groups_give_their_policies_to_their_members(mc):
    mc.run("admin", "user", "add", "lite", "frank", "frank-secret")
    mc.login("frank", "frank", "frank-secret")
    assert mc.run("mb", "frank/mc-admin-group", check=False) == "AccessDenied"
    mc.run("admin", "group", "add", "lite", "writers", "frank")
    mc.run("admin", "policy", "attach", "lite", "readwrite", "--group", "writers")
    mc.run("mb", "--ignore-existing", "frank/mc-admin-group")
    info = mc.run("admin", "group", "info", "lite", "writers")[0]
    assert (info["members"], info["groupPolicy"]) == (["frank"], "readwrite")
    assert mc.run("admin", "group", "list", "lite")[0]["groups"] == ["writers"]
    mc.run("admin", "group", "disable", "lite", "writers")
    assert mc.run("rb", "frank/mc-admin-group", check=False) == "AccessDenied"
    mc.run("admin", "group", "enable", "lite", "writers")
    mc.run("rb", "frank/mc-admin-group")
    full = mc.run("admin", "group", "remove", "lite", "writers", check=False)
    assert full == "XMinioAdminGroupNotEmpty"
    mc.run("admin", "group", "remove", "lite", "writers", "frank")
    mc.run("admin", "group", "remove", "lite", "writers")


def test_service_accounts_have_the_rights_of_their_user_or_less(mc, tmp_path):
    mc.run("mb", "--ignore-existing", "lite/mc-admin")
    policy = write(tmp_path, "p", READ_REPORTS)
    made = mc.run("admin", "user", "svcacct", "add", "lite", ACCESS_KEY, "--policy", policy,
                  "--name", "reports", "--description", "reads reports")[0]
    key, secret = made["accessKey"], made["secretKey"]
    mc.login("narrow", key, secret)
    assert mc.run("ls", "narrow/mc-admin", check=False) == "AccessDenied"
    listed = mc.run("admin", "user", "svcacct", "list", "lite", ACCESS_KEY)
    assert [it["accessKey"] for it in listed] == [key]
    info = mc.run("admin", "user", "svcacct", "info", "lite", key)[0]
    assert (info["parentUser"], info["name"], info["accountStatus"]) == (ACCESS_KEY, "reports", "on")
    assert info["policy"]["Statement"][0]["Action"] == ["s3:GetObject"]
    mc.run("admin", "user", "svcacct", "edit", "lite", key, "--secret-key", "another-secret")
    mc.run("admin", "user", "svcacct", "disable", "lite", key)
    mc.login("narrow", key, "another-secret")
    assert mc.run("ls", "narrow/mc-admin", check=False) == "InvalidAccessKeyId"
    mc.run("admin", "user", "svcacct", "rm", "lite", key)
    assert mc.run("admin", "user", "svcacct", "list", "lite", ACCESS_KEY) == []


def test_access_keys_of_users_are_listed(mc):
    mc.run("admin", "user", "add", "lite", "grace", "grace-secret")
    mc.run("admin", "policy", "attach", "lite", "readwrite", "--user", "grace")
    mc.login("grace", "grace", "grace-secret")
    # One's own needs no right.
    made = mc.run("admin", "accesskey", "create", "grace")[0]
    listed = mc.run("admin", "accesskey", "list", "lite", "--all")
    keys = {it["user"]: [key["accessKey"] for key in it.get("svcaccs") or []] for it in listed}
    assert keys["grace"] == [made["accessKey"]]
    mc.login("service", made["accessKey"], made["secretKey"])
    mc.run("ls", "service")


def test_rights_are_those_of_policies(mc, tmp_path):
    mc.run("admin", "user", "add", "lite", "heidi", "heidi-secret")
    mc.login("heidi", "heidi", "heidi-secret")
    assert mc.run("admin", "user", "list", "heidi", check=False) == "AccessDenied"
    mc.run("admin", "policy", "create", "lite", "operators", write(tmp_path, "o", OPERATORS))
    mc.run("admin", "policy", "attach", "lite", "operators", "--user", "heidi")
    assert [it["accessKey"] for it in mc.run("admin", "user", "list", "heidi")] == ["heidi"]
    assert mc.run("admin", "user", "add", "heidi", "ivan", "ivan-secret", check=False) == "AccessDenied"
    mc.run("admin", "policy", "detach", "lite", "operators", "--user", "heidi")
    mc.run("admin", "policy", "remove", "lite", "operators")
    mc.login("wrong", ACCESS_KEY, "a wrong secret".replace(" ", "-"))
    assert mc.run("admin", "user", "list", "wrong", check=False) == "SignatureDoesNotMatch"


def test_the_server_tells_of_its_buckets(mc, tmp_path):
    mc.run("mb", "lite/mc-admin-info")
    file = tmp_path / "object"
    file.write_bytes(b"x" * 1000)
    mc.run("cp", str(file), "lite/mc-admin-info/object")
    info = mc.run("admin", "info", "lite")[0]["info"]
    assert info["mode"] == "online" and info["backend"]["backendType"] == "FS"
    assert info["buckets"]["count"] >= 1 and info["objects"]["count"] >= 1
    assert info["usage"]["size"] >= 1000
    stat = mc.run("stat", "lite/mc-admin-info")[0]
    assert (stat["Usage"]["size"], stat["Usage"]["objectsCount"]) == (1000, 1)
    mc.run("rb", "--force", "lite/mc-admin-info")


def test_a_quota_refuses_what_is_beyond_it(mc, tmp_path):
    mc.run("mb", "lite/mc-admin-quota")
    target = "lite/mc-admin-quota"
    assert mc.run("quota", "set", target, "--size", "1KiB")[0]["quota"] == 1024
    told = mc.run("quota", "info", target)[0]
    assert (told["quota"], told["type"]) == (1024, "hard")
    file = tmp_path / "object"
    file.write_bytes(b"x" * 1025)
    refused = mc.run("cp", str(file), f"{target}/object", check=False)
    assert refused == "XMinioAdminBucketQuotaExceeded"
    mc.run("quota", "clear", target)
    assert "quota" not in mc.run("quota", "info", target)[0]
    mc.run("cp", str(file), f"{target}/object")
    mc.run("rb", "--force", target)


def test_the_trace_tells_of_requests(mc):
    listening = subprocess.Popen(mc.command("admin", "trace", "lite"), stdout=subprocess.PIPE,
                                 env=mc.environment)
    try:
        os.set_blocking(listening.stdout.fileno(), False)
        deadline, heard = time.monotonic() + 60, b""
        while b"s3.ListBuckets" not in heard or not heard.endswith(b"}\n"):
            assert time.monotonic() < deadline, heard
            mc.run("ls", "lite")
            heard += listening.stdout.read() or b""
        told = parse(heard.decode())
        first = next(it for it in told if it["api"] == "s3.ListBuckets")
        assert first["statusCode"] == 200 and SECRET_KEY not in heard.decode()
    finally:
        listening.kill()
        listening.wait()


def test_settings_are_told_in_the_form_of_minio(mc):
    told = mc.run("admin", "config", "get", "lite", "region")[0]["config"]
    assert told == [{"subSystem": "region", "kv": [{"key": "name", "value": "us-east-1"}]}]
    names = [it["key"] for it in mc.run("admin", "config", "get", "lite")[0]["help"]["keysHelp"]]
    assert names == ["api", "compression", "notify_nats", "notify_redis", "notify_sqs", "notify_webhook", "region", "site"]
    for name in names:
        assert mc.run("admin", "config", "get", "lite", name)[0]["config"][0]["subSystem"] == name
    mc.run("admin", "user", "add", "lite", "judy", "judy-secret")
    mc.login("judy", "judy", "judy-secret")
    assert mc.run("admin", "config", "get", "judy", "region", check=False) == "AccessDenied"
    assert mc.run("admin", "config", "get", "lite", "identity_ldap", check=False) == "XMinioAdminInvalidArgument"
    assert mc.run("admin", "config", "set", "lite", "region", "name=x", check=False) == "NotImplemented"


def test_what_there_is_not_is_said(mc):
    assert mc.run("admin", "service", "restart", "lite", check=False) == "NotImplemented"
    assert mc.run("admin", "config", "export", "lite", check=False) == "NotImplemented"
