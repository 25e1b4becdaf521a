"""Firefox without a window, driven by WebDriver BiDi, with the part of Selenium's interface that checks of the page use: Debian has no
geckodriver. Its console and requests are looked at."""
import base64
import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, Request, TextMessage


class Line:
    """A web socket to the browser: commands and their results; events are kept."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.protocol, self.inbox, self.text, self.last = WSConnection(ConnectionType.CLIENT), [], "", 0
        self.events = []
        self.socket.sendall(self.protocol.send(Request(host=f"127.0.0.1:{port}", target="/session")))
        self.open = False
        while not self.open:
            self.receive()

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("Firefox has ended")
        self.protocol.receive_data(data)
        for event in self.protocol.events():
            if isinstance(event, AcceptConnection):
                self.open = True
            elif isinstance(event, Ping):
                self.socket.sendall(self.protocol.send(event.response()))
            elif isinstance(event, CloseConnection):
                raise RuntimeError(f"Firefox closed the connection: {event.reason}")
            elif isinstance(event, TextMessage):
                self.text += event.data
                if event.message_finished:
                    message, self.text = json.loads(self.text), ""
                    (self.events if message["type"] == "event" else self.inbox).append(message)

    def ask(self, method, **parameters):
        self.last += 1
        self.socket.sendall(self.protocol.send(TextMessage(json.dumps({"id": self.last, "method": method, "params": parameters}))))
        while not self.inbox:
            self.receive()
        answer = self.inbox.pop()
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]


class Element:
    """The `at`-th of those that a selector finds, looked up anew each time."""

    def __init__(self, driver, selector, at):
        self.driver, self.selector, self.at = driver, selector, at

    def of(self, expression):
        return self.driver.execute_script(f"const it = document.querySelectorAll(arguments[0])[arguments[1]]; return {expression}", self)

    text = property(lambda self: self.of("it.checkVisibility() ? it.innerText.trim() : ''"))

    def get_attribute(self, name):
        return self.of(f"it[{name!r}] ?? it.getAttribute({name!r})")

    def is_displayed(self):
        return self.of("it.checkVisibility()")

    def send_keys(self, keys):
        self.of("it.focus()")
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.driver.line.ask("input.performActions", context=self.driver.context, actions=[{"type": "key", "id": "keys", "actions": presses}])


class Firefox:
    def __init__(self, line, width, height):
        self.line = line
        line.ask("session.new", capabilities={})
        line.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = line.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.set_window_size(width, height)

    def set_window_size(self, width, height):
        self.line.ask("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def get(self, url):
        self.line.ask("browsingContext.navigate", context=self.context, url=url, wait="complete")

    current_url = property(lambda self: self.execute_script("return location.href"))

    def call(self, body, arguments):
        """A script's result, which JSON can hold; an element is handed over as its selector and number."""
        given = [value for each in arguments for value in ((each.selector, each.at) if isinstance(each, Element) else (each,))]
        answer = self.line.ask("script.callFunction", functionDeclaration=body, awaitPromise=True, target={"context": self.context},
                               arguments=[{"type": "string", "value": json.dumps(given)}])
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"].get("value", "null"))

    def execute_script(self, script, *arguments):
        return self.call(f"given => JSON.stringify((function () {{ {script} }})(...JSON.parse(given)) ?? null)", arguments)

    def execute_async_script(self, script, *arguments):
        return self.call(f"given => new Promise(done => (function () {{ {script} }})(...JSON.parse(given), done)).then(JSON.stringify)", arguments)

    def set_script_timeout(self, seconds):
        self.line.socket.settimeout(seconds)

    def find_elements(self, by, selector):
        count = self.execute_script("return document.querySelectorAll(arguments[0]).length", selector)
        return [Element(self, selector, at) for at in range(count)]

    def find_element(self, by, selector):
        return self.find_elements(by, selector)[0]

    def save_screenshot(self, path):
        data = self.line.ask("browsingContext.captureScreenshot", context=self.context)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def seen(self, method):
        self.execute_script("return 0")  # what was sent before is here then
        found = [event["params"] for event in self.line.events if event["method"] == method]
        self.line.events = [event for event in self.line.events if event["method"] != method]
        return found


def installed():
    return shutil.which("firefox-esr") or shutil.which("firefox")


@contextlib.contextmanager
def firefox(width=1400, height=1000):
    with tempfile.TemporaryDirectory() as profile:
        log = pathlib.Path(profile) / "log.txt"
        preferences = {"browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False, "app.update.enabled": False,
                       "browser.startup.homepage_override.mstone": "ignore", "ui.prefersReducedMotion": 1, "remote.active-protocols": 1}
        (pathlib.Path(profile) / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()))
        with open(log, "w") as out:
            process = subprocess.Popen([installed(), "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"],
                                       stdout=out, stderr=out)
        try:
            for _ in range(1200):
                listens = re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", log.read_text())
                if listens or process.poll() is not None:
                    break
                time.sleep(0.1)
            if not listens:
                raise RuntimeError(f"Firefox did not begin: {log.read_text()[-400:]}")
            yield Firefox(Line(int(listens[1])), width, height)
        finally:
            process.terminate()
            process.wait()


def requests_of(driver):
    urls = [event["request"]["url"] for event in driver.seen("network.beforeRequestSent")]
    return [url for url in urls if not url.startswith(("data:", "blob:", "chrome:"))]


def complaints_of(driver):
    return [event["text"] for event in driver.seen("log.entryAdded")]
