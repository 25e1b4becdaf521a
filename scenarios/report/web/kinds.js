// What rows of bars are in ECharts: one bar each, or parts of a whole.
(function() {
'use strict';
const straggler = window.straggler, {kinds, look, format, element, axisStyle, valueAxis, afterZoom, widest} = straggler;

/// A hint's lines: [colour or null, text, bold]. Elements, so that names are text whatever they say.
function hint(lines) {
  const box = element('div');
  for (const [colour, text, bold] of lines) {
    const line = element('div', bold ? {style: 'font-weight:600'} : {});
    if (colour)
      line.append(
          element('span', {style: 'display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.5em;background:' + colour}));
    line.append(document.createTextNode(text));
    box.append(line);
  }
  return box;
}
straggler.hint = hint;

/// The names of rows beside an axis, cut where the window is narrow; with room for the `others`, of a chart below or above.
function rowAxis(palette, names, width, bold, others) {
  const room = Math.min(widest(names.concat(others || [])) + 12, width * 0.36);
  const style = axisStyle(palette);
  style.splitLine = {show: false};
  Object.assign(style.axisLabel, {
    width: room,
    overflow: 'truncate',
    interval: 0,
    fontSize: 13,
    formatter: (name, i) => (bold && bold[i] ? '{b|' + names[i] + '}' : names[i]),
    rich: {b: {fontWeight: 600, fontSize: 13, color: palette('fg')}},
  });
  return [Object.assign(style, {type: 'category', data: names.map((_, i) => String(i)), inverse: true}), room];
}
straggler.rowAxis = rowAxis;

kinds.bars = function(spec, view, palette) {
  const rows = spec.rows.filter((row) => !view.off.has(row.name)), names = rows.map((row) => row.name);
  const [axis, room] = rowAxis(palette, names, view.width, rows.map((row) => row.best));
  const said = widest(rows.map((row) => (row.missed ? '' : row.text))), logX = Boolean(view.logX);
  const known = rows.filter((row) => !row.missed), most = Math.max(0, ...known.map((row) => Math.max(row.value, row.high || 0)));
  const ends = logX ? straggler.endsOf(Math.min(...known.map((row) => row.value)), most, true, false, true) :
                      [Math.min(0, ...known.map((row) => row.value)), most > 0 ? 1.02 * most : 1];
  const canLogX = rows.every((row) => row.missed || row.value > 0),
        bars = rows.map(
            (row) => ({
              value: row.missed ? null : row.value,
              itemStyle: {color: look(palette, row.look).colour},
              label: {show: true, position: 'right', formatter: row.text, color: palette('fg'), distance: row.high > row.value ? 14 : 6},
            }));
  return {
    height: 62 + 30 * rows.length,
    legend: [],
    canLogX,
    logX,
    zoom: ['x'],
    zoomed: logX ? null : afterZoom(spec.unit, ...ends, view),
    stops: rows.length,
    stop: (k) => ({series: 0, index: k, link: rows[k].link, text: names[k] + ': ' + rows[k].text}),
    link: (event) => rows[event.dataIndex] && rows[event.dataIndex].link,
    option: {
      grid: {left: room + 18, right: Math.min(said, view.width * 0.3) + 24, top: 6, bottom: 50},
      xAxis: valueAxis(palette, spec.title, spec.unit, logX && canLogX, ends, {nameGap: 28}, view),
      yAxis: axis,
      tooltip: {trigger: 'item', formatter: (point) => hint([[null, names[point.dataIndex], true], [null, rows[point.dataIndex].text]])},
      series: [{type: 'bar', data: bars, barMaxWidth: 20, id: 'series0'}].concat(
          rows.some((row) => row.high > row.low) ? [sideways(rows, palette)] : [],
          rows.some((row) => row.missed) ? [missedTexts(rows, palette)] : []),
    },
    csv: () => [['name', spec.title, 'low', 'high', 'text']].concat(rows.map((row) => [row.name, row.value, row.low, row.high, row.text])),
  };
};

function sideways(rows, palette) {
  const some = rows.map((row, i) => [row.low, i, row.high]).filter(([low, , high]) => high > low);
  return {
    type: 'custom',
    silent: true,
    clip: true,
    data: some,
    encode: {x: [0, 2], y: 1},
    z: 3,
    renderItem: (params, api) => {
      const [x1, y] = api.coord([api.value(0), api.value(1)]), x2 = api.coord([api.value(2), api.value(1)])[0];
      const line = (a, b, c, d) => ({type: 'line', shape: {x1: a, y1: b, x2: c, y2: d}, style: {stroke: palette('fg'), lineWidth: 1.3}});
      return {type: 'group', children: [line(x1, y, x2, y), line(x1, y - 5, x1, y + 5), line(x2, y - 5, x2, y + 5)]};
    },
  };
}

function missedTexts(rows, palette) {
  return {
    type: 'custom',
    silent: true,
    data: rows.map((row, i) => [i]).filter(([i]) => rows[i].missed),
    encode: {y: 0},
    z: 3,
    renderItem: (params, api) => {
      const i = api.value(0), y = api.coord([0, i])[1];
      return {
        type: 'text',
        style: {text: rows[i].text, x: params.coordSys.x + 8, y, fill: palette('dim'), font: '13px sans-serif', verticalAlign: 'middle'}
      };
    },
  };
}

kinds.stack = function(spec, view, palette) {
  const kept = spec.names.map((name, row) => [name, row]).filter(([name]) => !view.off.has(name)), places = kept.map(([, row]) => row);
  const text = format(spec.unit), names = kept.map(([name]) => name),
        [axis, room] = rowAxis(palette, names, view.width, places.map((row) => row === spec.best));
  const values = places.map((row) => spec.values[row]), links = spec.links && places.map((row) => spec.links[row]);
  const sums = values.map((row) => row.reduce((sum, value) => sum + value, 0)), shares = view.mode === 1;
  const most = Math.max(...sums, 0), alike = sums.every((sum) => Math.abs(sum - most) <= 1e-6 * most);
  const value = (row, part) => (shares && sums[row] > 0 ? values[row][part] / sums[row] : values[row][part]);
  const parts = spec.parts.map((part, p) => [part, p]).filter(([, p]) => !view.hidden.has(p)), unit = shares ? 'share' : spec.unit;
  const drawn = names.map((_, row) => parts.reduce((sum, [, p]) => sum + value(row, p), 0)), highest = Math.max(0, ...drawn);
  const full = shares || (unit === 'share' && Math.abs(highest - 1) < 0.02) || (alike && parts.length === spec.parts.length);
  const ends = [0, full ? (unit === 'share' ? 1 : highest) : 1.02 * highest || 1];
  return {
    height: 62 + Math.max(22, Math.min(30, 900 / names.length)) * names.length,
    legend: spec.parts.map((part) => ({name: part.name, look: part.look})),
    ownLegend: true,
    zoom: ['x'],
    zoomed: afterZoom(unit, ...ends, view),
    modes: spec.unit === 'share' ? null : ['time', 'share'],
    stops: names.length,
    stop: (k) => ({
      series: 0,
      index: k,
      link: links && links[k],
      text: names[k] + ': ' + spec.parts.map((part, p) => part.name + ' ' + text(values[k][p])).join(', ')
    }),
    link: (event) => links && links[event.dataIndex],
    option: {
      grid: {left: room + 18, right: 30, top: 6, bottom: 50},
      xAxis: valueAxis(palette, shares ? 'share of the time' : spec.title, unit, false, ends, {nameGap: 28}, view),
      yAxis: axis,
      tooltip: {
        trigger: 'axis',
        axisPointer: {type: 'shadow'},
        formatter: (points) => {
          const row = points[0].dataIndex;
          return hint([[null, names[row], true]].concat(spec.parts.map(
              (part, p) =>
                  [look(palette, part.look).colour,
                   part.name + ': ' + text(values[row][p]) +
                       (sums[row] > 0 && spec.unit !== 'share' ? ', ' + format('share')(values[row][p] / sums[row]) : '')])));
        },
      },
      series: parts.map(([part, p]) => ({
                          type: 'bar',
                          stack: 'all',
                          id: 'series' + p,
                          name: part.name,
                          color: look(palette, part.look).colour,
                          barMaxWidth: 20,
                          itemStyle: {borderColor: palette('bg'), borderWidth: 0.6},
                          data: names.map((_, row) => value(row, p)),
                        })),
    },
    csv: () => [['name'].concat(spec.parts.map((part) => part.name))].concat(names.map((name, row) => [name].concat(values[row]))),
  };
};
})();
