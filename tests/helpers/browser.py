"""A headless Chromium, driven by its own protocol over two pipes."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def found():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def needed():
    """Skips a test where no Chromium is installed."""
    return pytest.mark.skipif(found() is None, reason="no Chromium is installed")


class Browser:
    """One page; `errors`: what the console complained of, `asked`: all addresses that were asked for."""

    def __init__(self, width=900, height=640):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # Chromium reads from 3 and writes to 4.
        wired = f"import os, sys; os.dup2({to_read}, 30); os.dup2({to_write}, 31); os.dup2(30, 3); os.dup2(31, 4)"
        begin = [sys.executable, "-c", f"{wired}; os.execv(sys.argv[1], sys.argv[1:])", found()]
        options = ["--headless", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-extensions"]
        options += ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        options += [f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", "about:blank"]
        nowhere = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._process = subprocess.Popen([*begin, *options], pass_fds=(to_read, to_write), **nowhere)
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session = 0, b"", None
        self.errors, self.asked = [], []
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(Exception):
            self._session = None
            self.send("Browser.close", patience=5)
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, method, patience=60, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + patience
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self, end):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            assert ready, "Chromium does not answer"
            self._rest += os.read(self._read, 1 << 20)
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["text"])
        if message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        if message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.errors.append(str(parameters["args"]))
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(parameters["request"]["url"])
        return message

    def open(self, path):
        self.send("Page.navigate", url=f"file://{path}")
        self.until("document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression in the page; promises are awaited."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script, patience=30):
        end = time.monotonic() + patience
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def click(self, selector, x=0.5, y=0.5):
        """A click of the mouse at a part of an element's width and height."""
        box = self.run(
            f"(r => [r.x, r.y, r.width, r.height])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        place = dict(x=box[0] + x * box[2], y=box[1] + y * box[3], button="left", clickCount=1)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **place)

    def drag(self, selector, dx, dy):
        box = self.run(
            f"(r => [r.x, r.y, r.width, r.height])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
        for kind, a, b in (("mousePressed", x, y), ("mouseMoved", x + dx, y + dy), ("mouseReleased", x + dx, y + dy)):
            self.send("Input.dispatchMouseEvent", type=kind, x=a, y=b, button="left", buttons=1, clickCount=1)

    def picture(self):
        """What is seen, as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
