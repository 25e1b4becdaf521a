// A stretch of a chart that a reader selects, and what it holds: by dragging with Shift or the tool, or by the key S.
(function() {
'use strict';
const straggler = window.straggler, {element} = straggler;

straggler.selection = function(chart) {
  const {room, view} = chart, box = element('div', {class: 'selected'}), said = element('p', {class: 'sums', role: 'status'});
  let range = null, start = null, mode = view.mode;
  room.after(said);
  const timeAt = (event) => {
    const [low, high] = seen(), time = chart.echarts.convertFromPixel({xAxisIndex: 0}, event.clientX - room.getBoundingClientRect().left);
    return Math.max(low, Math.min(high, time));
  };
  const seen = () => {
    const [low, high] = chart.made.ends, [from, to] = (view.zoom && view.zoom.x) || [0, 100];
    return [low + ((high - low) * from) / 100, low + ((high - low) * to) / 100];
  };

  function show() {
    if (mode !== view.mode) range = null;  // another stretch
    mode = view.mode;
    if (!box.isConnected) room.append(box);  // the chart empties its room when it begins
    const known = range && range[1] > range[0], [from, to] = known ? range : seen();
    said.textContent = (known ? 'Selected: ' : 'Shown: ') + chart.made.sums(from, to).join(', ') + '.';
    box.hidden = !known;
    if (!known) return;
    const at = (time) => chart.echarts.convertToPixel({xAxisIndex: 0}, time),
          area = chart.echarts.getModel().getComponent('grid').coordinateSystem.getRect();
    const left = Math.max(area.x, at(from)), right = Math.min(area.x + area.width, at(to));
    Object.assign(box.style, {left: left + 'px', width: Math.max(0, right - left) + 'px', top: area.y + 'px', height: area.height + 'px'});
  }

  const takes = (event) => start !== null || ((event.shiftKey || view.selecting) && event.button === 0);
  room.addEventListener('pointerdown', (event) => {
    if (!takes(event)) return;
    start = timeAt(event);
    range = null;
    room.setPointerCapture(event.pointerId);
    event.stopPropagation();
  }, true);
  room.addEventListener('mousedown', (event) => takes(event) && event.stopPropagation(), true);
  room.addEventListener('pointermove', (event) => {
    if (start === null) return;
    range = [start, timeAt(event)].sort((a, b) => a - b);
    show();
    event.stopPropagation();
  }, true);
  room.addEventListener('pointerup', () => {
    start = null;
    show();
  }, true);
  return {
    show,
    all: () => {
      range = range ? null : seen();
      show();
    }
  };
};
})();
