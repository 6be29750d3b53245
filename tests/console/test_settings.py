"""Settings of buckets: what is set in the page is what others read, and the other way round."""

import json

import pytest
from botocore.exceptions import ClientError
from browser import until
from conftest import client, sign_in, start, user_with


@pytest.fixture
def bucket(s3, request):
    name = request.node.name.removeprefix("test_").replace("_", "-")[:63].rstrip("-")
    s3.create_bucket(Bucket=name)
    return name


def open_part(page, bucket, part):
    page.run(f"location.hash = {json.dumps(f'#/buckets/{bucket}/settings/{part}')}")
    page.until(f"!!document.querySelector('.panel') && !document.querySelector('.panel .spinner') && location.hash.endsWith({json.dumps(part)})"
               f" && document.querySelector('.settings nav [aria-current]').href.endsWith({json.dumps(part)})")


def value_of(page, label):
    return page.run(f"[...document.querySelectorAll('input, select, textarea')].find((it) => it.labels?.[0]?.innerText.startsWith({json.dumps(label)}))?.value")


def test_versioning_is_enabled_and_suspended(page, s3, bucket):
    open_part(page, bucket, "versioning")
    for status in ("Enabled", "Suspended"):
        page.click(status, role="field")
        page.sees("Not saved yet.")
        page.click("Save")
        page.sees_not("Not saved yet.")
        assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == status


def test_a_bucket_is_reached_from_the_list_and_its_objects(page, bucket):
    page.run("location.hash = '#/buckets'; location.reload()")
    page.click(f"Actions on {bucket}")
    page.click("Settings")
    page.sees("Versioning")
    page.click(bucket)
    page.click("More actions")
    page.click("Bucket settings")
    page.sees("Versioning")


def test_a_bucket_at_a_glance_and_its_quota(page, s3, bucket):
    def tiles():
        return page.run("Object.fromEntries([...document.querySelectorAll('.tile')].map((it) => [it.children[0].innerText, it.children[1].innerText]))")
    s3.put_object(Bucket=bucket, Key="half", Body=bytes(512 << 10))
    open_part(page, bucket, "overview")
    page.sees("s3://" + bucket)
    assert tiles() == {"Access": "private", "Objects": "1", "Size": "512 KiB", "Quota": "none", "Versioning": "off"}
    page.click("Quota")
    page.fill("Size", "1")
    page.choose("Unit", "MiB")
    page.click("Save")
    page.sees("Saved.")
    with pytest.raises(ClientError, match="Quota"):
        s3.put_object(Bucket=bucket, Key="much", Body=bytes(600 << 10))
    everyone = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}]}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(everyone))
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    page.click("Overview")
    page.until("document.querySelector('.tile b')?.innerText === 'public'")
    assert tiles() == {"Access": "public", "Objects": "1", "Size": "512 KiB", "Quota": "1.00 MiB", "Versioning": "enabled"}
    page.sees("50 % used")
    page.sees("by its policy")
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={"RestrictPublicBuckets": True})
    page.click("Quota")
    page.until("document.querySelector('main input[type=number]')?.value === '1'")
    page.click("Remove")
    page.click("Remove")
    page.sees("The quota was removed.")
    s3.put_object(Bucket=bucket, Key="much", Body=bytes(600 << 10))
    page.click("Overview")
    page.until("document.querySelector('.tile b')?.innerText === 'private'")


def test_a_website_and_the_ownership_with_its_acl(page, s3, bucket):
    open_part(page, bucket, "website")
    page.fill("Index document", "index.html")
    page.fill("Error document", "404.html")
    page.click("Save")
    page.sees("Saved.")
    website = s3.get_bucket_website(Bucket=bucket)
    assert (website["IndexDocument"], website["ErrorDocument"]) == ({"Suffix": "index.html"}, {"Key": "404.html"})
    page.click("Remove")
    page.click("Remove")
    page.sees("The website was removed.")
    with pytest.raises(ClientError, match="NoSuchWebsiteConfiguration"):
        s3.get_bucket_website(Bucket=bucket)
    open_part(page, bucket, "ownership")
    page.sees("ACLs have no effect while the bucket owner is enforced.")
    page.click("Object writer", role="field")
    page.click("Save")
    page.until("!document.body.innerText.includes('Not saved yet')")
    until(lambda: s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "ObjectWriter"}], "the ownership is set")
    page.sees_not("ACLs have no effect while")
    page.choose("Replace it by", "public-read")
    page.click("Set the ACL")
    page.sees("The ACL was set.")
    page.sees("everyone")
    assert len(s3.get_bucket_acl(Bucket=bucket)["Grants"]) == 2


