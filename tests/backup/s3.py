"""A client of S3 and S3 Vectors that does no more than these tests need, and never tries anything twice: a writer has to know of
each request whether it was answered."""

import datetime
import hashlib
import hmac
import http.client
import json
import re
import urllib.parse

ACCESS, SECRET, REGION = "liteio", "liteio123", "us-east-1"
UNSIGNED = "UNSIGNED-PAYLOAD"


class Refused(Exception):
    """An answer with an error."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:300]!r}")
        self.status = status


class Client:
    """One connection to a server, for a service of AWS by its name in signatures."""

    def __init__(self, port, service="s3"):
        self.service = service
        self.host = f"127.0.0.1:{port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._day = self._key = None

    def request(self, method, path, query=(), body=b"", headers=()):
        """The headers and the body of an answer. `OSError` or `HTTPException` if there is none."""
        # With an empty value, as it is signed.
        text = "&".join(f"{urllib.parse.quote(name, safe='')}={urllib.parse.quote(value, safe='')}"
                        for name, value in sorted(query))
        quoted = urllib.parse.quote(path)
        signed = dict(headers) | self._signature(method, quoted, text, body)
        target = f"{quoted}?{text}" if text else quoted
        self.connection.request(method, target, body=body, headers=signed)
        reply = self.connection.getresponse()
        answered = reply.read()
        if reply.status >= 300:
            raise Refused(reply.status, answered)
        return reply.headers, answered

    def call(self, operation, **parameters):
        """The answer of an operation of a service that speaks JSON."""
        body = json.dumps(parameters).encode()
        _, answered = self.request("POST", f"/{operation}", body=body, headers={"content-type": "application/json"})
        return json.loads(answered or b"{}")

    def put(self, path, body):
        self.request("PUT", path, body=body)

    def put_in_parts(self, path, parts):
        _, begun = self.request("POST", path, [("uploads", "")])
        upload = re.search(rb"<UploadId>(.+?)</UploadId>", begun)[1].decode()
        listed = []
        for number, part in enumerate(parts, 1):
            headers, _ = self.request("PUT", path, [("partNumber", str(number)), ("uploadId", upload)], part)
            listed.append(f"<Part><PartNumber>{number}</PartNumber><ETag>{headers['ETag']}</ETag></Part>")
        document = f"<CompleteMultipartUpload>{''.join(listed)}</CompleteMultipartUpload>".encode()
        # An error may come behind the status.
        _, done = self.request("POST", path, [("uploadId", upload)], document)
        if b"<CompleteMultipartUploadResult" not in done:
            raise Refused(200, done)

    def delete(self, path):
        self.request("DELETE", path)

    def get(self, path):
        """The bytes of an object; `None` if it does not exist."""
        try:
            return self.request("GET", path)[1]
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def keys(self, bucket):
        """All keys of a bucket."""
        found, token = [], None
        while True:
            query = [("list-type", "2")] + ([("continuation-token", token)] if token else [])
            _, page = self.request("GET", f"/{bucket}", query)
            found += [key.decode() for key in re.findall(rb"<Key>(.+?)</Key>", page)]
            after = re.search(rb"<NextContinuationToken>(.+?)</NextContinuationToken>", page)
            if not after:
                return found
            token = after[1].decode()

    def _signature(self, method, path, query, body=b""):
        now = datetime.datetime.now(datetime.timezone.utc)
        time, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        payload = UNSIGNED if self.service == "s3" else hashlib.sha256(body).hexdigest()
        headers = {"host": self.host, "x-amz-content-sha256": payload, "x-amz-date": time}
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"
        scope = f"{day}/{REGION}/{self.service}/aws4_request"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}"
        if self._day != day:
            key = f"AWS4{SECRET}".encode()
            for part in (day, REGION, self.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._day, self._key = day, key
        signature = hmac.digest(self._key, text.encode(), "sha256").hex()
        credential = f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope},SignedHeaders={names},Signature={signature}"
        return headers | {"authorization": credential}
