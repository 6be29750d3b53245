"""Spaces, snapshots, faults, the clock, recorded requests and events."""

import re
import threading
import urllib.error
import urllib.request
from datetime import date, datetime, timedelta, timezone

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import liteio

ONCE = Config(retries={"total_max_attempts": 1, "mode": "standard"})


@pytest.fixture
def space(testing_server):
    with testing_server.space() as space:
        yield space


def put(space, key="key", body=b"body"):
    client = space.client("s3", config=ONCE)
    if not any(bucket["Name"] == "bucket" for bucket in client.list_buckets()["Buckets"]):
        client.create_bucket(Bucket="bucket")
    return client.put_object(Bucket="bucket", Key=key, Body=body)


def keys(space):
    return [each["Key"] for each in space.client().list_objects_v2(Bucket="bucket").get("Contents", [])]


def status_of(error):
    return error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_spaces_see_nothing_of_each_other(testing_server):
    with testing_server.space() as one, testing_server.space("other") as other:
        assert other.name == "other"
        assert sorted(testing_server.spaces()) == sorted([one.name, "other"])
        put(one, "of-one")
        put(other, "of-other")
        put(testing_server, "of-the-server")
        assert (keys(one), keys(other), keys(testing_server)) == (["of-one"], ["of-other"], ["of-the-server"])
        with pytest.raises(liteio.TestApiError):
            testing_server.space("other")
    assert testing_server.spaces() == []
    assert keys(testing_server) == ["of-the-server"]


def test_what_is_gone_is_closed_without_an_error(testing_server):
    with testing_server.space() as space:
        with space.fault(status=503) as fault:
            space.reset()
            fault.remove()
        space.close()
    assert testing_server.spaces() == []


@pytest.mark.parametrize("name", ["status", "latency_ms", "cut_after_bytes", "bandwidth", "times", "probability"])
def test_a_number_that_is_negative_is_refused_by_its_name(space, name):
    with pytest.raises(ValueError, match=f"^{name} is not negative, but -5$"):
        space.fault(**{name: -5})


@pytest.mark.parametrize("of_space", [False, True])
def test_a_reset_of_a_bucket_leaves_the_others(testing_server, of_space):
    scope = testing_server.space() if of_space else testing_server
    put(scope)
    scope.client().create_bucket(Bucket="other")
    scope.client().put_object(Bucket="other", Key="kept")
    scope.reset(bucket="bucket")
    assert keys(scope) == []
    assert scope.client().list_objects_v2(Bucket="other")["KeyCount"] == 1
    with pytest.raises(liteio.TestApiError, match="There is no bucket \"nowhere\""):
        scope.reset(bucket="nowhere")


@pytest.mark.parametrize("of_space", [False, True])
def test_a_reset_takes_all_away(testing_server, of_space):
    scope = testing_server.space() if of_space else testing_server
    put(scope)
    scope.client("iam").create_user(UserName="somebody")
    scope.client("s3vectors").create_vector_bucket(vectorBucketName="vectors")
    scope.fault(operation="GetObject", status=500)
    scope.reset()
    assert scope.client().list_buckets()["Buckets"] == []
    assert scope.client("iam").list_users()["Users"] == []
    assert scope.client("s3vectors").list_vector_buckets()["vectorBuckets"] == []
    assert scope.faults() == []


def test_a_reset_makes_the_buckets_of_the_start_again(test_api):
    with liteio.Server(buckets=["bucket"]) as server:
        put(server)
        server.reset()
        assert keys(server) == []


def test_a_name_is_a_text(space):
    for call in (space.snapshot, space.restore, space.delete_snapshot):
        with pytest.raises(TypeError, match="^a name is a text, not 5$"):
            call(5)


@pytest.mark.parametrize("given", ["http://127.0.0.1:9000", liteio.Server])
def test_an_environment_is_that_of_a_server_or_a_space(given):
    with pytest.raises(TypeError, match="^environment takes a Server that runs, or a space of it, not "):
        with liteio.environment(given):
            pass


def test_snapshots(space):
    put(space, "before")
    space.snapshot("one-object")
    assert space.snapshots() == ["one-object"]
    put(space, "after")
    space.restore("one-object")
    assert keys(space) == ["before"]
    space.delete_snapshot("one-object")
    assert space.snapshots() == []
    with pytest.raises(liteio.TestApiError) as error:
        space.restore("one-object")
    assert error.value.status == 404


