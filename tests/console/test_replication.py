"""The replication of a bucket: rules, queue, lag and failures of its target, and walks over existing versions."""

import json

from conftest import KEYS, client, sign_in, start
from test_settings import open_part

ARN = "arn:minio:replication:us-east-1:1:copies"


def targets_file(path, url):
    path.write_text(f'[[target]]\narn = "{ARN}"\nurl = "{url}"\nbucket = "copies"\naccess_key = "{KEYS["aws_access_key_id"]}"\n'
                    f'secret_key = "{KEYS["aws_secret_access_key"]}"\n')
    return path


def versioned(s3, bucket):
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def replicate(s3, bucket):
    s3.put_bucket_replication(Bucket=bucket, ReplicationConfiguration={"Role": "r", "Rules": [
        {"ID": "to <b>copies</b>", "Priority": 7, "Status": "Enabled", "Filter": {"And": {"Prefix": "in/", "Tags": [{"Key": "k", "Value": "v"}]}},
         "DeleteMarkerReplication": {"Status": "Disabled"}, "Destination": {"Bucket": ARN, "StorageClass": "STANDARD_IA"}},
        {"ID": "all", "Priority": 1, "Status": "Enabled", "Filter": {"Prefix": ""}, "DeleteMarkerReplication": {"Status": "Enabled"},
         "ExistingObjectReplication": {"Status": "Enabled"}, "Destination": {"Bucket": ARN}}]})


def cells(page, label):
    return page.run(f"[...document.querySelectorAll('[aria-label=\"{label}\"] tr[data-target] td')].map((it) => it.innerText.trim())")


def test_rules_and_figures_of_a_bucket(browser, tmp_path):
    with start() as target, start("--replication-file", targets_file(tmp_path / "targets.toml", target)) as source:
        s3 = client(source)
        versioned(client(target), "copies")
        versioned(s3, "photos")
        s3.create_bucket(Bucket="none")
        page = sign_in(browser, source)
        open_part(page, "none", "replication")
        page.sees("No rules.")
        replicate(s3, "photos")
        s3.put_object(Bucket="photos", Key="in/a", Body=b"0123456789")
        open_part(page, "photos", "replication")
        for words in ("to <b>copies</b>", "priority 7", "prefix in/", "tag k=v", "as STANDARD_IA", "delete markers", "existing versions", "new versions only"):
            page.sees(words)
        page.until("(() => { document.querySelector('[aria-label=Replication] header button').click(); "
                   "return document.querySelector('tr[data-target] td:nth-child(4)')?.innerText.trim() === '1'; })()")
        assert cells(page, "Replication") == ["copies", "0", "–", "1", "10 B", "0"]
        page.click("Copy everything again")
        page.sees("All versions are queued again.")
        page.until("(() => { document.querySelector('[aria-label=Replication] header button').click(); "
                   "return document.body.innerText.includes('completed, 1 version queued (10 B)'); })()")
        page.size(360, 700)
        assert page.run("document.documentElement.scrollWidth <= 360")
        page.size(1280, 800)
        page.run("location.hash = '#/metrics'")
        page.until("!!document.querySelector('section[aria-label=Replication] tr[data-target]')")
        assert cells(page, "Replication")[:2] == ["copies", "0"]
        assert page.complaints() == []
        page.close()


def test_a_target_that_is_down_is_told(browser, tmp_path):
    with start("--replication-file", targets_file(tmp_path / "targets.toml", "http://127.0.0.1:9")) as source:
        s3 = client(source)
        versioned(s3, "photos")
        replicate(s3, "photos")
        for number in range(3):
            s3.put_object(Bucket="photos", Key=f"in/{number}", Body=b"x")
        page = sign_in(browser, source)
        open_part(page, "photos", "replication")
        page.until("(() => { document.querySelector('[aria-label=Replication] header button').click(); "
                   "return document.body.innerText.includes('does not take what it gets'); })()")
        found = cells(page, "Replication")
        assert found[1] == "3" and found[3] == "0" and int(found[5]) > 0, found
        page.run("location.hash = '#/metrics'")
        page.until("document.querySelector('section[aria-label=Replication]')?.innerText.includes('failing')")
        assert cells(page, "Replication")[1] == "3", json.dumps(cells(page, "Replication"))
        assert page.complaints() == []
        page.close()
