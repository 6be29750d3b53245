"""Recorded requests and events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class RecordedRequest:
    """A request that the server has answered."""

    id: str
    sequence: int
    time: datetime
    space: Optional[str]
    method: str
    operation: Optional[str]
    bucket: Optional[str]
    key: Optional[str]
    query: Optional[str]
    status: int
    code: Optional[str]
    user: Optional[str]
    bytes_in: int
    bytes_out: int
    duration_ms: float
    user_agent: Optional[str]
    headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> RecordedRequest:
        return cls(
            id=record["id"],
            sequence=record["sequence"],
            time=read_time(record["time"]),
            space=record.get("space"),
            method=record["method"],
            operation=record.get("operation"),
            bucket=record.get("bucket"),
            key=record.get("key"),
            query=record.get("query"),
            status=record["status"],
            code=record.get("code"),
            user=record.get("user"),
            bytes_in=record.get("bytes_in", 0),
            bytes_out=record.get("bytes_out", 0),
            duration_ms=record.get("duration_ms", 0),
            user_agent=record.get("user_agent"),
            headers=dict(record.get("headers") or {}),
        )


@dataclass(frozen=True)
class Event:
    """A change of an object, as in event notifications."""

    sequence: int
    name: str
    bucket: str
    key: str
    version_id: Optional[str]
    size: Optional[int]
    etag: Optional[str]
    time: datetime

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Event:
        return cls(
            sequence=record["sequence"],
            name=record["name"],
            bucket=record["bucket"],
            key=record["key"],
            version_id=record.get("version_id"),
            size=record.get("size"),
            etag=record.get("etag"),
            time=read_time(record["time"]),
        )


def read_time(text: str) -> datetime:
    """Parses RFC 3339 in UTC, with any number of fractional digits."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return moment.replace(microsecond=int(f"{fraction:0<6}"[:6]), tzinfo=timezone.utc)


def parse_time(text: str) -> datetime:
    """Parses ISO 8601 as people write it: a date, or a time with any zone, or in UTC without one.

    Raises ValueError with an example."""
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip()))
    except ValueError:
        raise ValueError(f"{text!r} is no time: write it as 2020-01-01T00:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def write_time(moment: datetime) -> str:
    """Formats RFC 3339 in UTC, with milliseconds."""
    aware = moment.astimezone(timezone.utc)
    return f"{aware:%Y-%m-%dT%H:%M:%S}.{aware.microsecond // 1000:03}Z"