def test_a_fault_is_in_force_as_often_as_it_says(space):
    put(space)
    s3 = space.client("s3", config=ONCE)
    fault = space.fault(operation="GetObject", bucket="bu*", status=503, code="SlowDown", message="slower", times=2)
    for _ in range(2):
        with pytest.raises(ClientError, match="slower") as error:
            s3.get_object(Bucket="bucket", Key="key")
        assert status_of(error) == 503
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == b"body"
    assert fault.hits == 2


def test_a_fault_ends_with_its_block(space):
    put(space)
    s3 = space.client("s3", config=ONCE)
    with space.fault(key="k?y", status=404, code="NoSuchKey") as fault:
        assert [each.id for each in space.faults()] == [fault.id]
        with pytest.raises(s3.exceptions.NoSuchKey):
            s3.get_object(Bucket="bucket", Key="key")
    assert space.faults() == []
    assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == b"body"


def test_the_sdk_tries_again_after_a_fault(space):
    put(space)
    space.fault(operation="GetObject", status=500, times=1)
    assert space.client().get_object(Bucket="bucket", Key="key")["Body"].read() == b"body"
    assert [each.status for each in space.wait_for_request(operation="GetObject", count=2)] == [500, 200]


def test_answers_are_cut_and_slow(space):
    put(space, body=bytes(100_000))
    s3 = space.client("s3", config=ONCE)
    with space.fault(operation="GetObject", cut_after_bytes=1000):
        with pytest.raises(Exception, match="[Ii]ncomplete|broken|closed|reset"):
            s3.get_object(Bucket="bucket", Key="key")["Body"].read()
    with space.fault(operation="HeadObject", latency_ms=200):
        s3.head_object(Bucket="bucket", Key="key")
    assert space.wait_for_request(operation="HeadObject")[-1].duration_ms >= 200


def test_faults_of_a_space_are_not_those_of_others(testing_server, space):
    put(space)
    put(testing_server)
    space.fault(status=500)
    assert keys(testing_server) == ["key"]
    space.clear_faults()
    assert keys(space) == ["key"]


@pytest.mark.parametrize("rule", [{}, {"operation": "GetObject"}, {"status": 200}, {"status": 500, "probability": 2}])
def test_a_fault_that_makes_no_sense_is_refused(space, rule):
    with pytest.raises(liteio.TestApiError) as error:
        space.fault(**rule)
    assert error.value.status == 400


@pytest.mark.parametrize(("method", "given", "meant"), [
    ("fault", "operaton", "operation"),
    ("requests", "methd", "method"),
    ("wait_for_request", "timeout_s", "timeout"),
    ("wait_for_event", "keys", "key"),
    ("reset", "buckets", "bucket"),
])
def test_a_misspelled_option_has_the_one_that_was_meant(space, method, given, meant):
    with pytest.raises(TypeError, match=rf"^{method}\(\) has no option '{given}': did you mean {meant}=…\?$"):
        getattr(space, method)(**{given: "x"})


@pytest.mark.parametrize(("call", "told"), [
    (lambda space: space.reset("photos"), r"reset\(\) takes its options by name, such as reset\(bucket='photos'\)$"),
    (lambda space: space.fault("PutObject"), r"fault\(\) takes its options by name, such as fault\(operation='PutObject'\)$"),
    (lambda space: space.fault(latency_ms=timedelta(seconds=2)), "latency_ms is a whole number, such as 2000, not "),
    (lambda space: space.fault(status="503"), "status is a whole number, not '503'"),
    (lambda space: space.wait_for_event(timeout=timedelta(seconds=2)), "timeout is a number of seconds, such as 2.0, not "),
    (lambda space: space.wait_for_request(count=1.5), "count is a whole number, not 1.5"),
])
def test_a_wrong_argument_has_the_right_one(space, call, told):
    with pytest.raises(TypeError, match=f"^{told}"):
        call(space)


@pytest.mark.parametrize(("options", "told"), [
    ({"buckets": ["photos"]}, r"no option 'buckets': a space starts with .* of its server, Server\(buckets=…\)$"),
    ({"seed": "fixtures"}, r"no option 'seed': a space starts with .* of its server, Server\(seed=…\)$"),
    ({"nam": "a"}, r"no option 'nam': did you mean name=…\?$"),
    ({"name": ["photos"]}, "the name of a space is a text"),
])
def test_what_a_space_does_not_have_is_told(testing_server, options, told):
    with pytest.raises(TypeError, match=told):
        testing_server.space(**options)


def test_the_environment_of_a_space_returns_the_space(space):
    with liteio.environment(space) as same:
        assert same is space


