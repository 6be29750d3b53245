"""One's own access keys with an end or fewer rights: service accounts."""

import pytest
from botocore.exceptions import ClientError
from conftest import client, sign_in, start, user_with


@pytest.fixture
def other():
    """A server without keys of other tests."""
    with start() as server:
        yield server


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_key_is_created_narrowed_disabled_and_deleted(browser, other, who):
    s3 = client(other)
    for name in ("photos", "letters"):
        s3.create_bucket(Bucket=name)
    keys = ("liteio", "liteio123") if who == "root" else user_with(client(other, "iam"), "ann", "s3:*", "iam:*")
    page = sign_in(browser, other, *keys)
    page.run("location.hash = '#/home'")
    create = "document.querySelector('section[aria-label=\"Your service accounts\"] header button').click()"
    page.until(f"(() => {{ {create}; return true; }})()")
    page.fill("Name", "backup-job")
    page.choose("Ends", "30")
    page.choose("Rights", "bucket")
    page.fill("Bucket", "photos")
    page.click("Create")
    page.sees("The secret key is shown now and never again.")
    access, secret = page.run("[...document.querySelectorAll('dialog[open] .secret code')].map((it) => it.innerText)")
    page.click("Done")
    page.sees("backup-job")
    page.sees("a policy")
    made = client(other, aws_access_key_id=access, aws_secret_access_key=secret)
    made.put_object(Bucket="photos", Key="a", Body=b"x")
    with pytest.raises(ClientError, match="AccessDenied"):
        made.list_objects_v2(Bucket="letters")
    page.click(f"Actions on {access}")
    page.click("Rights")
    page.sees("arn:aws:s3:::photos/*")
    page.click("Done")
    page.click(f"Actions on {access}")
    page.click("Disable")
    page.sees("disabled")
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        made.list_objects_v2(Bucket="photos")
    page.click(f"Actions on {access}")
    page.click("Enable")
    page.sees_not("disabled")
    made.list_objects_v2(Bucket="photos")
    page.click(f"Actions on {access}")
    page.click("Delete")
    page.sees("Requests with")
    page.click("Delete")
    page.sees_not("backup-job")
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        made.list_objects_v2(Bucket="photos")
    assert page.complaints() == []
    page.close()


def test_a_policy_of_ones_own_and_what_is_wrong_with_it(browser, other):
    page = sign_in(browser, other)
    page.run("location.hash = '#/home'")
    page.until("(() => { document.querySelector('section[aria-label=\"Your service accounts\"] header button').click(); return true; })()")
    page.choose("Rights", "policy")
    page.fill("Policy", '{"Version": "2012-10-17", "Statement": [{"Effect": "Perhaps", "Action": "s3:Get*", "Resource": "*"}]}')
    page.click("Create")
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    page.fill("Policy", "{")
    page.click("Create")
    page.sees("JSON")
    page.click("Cancel")
    page.sees("None.")
    assert page.complaints() == []
    page.close()
