"""An OpenID Connect issuer for the console: a page with names to sign in as, keys, and the exchange of codes."""

import base64
import hashlib
import http.server
import json
import random
import secrets
import threading
import time
import urllib.parse

CLIENT, SECRET = "console", "a secret of the console"
# The head of a signature with SHA-256 (RFC 8017, section 9.2).
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
PAGE = """<!doctype html><title>Issuer</title><h1>Sign in</h1>{}"""


def coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_prime(number):
    even, odd = 0, number - 1
    while odd % 2 == 0:
        even, odd = even + 1, odd // 2
    for _ in range(16):
        power = pow(random.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(even - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime(bits):
    while True:
        number = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if number % 65537 != 1 and all(number % small for small in (3, 5, 7, 11, 13, 17, 19)) and is_prime(number):
            return number


class Issuer(http.server.ThreadingHTTPServer):
    """It signs in whom a person chooses. `people` has the claims of each, `clock` what its clock is ahead, in seconds."""

    daemon_threads = True

    def __init__(self, people):
        super().__init__(("127.0.0.1", 0), Handler)
        self.people, self.clock, self.nonce, self.codes, self.exchanged = people, 0, None, {}, []
        self.url = f"http://127.0.0.1:{self.server_port}/realm"
        self.name = self.url.removeprefix("http://")
        p, q = prime(1024), prime(1024)
        self.modulus, self.private = p * q, pow(65537, -1, (p - 1) * (q - 1))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def token(self, claims):
        signed = ".".join(coded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims))
        size = self.modulus.bit_length() // 8
        digest = DIGEST_INFO + hashlib.sha256(signed.encode()).digest()
        padded = b"\0\1" + b"\xff" * (size - 3 - len(digest)) + b"\0" + digest
        signature = pow(int.from_bytes(padded, "big"), self.private, self.modulus).to_bytes(size, "big")
        return f"{signed}.{coded(signature)}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", **headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(body), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, status, value):
        self.answer(status, json.dumps(value).encode())

    def do_GET(self):
        issuer, (path, _, query) = self.server, self.path.partition("?")
        if path == "/realm/.well-known/openid-configuration":
            at = lambda name: f"{issuer.url}/{name}"
            return self.json(200, {"issuer": issuer.url, "jwks_uri": at("keys"), "authorization_endpoint": at("authorize"),
                                   "token_endpoint": at("token")})
        if path == "/realm/keys":
            size = issuer.modulus.bit_length() // 8
            return self.json(200, {"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "e": "AQAB",
                                             "n": coded(issuer.modulus.to_bytes(size, "big"))}]})
        if path == "/realm/authorize":
            links = [f'<p><a href="/realm/as?name={name}&{query}">{name}</a></p>' for name in (*issuer.people, "nobody")]
            return self.answer(200, PAGE.format("".join(links)).encode(), "text/html")
        if path == "/realm/as":
            asked = dict(urllib.parse.parse_qsl(query))
            back = {"state": asked["state"]}
            if asked["name"] == "nobody":
                back["error"] = "access_denied"
            else:
                back["code"] = secrets.token_urlsafe()
                issuer.codes[back["code"]] = asked
            return self.answer(302, b"", Location=f"{asked['redirect_uri']}?{urllib.parse.urlencode(back)}")
        return self.json(404, {})

    def do_POST(self):
        issuer = self.server
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        expected = base64.b64encode(f"{CLIENT}:{urllib.parse.quote_plus(SECRET)}".encode()).decode()
        if self.headers["Authorization"] != f"Basic {expected}":
            return self.json(401, {"error": "invalid_client"})
        asked = issuer.codes.pop(form["code"], None)
        challenge = coded(hashlib.sha256(form["code_verifier"].encode()).digest())
        if not asked or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return self.json(400, {"error": "invalid_grant"})
        issuer.exchanged.append(form)
        now = int(time.time()) + issuer.clock
        claims = {"iss": issuer.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": issuer.nonce or asked["nonce"],
                  **issuer.people[asked["name"]]}
        return self.json(200, {"access_token": "none", "token_type": "Bearer", "id_token": issuer.token(claims)})