def test_presigned_urls_expire_by_the_clock(space):
    put(space)
    url = space.client().generate_presigned_url(
        "get_object", Params={"Bucket": "bucket", "Key": "key"}, ExpiresIn=3600)
    assert urllib.request.urlopen(url).read() == b"body"
    space.clock.advance(timedelta(hours=2))
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(url)
    space.clock.reset()
    assert urllib.request.urlopen(url).read() == b"body"


def test_the_clock_is_set(space):
    moment = datetime(2040, 2, 29, 12, 0, 0, 500_000, tzinfo=timezone.utc)
    answered = space.clock.set(moment)
    assert timedelta(0) <= answered - moment < timedelta(seconds=10)
    assert timedelta(0) <= space.clock.now() - moment < timedelta(seconds=20)
    assert space.clock.advance(1.5) - answered >= timedelta(seconds=1.5)
    assert space.clock.offset > timedelta(days=365)
    space.clock.reset()
    assert space.clock.offset == timedelta(0)


@pytest.mark.parametrize("text", [
    "2040-02-29T12:00:00Z", "2040-02-29T12:00:00", "2040-02-29 13:00:00.000+01:00", "2040-02-29T07:00:00-05:00",
])
def test_the_clock_is_set_to_a_text(space, text):
    moment = datetime(2040, 2, 29, 12, tzinfo=timezone.utc)
    assert timedelta(0) <= space.clock.set(text) - moment < timedelta(seconds=10)


def test_the_clock_is_set_to_a_day(space):
    assert space.clock.set("2040-02-29").replace(minute=0, second=0, microsecond=0) == datetime(2040, 2, 29, tzinfo=timezone.utc)


def test_a_text_that_is_no_time_is_refused(space):
    with pytest.raises(ValueError, match="'tomorrow' is no time: write it as 2020-01-01T00:00:00Z"):
        space.clock.set("tomorrow")


@pytest.mark.parametrize("moment", [datetime(2030, 1, 1), datetime.max])
def test_a_datetime_without_a_zone_is_refused(space, moment):
    with pytest.raises(ValueError, match=r"give a time zone, such as datetime\.now\(timezone\.utc\)$"):
        space.clock.set(moment)
    assert space.clock.offset == timedelta(0)


@pytest.mark.parametrize("moment", [date(2030, 1, 1), 1893456000, None])
def test_what_is_no_time_is_refused_with_what_is_one(space, moment):
    with pytest.raises(TypeError, match=r"is no time: give a datetime, such as .*, or a text, such as 2020-01-01T00:00:00Z$"):
        space.clock.set(moment)


@pytest.mark.parametrize("step", ["1h", None, float("nan"), 1e30])
def test_what_is_no_step_is_refused_with_what_is_one(space, step):
    with pytest.raises(TypeError, match=r"is no step: give seconds, or a timedelta, such as timedelta\(hours=1\), or days=3$"):
        space.clock.advance(step)


def test_the_clock_advances_by_what_a_timedelta_takes(space):
    before = space.clock.now()
    assert space.clock.advance(days=30, hours=1.5) - before >= timedelta(days=30, hours=1.5)
    assert space.clock.advance(weeks=1) - before >= timedelta(days=37)
    with pytest.raises(TypeError, match="^years=1 is no step: give numbers of weeks, days, .*, such as days=3$"):
        space.clock.advance(years=1)
    for days in ("3", float("nan"), 1e12):
        with pytest.raises(TypeError, match=f"^days={re.escape(repr(days))} is no step"):
            space.clock.advance(days=days)
    with pytest.raises(TypeError, match="^5 and days are two steps"):
        space.clock.advance(5, days=1)


def test_a_frozen_time_has_a_zone(space):
    freezegun = pytest.importorskip("freezegun")
    with freezegun.freeze_time("2030-01-01T12:00:00Z"):
        assert space.clock.set(datetime.now(timezone.utc)).year == 2030
        with pytest.raises(ValueError, match="time zone"):
            space.clock.set(datetime.now())


def test_objects_expire_at_once_when_the_clock_passes_their_days(space):
    put(space)
    space.client().put_bucket_lifecycle_configuration(Bucket="bucket", LifecycleConfiguration={"Rules": [
        {"ID": "old", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 30}}]})
    since = (space.wait_for_event(name="s3:ObjectCreated:*")[-1]).sequence
    space.clock.advance(timedelta(days=32))
    space.wait_for_event(bucket="bucket", key="key", name="s3:*Expiration:*", since=since)
    space.clock.reset()
    assert keys(space) == []


