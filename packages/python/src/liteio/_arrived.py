"""What came while a wait ended without enough of what it waited for."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional

from ._control import Control, TestApiError

LAST = 3


def matched(told: str, count: int, what: str) -> str:
    """The server tells how many there were: `2 of 3 came within …`."""
    found = re.match(r"(\d+) of \d+ came", told)
    there = int(found[1]) if found else 0
    return f"{there} of {count} {what} matched" if there else "nothing matched"


def last_of(control: Control, what: str, space: Optional[str], with_users: bool = False) -> str:
    """The last requests or events of a space, without a filter: mostly one of them is the one that was meant. Requests
    have their users if the filter has one."""
    records = all_of(control, what, space)
    if not records:
        return f"there were no {what}{of_main(control, what, space)}"
    name = request_in_words if what == "requests" else event_in_words
    shown = records[-LAST:]
    by = [f" by {record['user']}" if with_users and record.get("user") else "" for record in shown]
    return f"the last {what}: " + ", ".join(name(record) + user for record, user in zip(shown, by))


def of_main(control: Control, what: str, space: Optional[str]) -> str:
    """Those of the main space: mostly of a client with the keys of the server, or with any keys where a profile takes them."""
    records = all_of(control, what, None) if space else []
    if not records:
        return ""
    name = request_in_words if what == "requests" else event_in_words
    shown = ", ".join(name(record) for record in records[-LAST:])
    return f", but {len(records)} in the main space, where a client without the keys of this space gets: {shown}"


def all_of(control: Control, what: str, space: Optional[str]) -> List[Dict[str, Any]]:
    try:
        # Events have no list: a wait for one, which is over at once, has all.
        path = "/requests" if what == "requests" else "/events/wait"
        answer = control.call("GET", path, query={"space": space, "timeout_ms": 1 if what == "events" else None})
    except TestApiError as error:
        if error.status != 408:
            raise
        return []
    found: List[Dict[str, Any]] = answer[what]
    return found


def request_in_words(record: Mapping[str, Any]) -> str:
    place = "/".join(record[name] for name in ("bucket", "key") if record.get(name))
    return " ".join(filter(None, (record.get("operation") or record["method"], place, str(record["status"]))))


def event_in_words(record: Mapping[str, Any]) -> str:
    return f"{record['name']} {record['bucket']}/{record['key']}"
