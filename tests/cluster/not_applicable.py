"""Tests of tests/clients that say nothing about a cluster, by their names, with the reasons."""

OWN = "it starts servers of its own, in memory or on a directory"

STREAMS = "servers of a cluster refuse streams of events"

# By the name of the module: all of its tests, or those that are listed.
LEFT_OUT = {
    "test_annotations": {"test_annotations_their_changes_and_deletions_are_replicated": OWN},
    "test_aws_answers": {
        "test_a_region_that_does_not_exist": OWN,
        "test_new_buckets_of_the_profiles_are_as_on_aws": OWN,
    },
    "test_event_targets": {"*": OWN},
    "test_events": {"*": OWN},
    "test_listen": {
        "test_the_sdk_listens_to_a_bucket": STREAMS,
        "test_mc_watches": STREAMS,
        "test_mc_mirrors_what_is_made_later": STREAMS,
        "test_a_stopping_server_ends_the_stream": OWN,
    },
    "test_mc_admin": {"*": "the trace, the metrics and the profile of mc are those of one server"},
    "test_model": {"*": "it asks no server"},
    "test_reports": {"*": OWN},
    "test_restart": {"*": OWN},
    "test_tables_kill": {"*": OWN},
    "test_restore": {"test_kills_lose_no_restore": OWN},
}


def reason(module, test):
    """The reason for which a test is left out; `None` for one that applies."""
    left_out = LEFT_OUT.get(module, {})
    return left_out.get("*") or left_out.get(test)