def test_encryption_without_a_key_is_not_offered(browser):
    with start() as endpoint:
        page = sign_in(browser, endpoint)
        client(endpoint).create_bucket(Bucket="plain")
        page.run("location.hash = '#/buckets/plain/settings/encryption'")
        page.sees("The server has no key for it.")
        assert page.run("[...document.querySelectorAll('input[name=encryption]')].map((it) => it.disabled)") == [False, True, True]
        page.run("location.hash = '#/buckets/plain/settings/events'")
        page.click("Add a rule")
        page.sees("The server has no targets")
        assert page.complaints() == []
        page.close()


def test_object_lock_and_its_default_retention(page, s3, bucket):
    open_part(page, bucket, "object-lock")
    page.click("Enable object lock")
    page.click("Enable")
    page.sees("Default retention of new objects")
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    page.choose("Default retention", "GOVERNANCE")
    page.fill("Retention", "3")
    page.choose("Unit", "Years")
    page.click("Save")
    page.sees_not("Not saved yet.")
    kept = s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert kept == {"Mode": "GOVERNANCE", "Years": 3}
    page.choose("Default retention", "")
    page.click("Save")
    page.sees_not("Not saved yet.")
    assert "Rule" not in s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"]


def test_encryption_public_access_and_tags(page, browser, server, s3, iam, bucket):
    open_part(page, bucket, "encryption")
    page.click("SSE-S3", role="field")
    page.click("Save")
    page.sees_not("Not saved yet.")
    rules = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert rules[0]["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    # The server has a master key and no named one.
    page.until("[...document.querySelectorAll('input[name=encryption]')].map((it) => it.disabled).join() === 'false,false,true'")
    # Who may not know the keys of the server types a name.
    typist = sign_in(browser, server, *user_with(iam, "typist", "s3:*"))
    open_part(typist, bucket, "encryption")
    typist.click("SSE-KMS", role="field")
    typist.fill("KMS key", "nobody")
    typist.click("Save")
    typist.until("!!document.querySelector('.panel .note.bad')")
    assert value_of(typist, "KMS key") == "nobody"
    typist.close()
    page.click("None", role="field")
    page.click("Save")
    page.sees_not("Not saved yet.")
    with pytest.raises(ClientError, match="ServerSideEncryptionConfigurationNotFound"):
        s3.get_bucket_encryption(Bucket=bucket)
    open_part(page, bucket, "public-access")
    page.click("Refuse public policies", role="field")
    page.click("Save")
    page.sees_not("Not saved yet.")
    block = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert block["BlockPublicPolicy"] is True and block.get("BlockPublicAcls", False) is False
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "team", "Value": "storage"}]})
    open_part(page, bucket, "tags")
    page.click("Add a tag")
    page.fill("Name 2", "a b")
    page.fill("Value 2", "c/d")
    page.click("Save")
    page.sees_not("Not saved yet.")
    tags = s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    assert sorted((it["Key"], it["Value"]) for it in tags) == [("a b", "c/d"), ("team", "storage")]


