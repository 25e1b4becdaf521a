"""Chromium without a window, whose console and requests are looked at."""
import contextlib
import json
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


@contextlib.contextmanager
def chromium(width=1400, height=1000):
    with tempfile.TemporaryDirectory() as profile:
        options = Options()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion", f"--user-data-dir={profile}",
                     f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        driver.set_page_load_timeout(120)
        try:
            yield driver
        finally:
            driver.quit()


def requests_of(driver):
    """Addresses that pages have asked for since the last call; what holds its data itself, or is the browser's own, is left out."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [url for url in sent if not url.startswith(("data:", "blob:", "chrome:"))]


def complaints_of(driver):
    return [entry["message"] for entry in driver.get_log("browser")]


def colours(driver, scheme):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
