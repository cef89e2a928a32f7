# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, driven over the W3C WebDriver protocol of chromedriver, on the loopback alone."""
import atexit
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from harness import Skip, expect

# Without these it looks for updates and the like, which are not requests of a page.
QUIET = ("--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions "
         "--disable-background-networking --disable-component-update --disable-sync --disable-default-apps "
         "--disable-domain-reliability --no-proxy-server --force-device-scale-factor=1 "
         "--lang=en-US").split()


class Browser:
    """One window, with a profile of its own. It starts in seconds, so the cases of a test have one together."""

    _shared = None

    @classmethod
    def shared(cls):
        """That of this program, as if it had just begun."""
        if not cls._shared:
            cls._shared = cls()
            atexit.register(cls._shared.close)
        cls._shared.reset()
        return cls._shared

    def __init__(self):
        programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
        for name, path in programs.items():
            if not path:
                raise Skip(f"{name} is not installed")
        self.profile = tempfile.TemporaryDirectory(prefix="ctprof-test-", ignore_cleanup_errors=True)
        profile = self.profile.name
        # A home of its own: no crash handler, no fonts cached for others.
        environment = {**os.environ, "HOME": profile, "XDG_CONFIG_HOME": profile, "XDG_CACHE_HOME": profile}
        self.process = subprocess.Popen([programs["chromedriver"], "--port=0", "--allowed-ips=127.0.0.1"], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.page = None
        try:
            for line in self.process.stdout:
                port = re.search(r"started successfully on port (\d+)", line)
                if port:
                    break
            else:
                raise Skip("chromedriver does not start")
            self.url = f"http://127.0.0.1:{port[1]}"
            options = {"binary": programs["chromium"], "args": [*QUIET, f"--user-data-dir={profile}", "--window-size=1280,900", "about:blank"]}
            session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
            self.url += f"/session/{session['sessionId']}"
        except BaseException:
            self.process.kill()
            self.process.wait()
            self.profile.cleanup()
            raise

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            what = json.load(error)["value"]
            raise AssertionError(f"{what['error']}: {what['message'].splitlines()[0]}") from None

    def reset(self):
        self._call("POST", "/url", {"url": "about:blank"})
        self.protocol("Emulation.clearDeviceMetricsOverride")
        self.protocol("Emulation.setEmulatedMedia", features=[])

    def open(self, path):
        self.page = pathlib.Path(path).resolve().as_uri()
        self.logs()
        self._call("POST", "/url", {"url": self.page})

    def run(self, script, *arguments):
        """The value of a function body, run in the page."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def protocol(self, command, **parameters):
        """A command of the DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def scheme(self, name):
        self.protocol("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def size(self, width, height):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def pdf(self):
        return base64.b64decode(self._call("POST", "/print", {}))

    def logs(self):
        """What the console has said, and the addresses that the page has asked for, since the last time."""
        said = [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]
        asked = []
        for entry in self._call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            # The window it opens with is busy, too.
            if message["method"] == "Network.requestWillBeSent" and message["params"]["documentURL"] == self.page:
                asked.append(message["params"]["request"]["url"])
        return said, asked

    def wait(self, script, seconds=20):
        """Until the expression is true in the page."""
        done = self._call("POST", "/execute/async", {"args": [seconds * 1000], "script": f"""
            const [limit, done] = arguments, end = Date.now() + limit;
            const look = () => ({script}) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 20);
            look();"""})
        expect(done, "waited in vain for", script)

    def close(self):
        try:
            self._call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait(30)
            self.profile.cleanup()