def test_a_policy_that_is_refused_shows_the_reason_and_keeps_the_text(page, s3, bucket):
    open_part(page, bucket, "policy")
    wrong = json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObjekt", "Resource": f"arn:aws:s3:::{bucket}/*"}]})
    page.fill("Policy", wrong)
    page.click("Save")
    page.sees("MalformedPolicy")
    assert value_of(page, "Policy") == wrong
    # Also behind another page.
    open_part(page, bucket, "tags")
    page.sees("not saved yet")
    open_part(page, bucket, "policy")
    assert value_of(page, "Policy") == wrong
    right = wrong.replace("Objekt", "Object")
    page.fill("Policy", right)
    page.click("Save")
    page.sees_not("Not saved yet.")
    page.until("document.querySelector('.panel .tag').innerText === 'public'")
    assert s3.get_bucket_policy(Bucket=bucket)["Policy"] == right
    page.fill("Policy", "{")
    page.sees("Invalid JSON at line 1, column 2.")
    page.click("Discard")
    page.until(f"document.querySelector('textarea').value === {json.dumps(right)}")
    page.click("Delete the policy")
    page.click("Delete")
    page.sees("The policy was deleted.")
    with pytest.raises(ClientError, match="NoSuchBucketPolicy"):
        s3.get_bucket_policy(Bucket=bucket)


def test_what_somebody_else_has_set_meanwhile_is_not_overwritten_unasked(page, s3, bucket):
    open_part(page, bucket, "tags")
    page.click("Add a tag")
    page.fill("Name 1", "mine")
    theirs = {"TagSet": [{"Key": "theirs", "Value": ""}]}
    s3.put_bucket_tagging(Bucket=bucket, Tagging=theirs)
    page.click("Save")
    page.sees("Somebody else has changed this")
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == theirs["TagSet"]
    page.click("Overwrite with mine")
    page.sees_not("Not saved yet.")
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == [{"Key": "mine", "Value": ""}]


RICH = {
    "ID": "rich", "Status": "Enabled",
    "Filter": {"And": {"Prefix": "tmp/", "Tags": [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d"}], "ObjectSizeGreaterThan": 1024}},
    "Expiration": {"Days": 30}, "Transitions": [{"Days": 10, "StorageClass": "GLACIER"}],
    "NoncurrentVersionTransitions": [{"NoncurrentDays": 3, "StorageClass": "GLACIER", "NewerNoncurrentVersions": 2}],
}


def test_a_lifecycle_rule_that_the_form_does_not_know_survives(page, s3, bucket):
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [RICH]})
    open_part(page, bucket, "lifecycle")
    page.sees("tmp/")
    page.click("Edit")
    page.sees("This rule also has")
    page.fill("Expire objects after days", "31")
    page.fill("Prefix", "tmp2/")
    page.click("Save")
    page.until("!document.querySelector('dialog[open]')")
    page.click("Add a rule")
    page.fill("Name", "uploads")
    page.fill("Abort unfinished uploads after days", "0")
    page.click("Save")
    # It is refused, and stays typed.
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    assert value_of(page, "Abort unfinished") == "0"
    page.fill("Abort unfinished uploads after days", "2")
    page.click("Save")
    page.until("!document.querySelector('dialog[open]')")
    wanted = json.loads(json.dumps(RICH))
    wanted["Expiration"]["Days"], wanted["Filter"]["And"]["Prefix"] = 31, "tmp2/"
    rules = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert rules == [wanted, {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""},
                              "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2}}]
    page.click("Enabled")
    page.sees("Disabled")
    page.click("Delete rule 2")
    page.click("Delete")
    page.sees("The rule was deleted.")
    wanted["Status"] = "Disabled"
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == [wanted]
    # As JSON, it is that of the AWS CLI.
    page.click("JSON")
    page.until("!!document.querySelector('textarea')")
    shown = json.loads(page.run("document.querySelector('textarea').value"))
    assert shown == {"Rules": [wanted]}
    shown["Rules"][0]["Transitions"][0]["Days"] = 11
    page.fill("JSON of the AWS CLI", json.dumps(shown))
    page.click("Save")
    page.sees_not("Not saved yet.")
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"][0]["Transitions"][0]["Days"] == 11
    shown["Rules"][0]["Unknown"] = [1]
    page.fill("JSON of the AWS CLI", json.dumps(shown))
    page.click("Save")
    page.sees("MalformedXML")
    assert json.loads(page.run("document.querySelector('textarea').value")) == shown


def test_cors_rules(page, s3, bucket):
    first = {"ID": "first", "AllowedOrigins": ["https://a.example"], "AllowedMethods": ["GET"], "AllowedHeaders": ["x-*"],
             "ExposeHeaders": ["ETag"], "MaxAgeSeconds": 60}
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [first]})
    open_part(page, bucket, "cors")
    page.sees("https://a.example")
    page.click("Add a rule")
    page.fill("Origins", "https://b.example\n\nhttps://*.c.example\n")
    page.click("PUT", role="field")
    page.click("Save")
    page.until("!document.querySelector('dialog[open]')")
    rules = s3.get_bucket_cors(Bucket=bucket)["CORSRules"]
    assert rules[0] == first
    assert rules[1]["AllowedOrigins"] == ["https://b.example", "https://*.c.example"] and rules[1]["AllowedMethods"] == ["GET", "PUT"]
    for at in (2, 1):
        page.click(f"Delete rule {at}")
        page.click("Delete")
        page.until("!document.querySelector('dialog[open]')")
    page.sees("No rules.")
    with pytest.raises(ClientError, match="NoSuchCORSConfiguration"):
        s3.get_bucket_cors(Bucket=bucket)


def test_events(page, s3, bucket):
    open_part(page, bucket, "events")
    page.click("Add a rule")
    page.until("[...document.querySelectorAll('dialog[open] option')].map((it) => it.value).join() === ',thumbnails'")
    page.click("Save")
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    page.choose("Target", "thumbnails")
    page.click("Removed", role="field")
    page.fill("Other events", "s3:ObjectAnnotation:Put")
    page.fill("Suffix", ".jpg")
    page.click("Save")
    page.until("!document.querySelector('dialog[open]')")
    (rule,) = s3.get_bucket_notification_configuration(Bucket=bucket)["QueueConfigurations"]
    assert rule["QueueArn"].endswith(":thumbnails") and "Id" in rule
    assert sorted(rule["Events"]) == ["s3:ObjectAnnotation:Put", "s3:ObjectCreated:*", "s3:ObjectRemoved:*"]
    assert [it["Value"] for it in rule["Filter"]["Key"]["FilterRules"]] == [".jpg"]
    topic = {"TopicArn": "arn:aws:sns:us-east-1:1:thumbnails", "Events": ["s3:ObjectTagging:*"], "Id": "topic",
             "Filter": {"Key": {"FilterRules": [{"Name": "Prefix", "Value": "in/"}]}}}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={
        "QueueConfigurations": [rule], "TopicConfigurations": [topic]})
    page.click("JSON")
    page.click("Rules")
    page.sees("s3:ObjectTagging:*")
    page.click("Delete rule 1")
    page.click("Delete")
    page.sees("The rule was deleted.")
    kept = s3.get_bucket_notification_configuration(Bucket=bucket)
    assert kept["TopicConfigurations"] == [topic] and "QueueConfigurations" not in kept


def test_markup_in_settings_is_text(page, s3, bucket):
    script = "<img src=x onerror=\"window.ran=1\">"
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Id": script, "Statement": [
        {"Sid": "1", "Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/{script}"}]}))
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [
        {"ID": script, "Status": "Enabled", "Filter": {"Prefix": script}, "Expiration": {"Days": 1}}]})
    for part in ("policy", "lifecycle"):
        open_part(page, bucket, part)
        page.until("document.body.innerText.includes('onerror') || (document.querySelector('textarea')?.value ?? '').includes('onerror')")
        assert page.run("window.ran") is None and page.run("document.querySelectorAll('.main img').length") == 0


def test_settings_and_users_fit_a_narrow_page(page, s3, iam, bucket):
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [RICH]})
    iam.create_user(UserName="n" * 64)
    page.size(360, 700)
    page.colours("dark")
    parts = ["versioning", "object-lock", "lifecycle", "policy", "public-access", "cors", "encryption", "replication", "events", "tags"]
    for part in parts:
        open_part(page, bucket, part)
        assert page.run("document.documentElement.scrollWidth <= 360"), part
        # What one is at is in view.
        right, left = page.run("(() => { const box = document.querySelector('.settings nav [aria-current]').getBoundingClientRect(); return [box.right, box.left]; })()")
        assert 0 <= left and right <= 360, part
    for path in ("users", "users/groups", "users/policies", f"users/user/{'n' * 64}"):
        page.run(f"location.hash = '#/{path}'")
        page.until("!!document.querySelector('.content') && !document.querySelector('.content .spinner')")
        assert page.run("document.documentElement.scrollWidth <= 360"), path


def test_a_rule_is_changed_by_the_keyboard_alone(page, s3, bucket):
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": [{"AllowedOrigins": ["*"], "AllowedMethods": ["GET"]}]})
    open_part(page, bucket, "cors")
    page.sees("GET")
    page.run("document.querySelector('.panel td .button').focus()")
    page.press("Enter")
    page.until("document.activeElement.matches('dialog textarea')")
    page.run("document.activeElement.select()")
    page.type("https://k.example")
    # The focus stays in the dialog, and goes around in it.
    for _ in range(30):
        page.press("Tab")
        assert page.run("!!document.activeElement.closest('dialog') || document.activeElement === document.body")
    page.until("(document.activeElement.closest('dialog') ?? document.querySelector('dialog[open]')) !== null")
    page.run("document.querySelector('dialog input').focus()")
    page.press("Enter")
    page.until("!document.querySelector('dialog[open]')")
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"][0]["AllowedOrigins"] == ["https://k.example"]
    # And comes back to where it was.
    page.until("document.activeElement.matches('.panel td .button')")
