"""What check_pages asks of a page in Chromium, and the scripts that use its charts."""
import contextlib
import time

from browser import requests_of

# pixels(room, x, y, width, height): what all canvases of a chart show there, [red, green, blue, opacity, ...].
PIXELS = r"""
const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const pixels = (room, x, y, width, height) => {
  const all = [...room.querySelectorAll('canvas')], scale = all[0].width / all[0].clientWidth;
  Object.assign(probe.canvas, {width: all[0].width, height: all[0].height});
  for (const canvas of all) probe.drawImage(canvas, 0, 0);
  return probe.getImageData(x * scale, y * scale, Math.max(1, width * scale), Math.max(1, height * scale)).data;
};
"""
# Uses each chart with the keys that it has, and tells what came of it.
USE_CHARTS = r"""
const key = (room, name) => room.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
const frame = () => new Promise((drawn) => setTimeout(drawn, 15));
const all = [];
for (const chart of straggler.charts) {
  const {room, figure, made} = chart, one = {title: figure.querySelector('h3').textContent, kind: chart.spec.kind, stops: made.stops || 0};
  room.scrollIntoView({block: 'center'});
  room.focus();
  key(room, 'ArrowRight');
  key(room, 'ArrowRight');
  await frame();
  one.ink = pixels(room, 0, 0, room.clientWidth, room.clientHeight).some((value) => value > 0);
  one.still = getComputedStyle(figure.querySelector('.still')).display;
  one.width = room.clientWidth;
  one.said = chart.says.textContent;
  one.hint = room.innerText.trim();
  one.zooms = (made.zoom || []).length;
  key(room, '+');
  key(room, '+');
  await frame();
  one.zoomed = chart.view.zoom && chart.view.zoom.x;
  key(room, '0');
  await frame();
  one.whole = chart.view.zoom && chart.view.zoom.x;
  const switches = [...figure.querySelectorAll('button')].filter((button) => button.textContent === 'log y');
  one.switched = switches.map((button) => {
    const axis = () => chart.echarts.getOption().yAxis[0].type, before = axis();
    button.click();
    const now = axis();
    button.click();
    return [before, now, axis()];
  });
  one.rows = chart.csv().trim().split('\n').length;
  one.svg = chart.svg();
  all.push(one);
}
return all;
"""


class Browser:
    """Chromium, and what is asked of its pages."""

    def __init__(self, driver):
        self.driver = driver
        driver.set_script_timeout(60)

    def open(self, page):
        requests_of(self.driver)
        self.driver.get(page.as_uri())
        # Charts below the window are drawn when the page has time for them.
        self.until("return [...document.querySelectorAll('figure.chart:not(.live)')].every((each) => each.closest('details'))")

    def until(self, script):
        """Waits until the script returns true, half a minute at most."""
        for _ in range(1500):
            if self.run(script):
                break
            time.sleep(0.02)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def later(self, script, *arguments):
        """Of a script that may wait, what it returns."""
        return self.driver.execute_async_script("const done = arguments[arguments.length - 1], given = arguments;"
                                                "(async () => {" + script + "})().then(done, (error) => done({error: String(error)}))", *arguments)

    @contextlib.contextmanager
    def narrow(self):
        command = "Emulation.setDeviceMetricsOverride"
        self.driver.execute_cdp_cmd(command, {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
        yield
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.until("return document.documentElement.clientWidth > 1000")
