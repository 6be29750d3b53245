"""Chromium by the DevTools protocol: as much of it as a person does."""

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import websocket

KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " "), "ArrowDown": (40, ""), "ArrowUp": (38, ""),
    "ArrowRight": (39, ""), "ArrowLeft": (37, ""), "Home": (36, ""), "End": (35, ""), "Delete": (46, ""),
    "Backspace": (8, ""), "PageDown": (34, ""),
}
SHIFT = 8

# Finds what a person would: by label, text, title or placeholder, if it is visible.
FIND = """(what, role) => {
  const open = [...document.querySelectorAll('dialog[open]')].pop() ?? document;
  const shown = (it) => it.checkVisibility() && it.getClientRects().length > 0 && !it.closest('[hidden]');
  const kinds = { button: 'button, [role=button], [role=tab], [role=menuitem], a', field: 'input, textarea, select' };
  const name = (it) => {
    if (it.getAttribute('aria-label')) return it.getAttribute('aria-label');
    if (it.matches('input, textarea, select')) return it.labels?.[0]?.innerText ?? it.placeholder ?? '';
    return it.innerText;
  };
  const all = [...open.querySelectorAll(kinds[role])].filter(shown);
  const words = (it) => name(it).trim().replace(/\\s+/g, ' ');
  return all.find((it) => words(it) === what) ?? all.find((it) => words(it).startsWith(what));
}"""


class Failed(AssertionError):
    pass


class Browser:
    def __init__(self, scroll_bars=False):
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "chromium is missing: install it, or name it in CHROMIUM"
        self.profile = tempfile.mkdtemp(prefix="liteio-console-")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", *([] if scroll_bars else ["--hide-scrollbars"]),
             "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        port_file = os.path.join(self.profile, "DevToolsActivePort")
        until(lambda: os.path.exists(port_file) and open(port_file).read().count("\n"), "Chromium has started", 60)
        self.port = int(open(port_file).read().split()[0])

    def page(self, url="about:blank"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request))
        return Page(target["webSocketDebuggerUrl"], url, f"http://127.0.0.1:{self.port}/json/close/{target['id']}")

    def opened(self, is_wanted):
        """A tab that a page has opened, by its address."""
        def find():
            targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list"))
            return next((it for it in targets if it["type"] == "page" and is_wanted(it["url"])), None)
        target = until(find, "a tab was opened")
        return Page(target["webSocketDebuggerUrl"], "about:blank", f"http://127.0.0.1:{self.port}/json/close/{target['id']}")

    def close(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def until(found, what, seconds=15):
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.03)


class Page:
    def __init__(self, address, url, closing):
        self.closing = closing
        self.socket = websocket.create_connection(address, timeout=60, max_size=None)
        self.ids = itertools.count(1)
        self.events = []
        self.dialogs = []
        self.is_watched = False
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.size(1280, 800)
        if url != "about:blank":
            self.open(url)

    def send(self, method, **params):
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']}")
                return message["result"]
            self.take(message)

    def take(self, message):
        self.events.append(message)
        if message.get("method") == "Page.javascriptDialogOpening":
            self.dialogs.append(message["params"]["message"])
            self.socket.send(json.dumps({"id": next(self.ids), "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}))

    def complaints(self):
        """What the browser or a script has complained of: exceptions, errors in the console, refusals by the CSP."""
        self.run("0")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            if event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
                found.append(str([it.get("value") or it.get("description") for it in params["args"]]))
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                entry = params["entry"]
                # Answers that are errors are told by the page itself.
                if entry["source"] != "network":
                    found.append(entry["text"])
        return found

    def watch_network(self):
        """From here on requests are noted: hundreds of messages for each page that is opened."""
        self.send("Network.enable")
        self.is_watched = True

    def requests(self):
        if not self.is_watched:
            raise Failed("no request is noted before watch_network")
        self.run("0")
        return [it["params"]["request"]["url"] for it in self.events if it.get("method") == "Network.requestWillBeSent"]

    def size(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def colours(self, scheme):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        # Kernels have been seen that refuse a first connection of the loopback once in ten thousand.
        refused = "net::ERR_CONNECTION_REFUSED"
        until(lambda: self.send("Page.navigate", url=url).get("errorText") != refused, f"{url} is not refused")
        until(lambda: self.run("document.readyState === 'complete' && location.href !== 'about:blank'"), f"{url} is loaded")

    def run(self, script, wait=False):
        # A module of the page: under another name it would be another instance.
        script = script.replace("import('./", "import(document.querySelector('script[type=module]').src.slice(0, -'app.js'.length) + '")
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=wait, userGesture=True)
        if "exceptionDetails" in result:
            raise Failed(f"{script[:200]}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, script, seconds=15):
        def look():
            try:
                return self.run(script)
            except Failed:
                return None
        try:
            return until(look, script, seconds)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.text()[:3000]}\n{self.complaints()}") from None

    def text(self):
        return self.run("([...document.querySelectorAll('dialog[open]')].map(it => it.innerText).join('\\n') + '\\n' + document.body.innerText)")

    def sees(self, words, seconds=15):
        self.until(f"document.body.innerText.includes({json.dumps(words)})", seconds)

    def sees_not(self, words, seconds=15):
        self.until(f"!document.body.innerText.includes({json.dumps(words)})", seconds)

    def click(self, what, role="button", count=1):
        find = f"({FIND})({json.dumps(what)}, {json.dumps(role)})"
        self.until(f"!!{find} && !{find}.disabled")
        # An answer of the server may draw the page again in between: there is no element for a moment.
        middle = (f"(() => {{ const it = {find}; if (!it) return []; it.scrollIntoView({{ block: 'nearest' }}); const box = it.getBoundingClientRect();"
                  " return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        # What is still moving would be missed. A tab in the background has no frames.
        frame = "(new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 100); }))"
        settled = f"(async () => {{ const before = {middle}; await {frame}; const after = {middle}; return before.length && before.join() === after.join() && after; }})()"
        self.click_at(*until(lambda: self.run(settled, wait=True), f"{what} stays where it is"), count=count)

    def click_at(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def fill(self, label, text):
        find = f"({FIND})({json.dumps(label)}, 'field')"
        self.until(f"(() => {{ const it = {find}; if (!it) return false; it.focus(); if (it.select) it.select(); return true; }})()")
        self.send("Input.insertText", text=text)

    def choose(self, label, value):
        find = f"({FIND})({json.dumps(label)}, 'field')"
        self.until(f"(() => {{ const it = {find}; if (!it) return false; it.value = {json.dumps(value)}; "
                   "it.dispatchEvent(new Event('change', { bubbles: true })); return true; })()")

    def press(self, key, modifiers=0):
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key))
        more = {"text": text} if text else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, modifiers=modifiers, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def give_files(self, label, paths):
        found = self.send("Runtime.evaluate", expression=f"document.querySelector('input[type=file][aria-label=\"{label}\"]')")
        self.send("DOM.setFileInputFiles", files=[str(path) for path in paths], objectId=found["result"]["objectId"])

    def picture(self, path=None):
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return data

    def close(self):
        self.socket.close()
        # A tab that stays open keeps its connections, of which a browser has six to a server: a trace never ends.
        urllib.request.urlopen(self.closing).close()
