"""Users, access keys, groups and policies, as the page shows and IAM has them."""

import json

import pytest
from botocore.exceptions import ClientError
from browser import until
from conftest import client, sign_in, user_with

READ = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}]}


def go(page, *path):
    # Asked for anew, as a link would show what is there already.
    page.run("location.hash = '#/none'")
    page.run(f"location.hash = '#/' + {json.dumps(path)}.map(encodeURIComponent).join('/')")
    page.until("!!document.querySelector('.content') && !document.querySelector('.content .spinner')")


def test_a_user_is_made_with_keys_that_work_and_deleted_with_all_it_has(page, server, iam):
    go(page, "users")
    page.click("New user")
    page.fill("Name", "no such/name")
    page.click("Create")
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    page.fill("Name", "dora")
    page.click("Create an access key", role="field")
    page.click("Create")
    page.sees("None: the user cannot sign a request.")
    page.click("Create")
    page.sees("The secret key is shown now and never again.")
    key, secret = page.run("[...document.querySelectorAll('.secret code')].map((it) => it.innerText)")
    as_dora = client(server, aws_access_key_id=key, aws_secret_access_key=secret)
    page.click("Done")
    page.sees(key)
    assert secret not in page.text()
    page.click("Attach")
    page.choose("Policy", "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    page.click("Attach")
    page.sees("The policy was attached.")
    page.sees("AmazonS3ReadOnlyAccess")
    as_dora.list_buckets()
    page.click(f"Deactivate {key}")
    page.sees("inactive")
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        as_dora.list_buckets()
    page.click(f"Activate {key}")
    page.sees_not("inactive")
    as_dora.list_buckets()
    page.click("Actions on the user")
    page.click("Disable")
    page.sees("disabled")
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        as_dora.list_buckets()
    page.click("Actions on the user")
    page.click("Enable")
    page.sees("The user is enabled.")
    as_dora.list_buckets()
    iam.create_group(GroupName="of-dora")
    page.click("Add")
    page.choose("Group", "of-dora")
    page.click("Add")
    page.until("!document.querySelector('dialog[open]')")
    page.sees("of-dora")
    assert [it["UserName"] for it in iam.get_group(GroupName="of-dora")["Users"]] == ["dora"]
    page.click("Actions on the user")
    page.click("Delete")
    page.click("Delete")
    page.sees("User dora was deleted.")
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.get_user(UserName="dora")


def test_one_form_makes_a_user_with_key_policy_and_groups(page, browser, server, iam, tmp_path):
    iam.create_group(GroupName="of-nina")
    page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    go(page, "users")
    page.click("New user")
    page.fill("Name", "nina")
    page.until("document.querySelectorAll('dialog[open] option').length > 1")
    page.choose("Policy", "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    page.click("of-nina", role="field")
    page.click("Create")
    page.sees("The secret key is shown now and never again.")
    page.click(".env")
    until(lambda: (tmp_path / "liteio.env").exists() and (tmp_path / "liteio.env").read_text().endswith("\n"), "the file is there")
    told = dict(line.split("=", 1) for line in (tmp_path / "liteio.env").read_text().splitlines())
    assert told["AWS_ENDPOINT_URL"] == server and told["AWS_DEFAULT_REGION"] == "us-east-1"
    key, secret = told["AWS_ACCESS_KEY_ID"], told["AWS_SECRET_ACCESS_KEY"]
    client(server, aws_access_key_id=key, aws_secret_access_key=secret).list_buckets()
    page.click("AWS credentials")
    until(lambda: (tmp_path / "credentials").exists() and secret in (tmp_path / "credentials").read_text(), "the file is there")
    page.click("Done")
    page.sees("of-nina")
    page.sees("AmazonS3ReadOnlyAccess")
    # She sees her own keys on the start page, if her policy allows it.
    rights = {"Effect": "Allow", "Action": "iam:*AccessKey*", "Resource": "*"}
    iam.put_user_policy(UserName="nina", PolicyName="keys", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [rights]}))
    own = sign_in(browser, server, key, secret)
    own.until(f"document.querySelector('section[aria-label=\"Your access keys\"]')?.innerText.includes('{key}')")
    assert own.complaints() == []
    own.close()