def test_requests_are_recorded(space):
    put(space, "a/key with spaces")
    space.wait_for_request(count=3)
    [request] = space.requests(operation="PutObject", bucket="bucket", key="a/*")
    assert (request.method, request.status, request.bytes_in) == ("PUT", 200, 4)
    assert request.key == "a/key with spaces"
    assert "Boto3" in (request.user_agent or "")
    assert "authorization" not in {name.lower() for name in request.headers}
    assert request.space == space.name
    assert abs(request.time - datetime.now(timezone.utc)) < timedelta(minutes=5)
    assert space.requests(status="4*") == []
    assert len(space.requests(limit=1)) == 1
    space.clear_requests()
    assert space.requests() == []


def test_a_request_is_waited_for(space):
    writer = threading.Timer(0.05, put, [space, "late"])
    writer.start()
    [request] = space.wait_for_request(operation="PutObject", key="late")
    writer.join()
    assert request.key == "late"
    assert len(space.wait_for_request(count=2)) >= 2


def test_an_event_is_waited_for(space):
    put(space, "key", b"12345")
    [event] = space.wait_for_event(name="s3:ObjectCreated:*", bucket="bucket", key="key")
    assert (event.name, event.key, event.size) == ("s3:ObjectCreated:Put", "key", 5)
    space.client().delete_object(Bucket="bucket", Key="key")
    [removed] = space.wait_for_event(name="s3:ObjectRemoved:*")
    assert removed.sequence > event.sequence


def test_as_many_events_are_waited_for_as_are_asked_for(space):
    put(space, "one")
    writer = threading.Timer(0.05, put, [space, "other"])
    writer.start()
    events = space.wait_for_event(name="s3:ObjectCreated:*", count=2)
    writer.join()
    assert [event.key for event in events] == ["one", "other"]
    with pytest.raises(liteio.WaitTimeout, match="^2 of 3 events matched bucket='bucket' within 0.05 s; "):
        space.wait_for_event(bucket="bucket", count=3, timeout=0.05)


def test_waiting_for_a_client_with_other_keys_names_the_main_space(testing_server):
    with testing_server.space() as space:
        with pytest.raises(liteio.WaitTimeout, match="; there were no requests$"):
            space.wait_for_request(timeout=0.05)
        put(testing_server)
        testing_server.wait_for_request(operation="PutObject")
        for wait, said in (
            (space.wait_for_request, "requests, but 3 in the main space, .* gets: .*PutObject bucket/key 200"),
            (space.wait_for_event, "events, but 1 in the main space, .* gets: s3:ObjectCreated:Put bucket/key"),
        ):
            with pytest.raises(liteio.WaitTimeout, match=f"; there were no {said}$"):
                wait(timeout=0.05)


def test_waiting_ends_with_what_came_last(space):
    for wait, what in ((space.wait_for_event, "events"), (space.wait_for_request, "requests")):
        with pytest.raises(liteio.WaitTimeout, match=f"^nothing matched key='x' within 0.05 s; there were no {what}$"):
            wait(key="x", timeout=0.05)
    for key in "abcd":
        put(space, key)
    space.wait_for_request(operation="PutObject", key="d")
    with pytest.raises(liteio.WaitTimeout) as error:
        space.wait_for_event(key="x", timeout=0.05)
    last = ", ".join(f"s3:ObjectCreated:Put bucket/{key}" for key in "bcd")
    assert str(error.value).endswith(f"; the last events: {last}")
    with pytest.raises(liteio.WaitTimeout) as error:
        space.wait_for_request(operation="DeleteObject", timeout=0.05)
    last = str(error.value).partition("; the last requests: ")[2].split(", ")
    assert len(last) == 3 and "PutObject bucket/d 200" in last


def test_waiting_for_a_user_ends_with_the_users_that_came(space):
    put(space, "a")
    space.wait_for_request(operation="PutObject")
    with pytest.raises(liteio.WaitTimeout) as error:
        space.wait_for_request(user="bob", timeout=0.05)
    assert str(error.value).endswith(f"PutObject bucket/a 200 by {space.access_key}")


def test_waiting_ends_with_an_error_that_names_the_filters(space):
    with pytest.raises(liteio.WaitTimeout, match="operation='PutObject'"):
        space.wait_for_request(operation="PutObject", timeout=0.05)
    with pytest.raises(TimeoutError):
        space.wait_for_event(key="never", timeout=0.05)


def test_a_data_directory_has_no_snapshots(test_api, tmp_path):
    with liteio.Server(data_dir=tmp_path / "data") as server:
        with pytest.raises(liteio.TestApiError) as error:
            server.snapshot("one")
        assert error.value.status == 501
