"""The lock of an object: legal hold, retention, event hold."""

import datetime
import uuid

import pytest
from botocore.exceptions import ClientError
from test_console import open_object


@pytest.fixture
def locked(s3):
    name = f"locked-{uuid.uuid4().hex[:8]}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    s3.put_object(Bucket=name, Key="a.txt", Body=b"x")
    return name


@pytest.fixture
def bucket(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name)
    return name


def retention(s3, bucket):
    return s3.get_object_retention(Bucket=bucket, Key="a.txt")["Retention"]


def in_days(days):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)


def test_a_legal_hold_is_put_on_and_removed(page, server, s3, locked):
    open_object(page, server, locked, "a.txt", "lock")
    page.click("Legal hold", role="field")
    page.sees("The legal hold is on.")
    assert s3.get_object_legal_hold(Bucket=locked, Key="a.txt")["LegalHold"]["Status"] == "ON"
    version = s3.head_object(Bucket=locked, Key="a.txt")["VersionId"]
    with pytest.raises(ClientError):
        s3.delete_object(Bucket=locked, Key="a.txt", VersionId=version)
    page.click("Legal hold", role="field")
    page.sees("The legal hold was removed.")
    assert s3.get_object_legal_hold(Bucket=locked, Key="a.txt")["LegalHold"]["Status"] == "OFF"


def test_a_retention_is_set_and_with_the_permission_removed(page, server, s3, locked):
    open_object(page, server, locked, "a.txt", "lock")
    page.choose("Mode", "GOVERNANCE")
    until = in_days(10).replace(second=0, microsecond=0)
    page.run("(() => { const it = document.querySelector('input[type=datetime-local]'); it.value = '%s';"
             " it.dispatchEvent(new Event('input', { bubbles: true })); })()" % until.astimezone().strftime("%Y-%m-%dT%H:%M"))
    page.click("Save retention")
    page.sees("The retention was saved.")
    kept = retention(s3, locked)
    assert (kept["Mode"], kept["RetainUntilDate"]) == ("GOVERNANCE", until)
    page.choose("Mode", "")
    page.click("Save retention")
    page.sees("AccessDenied")
    page.click("Bypass governance", role="field")
    page.click("Save retention")
    page.until("!document.body.innerText.includes('Bypass governance')")
    with pytest.raises(ClientError):
        retention(s3, locked)


def test_an_event_hold_keeps_the_version_until_its_release(page, server, s3, locked):
    open_object(page, server, locked, "a.txt", "lock")
    page.choose("Mode", "COMPLIANCE")
    page.click("Event hold", role="field")
    page.fill("Duration after the release", "2")
    page.choose("Unit", "Years")
    page.click("Save retention")
    page.sees("The retention was saved.")
    kept = retention(s3, locked)
    assert (kept["Mode"], kept["EventHold"], kept["EventHoldDuration"]) == ("COMPLIANCE", "ON", {"Years": 2})
    page.sees("If the hold were released now")
    page.click("Event hold", role="field")
    page.click("Save retention")
    page.sees("The event hold was released.")
    kept = retention(s3, locked)
    assert kept["EventHold"] == "OFF"
    assert abs((kept["RetainUntilDate"] - in_days(730)).total_seconds()) < 2 * 86_400
    assert page.complaints() == []


def test_a_bucket_without_object_lock_says_so(page, server, s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"x")
    open_object(page, server, bucket, "a.txt", "lock")
    page.sees("Object lock is not enabled on this bucket")