def test_roles_are_made_changed_and_deleted(page, iam):
    go(page, "users", "roles")
    page.click("New role")
    page.fill("Name", "reader")
    page.click("Create")
    page.sees("Trust policy")
    trust = iam.get_role(RoleName="reader")["Role"]["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Action"] == "sts:AssumeRole"
    trust["Statement"][0]["Sid"] = "mine"
    page.fill("Who may assume it", json.dumps(trust))
    page.click("Save")
    page.sees("The trust policy was saved.")
    assert iam.get_role(RoleName="reader")["Role"]["AssumeRolePolicyDocument"] == trust
    page.click("Attach")
    page.choose("Policy", "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    page.click("Attach")
    page.sees("The policy was attached.")
    page.click("Actions on the role")
    page.click("Delete")
    page.click("Delete")
    page.sees("Role reader was deleted.")
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.get_role(RoleName="reader")


def test_a_key_is_deleted(page, iam):
    key, _ = user_with(iam, "keyless")
    go(page, "users", "user", "keyless")
    page.click(f"Delete {key}")
    page.click("Delete")
    page.sees("None: the user cannot sign a request.")
    assert iam.list_access_keys(UserName="keyless")["AccessKeyMetadata"] == []


def test_an_inline_policy_that_is_refused_shows_the_reason_and_keeps_the_text(page, iam):
    iam.create_user(UserName="inline")
    go(page, "users", "user", "inline")
    page.run("[...document.querySelectorAll('section')].find((it) => it.ariaLabel === 'Inline policies').querySelector('button').click()")
    page.fill("Name", "a policy")
    wrong = json.dumps({**READ, "Version": "2001-01-01"})
    page.fill("Policy", wrong)
    page.click("Save")
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    assert page.run("document.querySelector('dialog[open] textarea').value") == wrong
    page.fill("Name", "reads")
    page.fill("Policy", json.dumps(READ))
    page.click("Save")
    page.sees("The policy was saved.")
    assert iam.get_user_policy(UserName="inline", PolicyName="reads")["PolicyDocument"] == READ
    page.click("Edit reads")
    page.until("document.querySelector('dialog[open] textarea')?.value.includes('ListAllMyBuckets')")
    page.fill("Policy", json.dumps({**READ, "Id": "mine"}))
    theirs = {**READ, "Id": "theirs"}
    iam.put_user_policy(UserName="inline", PolicyName="reads", PolicyDocument=json.dumps(theirs))
    page.click("Save")
    page.sees("Somebody else has changed this")
    assert iam.get_user_policy(UserName="inline", PolicyName="reads")["PolicyDocument"] == theirs
    page.click("Overwrite with mine")
    page.until("!document.querySelector('dialog[open]')")
    assert iam.get_user_policy(UserName="inline", PolicyName="reads")["PolicyDocument"]["Id"] == "mine"
    page.run("[...document.querySelectorAll('section')].find((it) => it.ariaLabel === 'Inline policies').querySelector('button').click()")
    page.fill("Name", "reads")
    page.click("Save")
    page.sees("A policy of this name exists.")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.click("Delete reads")
    page.click("Delete")
    page.until("!document.querySelector('dialog[open]')")
    assert iam.list_user_policies(UserName="inline")["PolicyNames"] == []


def test_groups_have_members_and_policies(page, iam):
    iam.create_user(UserName="member")
    go(page, "users", "groups")
    page.click("New group")
    page.fill("Name", "team")
    page.click("Create")
    page.sees("Members")
    page.click("Add")
    page.choose("User", "member")
    page.click("Add")
    page.until("!document.querySelector('dialog[open]')")
    page.sees("member")
    page.click("Attach")
    page.choose("Policy", "arn:aws:iam::aws:policy/ReadOnlyAccess")
    page.click("Attach")
    page.sees("The policy was attached.")
    assert [it["GroupName"] for it in iam.list_groups_for_user(UserName="member")["Groups"]] == ["team"]
    assert [it["PolicyName"] for it in iam.list_attached_group_policies(GroupName="team")["AttachedPolicies"]] == ["ReadOnlyAccess"]
    page.click("Detach ReadOnlyAccess")
    page.click("Detach")
    page.until("!document.querySelector('dialog[open]')")
    page.click("Remove member")
    page.sees_not("Remove")
    page.click("Actions on the group")
    page.click("Delete")
    page.click("Delete")
    page.sees("Group team was deleted.")
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.get_group(GroupName="team")


def test_a_managed_policy_gets_versions(page, iam):
    go(page, "users", "policies")
    page.click("New policy")
    page.fill("Name", "listing")
    page.fill("Policy", "{}")
    page.click("Create")
    page.until("!!document.querySelector('dialog[open] .note.bad')")
    page.fill("Policy", json.dumps(READ))
    page.fill("Description", "Lists & <b>all</b>")
    page.click("Create")
    page.sees("Lists & <b>all</b>")
    arn = "arn:aws:iam::000000000000:policy/listing"
    for number in range(2, 8):
        page.fill("Policy", json.dumps({**READ, "Id": str(number)}))
        page.click("Save")
        page.sees(f"v{number}")
        page.sees_not("Not saved yet.")
    assert iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"] == "v7"
    assert [it["VersionId"] for it in iam.list_policy_versions(PolicyArn=arn)["Versions"]] == ["v7", "v6", "v5", "v4", "v3"]
    wrong = json.dumps({**READ, "Version": "2001-01-01"})
    page.fill("Policy", wrong)
    page.click("Save")
    page.sees("MalformedPolicyDocument")
    assert page.run("document.querySelector('textarea').value") == wrong and len(iam.list_policy_versions(PolicyArn=arn)["Versions"]) == 5
    page.click("Discard")
    page.click("Actions on v4")
    page.click("Activate")
    page.sees("Version v4 is in effect.")
    document = iam.get_policy_version(PolicyArn=arn, VersionId="v4")["PolicyVersion"]["Document"]
    assert document["Id"] == "4" and iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"] == "v4"
    page.until("document.querySelector('textarea')?.value.includes('\"4\"')")
    iam.create_user(UserName="listed")
    iam.attach_user_policy(UserName="listed", PolicyArn=arn)
    page.click("Actions on the policy")
    page.click("Delete")
    page.click("Delete")
    page.sees("DeleteConflict")
    iam.detach_user_policy(UserName="listed", PolicyArn=arn)
    page.click("Delete")
    page.sees("Policy listing was deleted.")


def test_a_built_in_policy_is_shown_and_cannot_be_changed(page):
    go(page, "users", "policies")
    page.click("ReadOnlyAccess")
    page.sees('"Statement"')
    assert page.run("document.querySelectorAll('textarea').length") == 0 and "Actions on the policy" not in page.run("document.body.innerHTML")


def test_a_user_without_rights_is_told_so(browser, server, iam):
    keys = user_with(iam, "plain", "s3:ListAllMyBuckets")
    page = sign_in(browser, server, *keys)
    for tab in ("users", "groups", "policies"):
        go(page, *(["users"] if tab == "users" else ["users", tab]))
        page.sees(f"You may not list {tab}.")
    page.click("Show your own user")
    page.sees("You may not see this user.")
    assert page.complaints() == []
    page.close()


def test_markup_in_names_is_text(page, iam):
    script = '<img src=x onerror="window.ran=1">'
    document = json.dumps({**READ, "Id": script})
    iam.create_policy(PolicyName="marked", PolicyDocument=document, Description=script)
    iam.create_user(UserName="marked")
    iam.put_user_policy(UserName="marked", PolicyName="marked", PolicyDocument=document)
    # Names of users cannot have it, so the address is asked for one.
    for path in (["users", "policy", "arn:aws:iam::000000000000:policy/marked"], ["users", "user", script], ["users", "group", script], ["users", "policy", script]):
        go(page, *path)
        page.sees("onerror")
        assert page.run("window.ran") is None and page.run("document.querySelectorAll('main img').length") == 0
