// What each kind of chart is in ECharts: lines, bars, stacks, intervals, maps.
(function() {
'use strict';
const straggler = window.straggler, {kinds, look, format, element} = straggler;

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

function axisStyle(palette) {
  return {
    axisLine: {show: true, lineStyle: {color: palette('dim')}},
    axisTick: {show: false},
    axisLabel: {color: palette('fg'), fontSize: 12, hideOverlap: true},
    splitLine: {show: true, lineStyle: {color: palette('rule')}},
    minorSplitLine: {show: false},
    nameTextStyle: {color: palette('dim'), fontSize: 13},
  };
}
straggler.axisStyle = axisStyle;

function valueAxis(palette, title, unit, logarithmic, more) {
  const style = axisStyle(palette), text = format(unit);
  style.axisLabel.formatter = (value) => text(value).replace(/\.0 %$/, ' %');
  return Object.assign(
      style, {type: logarithmic ? 'log' : 'value', name: title + (logarithmic ? ' (logarithmic)' : ''), nameLocation: 'middle'}, more);
}
straggler.valueAxis = valueAxis;

/// Pixels that texts take, about.
const widest = (texts, size) => texts.reduce((most, text) => Math.max(most, 0.58 * (size || 13) * text.length), 0);

const shown = (view, all) => all.map((each, i) => [each, i]).filter(([, i]) => !view.hidden.has(i));

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

/// The next number with one digit that counts (or 15, 150 …), downwards or upwards: where a logarithmic axis ends, which labels its ends.
function rounded(value, upwards) {
  const power = Math.pow(10, Math.floor(Math.log10(value))), steps = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10], part = value / power;
  const step = upwards ? steps.find((each) => each >= part * (1 - 1e-9)) : steps.filter((each) => each <= part * (1 + 1e-9)).pop();
  return Number(((step || 1) * power).toPrecision(3));
}

/// The labels of a logarithmic axis of few powers of ten: 1, 2 and 5 of each, and its ends. None: powers of ten are enough.
function logLabels(low, high) {
  if (!(high / low > 1) || high / low > 1000) return null;
  const labels = [low];
  for (let power = Math.pow(10, Math.floor(Math.log10(low))); power <= high; power *= 10)
    for (const step of [1, 2, 5])
      if (step * power > low * 1.2 && step * power < high / 1.2) labels.push(Number((step * power).toPrecision(3)));
  return labels.concat([high]);
}

/// Where an axis begins and ends: curves fill it, marks stand a little inside. A logarithmic one ends at round numbers.
function endsOf(low, high, logarithmic, zero, marks) {
  if (logarithmic && low > 0) {
    const margin = marks ? Math.max(1.01, Math.pow(high / low, 0.03)) : 1;
    return [rounded(low / margin, false), rounded(high * margin, true)];
  }
  if (!marks || !(high > low)) return [zero ? Math.min(0, low) : low, high];
  const margin = 0.04 * (high - (zero ? Math.min(0, low) : low));
  return [zero ? Math.min(0, low) : low - margin, high + margin];
}

straggler.endsOf = endsOf;

/// A linear axis ends at its data, or a little beyond its marks: its end has a label only if that is a round number.
const isRound = (value) => Number(value.toPrecision(1)) === value;
const roundLabels = (logarithmic, marks, least, most) =>
    (logarithmic ? {} : {showMinLabel: least === 0 || (!marks && isRound(least)), showMaxLabel: !marks && isRound(most)});
straggler.roundLabels = roundLabels;

/// With `columns` of x, then mean, low and high (null: none).
kinds.line = function(spec, view, palette) {
  const xs = spec.x, at = view.x, columns = xs.length, x = xs[at];
  const px = (point) => point[at], py = (point) => point[columns], low = (point) => point[columns + 1],
        high = (point) => point[columns + 2];
  const all = spec.series.flatMap((series) => series.points);
  const [lowY, highY] = extent(all.flatMap((point) => [py(point), low(point), high(point)]));
  const [leastY] = extent(all.flatMap((point) => [py(point), low(point)]).filter((value) => value > 0));
  const canLogX = all.some((point) => px(point) > 0), canLogY = highY > 0;
  const logX = (view.logX === null ? Boolean(x.log) : view.logX) && canLogX;
  const logY = (view.logY === null ? Boolean(spec.y.log) : view.logY) && canLogY;
  const missed = spec.series.flatMap((series) => series.missed || []);  // over the one x that such charts have
  const [leastX, mostX] = extent(all.map(px).concat(missed).filter((value) => !logX || value > 0));
  const textX = format(x.unit), textY = format(spec.y.unit);
  const labels = new Map((x.labels || []).map(([value, label]) => [value, label]));
  const nameX = (value) => labels.get(value) || textX(value);
  const series = [];
  let walked = null;  // the series whose values the arrow keys walk through
  for (const [each, i] of shown(view, spec.series)) {
    const {colour, dash, symbol} = look(palette, each.look);
    const drawn = each.points.map((point, k) => [point, k]).filter(([point]) => (!logX || px(point) > 0) && (!logY || py(point) > 0));
    const data = drawn.map(([point, k]) => ({value: [px(point), py(point)], k})), points = drawn.map(([point]) => point);
    const floor = logY ? leastY / 2 : spec.y.zero ? 0 : -Infinity;
    if (each.band && points.length) series.push(bandOf(points, px, low, high, colour, floor));
    if (each.area) continue;
    if (!walked)
      walked = {id: 'series' + i, name: each.name, points, links: drawn.map(([, k]) => each.link || (each.links && each.links[k]))};
    series.push({
      id: 'series' + i,
      type: 'line',
      name: each.name,
      data,
      color: colour,
      showSymbol: Boolean(spec.marks),
      symbol,
      symbolSize: 9,
      lineStyle: {width: each.line === false ? 0 : 2.2, type: dash},
      triggerLineEvent: Boolean(each.link),
      emphasis: {disabled: true},
      sampling: undefined,
      z: 3,
    });
    if (!each.band && points.some((point) => low(point) !== null && low(point) !== undefined))
      series.push(whiskers(points, px, low, high, colour, floor));
    if (each.missed && each.missed.length) series.push(crosses(each.missed, colour, i));
  }
  if (spec.ideal && !(xs.length > 1 && at > 0 && !spec.idealFlat)) {
    const [first, last] = [leastX, mostX];
    const data = spec.idealFlat ? [[first, spec.idealFlat], [last, spec.idealFlat]] : spec.ideal;
    series.push({
      type: 'line',
      data,
      silent: true,
      showSymbol: false,
      lineStyle: {type: 'dashed', color: palette('dim'), width: 1.4},
      endLabel: {show: Boolean(spec.idealFlat), formatter: spec.idealName || '', color: palette('dim')},
      tooltip: {show: false},
    });
  }
  if (spec.bands && spec.bands.length && series.length)
    series[0].markArea = {
      silent: true,
      itemStyle: {color: palette('dim'), opacity: 0.18},
      label: {color: palette('fg')},
      data: spec.bands.map(([from, to, name]) => [{xAxis: from, name}, {xAxis: to}]),
    };
  const ends = endsOf(leastX, mostX, logX, x.zero, Boolean(spec.marks));
  const more = {scale: !x.zero, nameGap: 30, min: ends[0], max: ends[1]};
  const room = widest([textY(highY), textY(lowY), textY((highY + lowY) / 3)], 12) + 10;
  const axisX = valueAxis(palette, x.title, x.unit, logX, more);
  axisX.axisLabel.formatter = nameX;
  if (labels.size && labels.size <= 12) axisX.axisLabel.customValues = Array.from(labels.keys());
  const few = logX && !labels.size ? logLabels(...ends) : null, whole = (zoom) => !zoom || (zoom.x[0] < 0.01 && zoom.x[1] > 99.99);
  if (few && whole(view.zoom)) axisX.axisLabel.customValues = few;
  Object.assign(
      axisX.axisLabel, {alignMinLabel: 'left', alignMaxLabel: 'right'}, labels.size ? {} : roundLabels(logX, Boolean(spec.marks), ...ends));
  const marksAlone = spec.series.every((each) => each.line === false || each.area);
  return {
    height: 380,
    legend: spec.series.length > 1 ?
        spec.series.map(
            (each) =>
                ({name: each.name,
                  look: each.look,
                  sample: each.area       ? 'box' :
                      each.line === false ? 'dot' :
                                            'line'})) :
        [],
    xs: xs.map((each) => each.title),
    canLogX,
    canLogY,
    logX,
    logY,
    zoom: ['x'],
    zoomed: few ?
        (echarts) => setTimeout(
            () => echarts.isDisposed() || echarts.setOption({xAxis: {axisLabel: {customValues: whole(view.zoom) ? few : null}}}), 0) :
        null,
    link: (event) => (event.seriesId && event.seriesId.startsWith('series') ? linkOf(spec, event) : null),
    stops: walked ? walked.points.length : 0,
    stop: (k) => ({
      series: series.findIndex((each) => each.id === walked.id),
      index: k,
      link: walked.links[k],
      text: walked.name + ': ' + nameX(px(walked.points[k])) + ', ' + textY(py(walked.points[k])),
    }),
    option: {
      grid: {left: room + 34, right: 20 + (spec.idealFlat ? widest([spec.idealName || '']) : 0), top: 18, bottom: 60},
      xAxis: axisX,
      yAxis: valueAxis(
          palette, spec.y.title, spec.y.unit, logY,
          {scale: !spec.y.zero, min: spec.y.zero && !logY && leastY > 0 ? 0 : undefined, nameGap: room + 10}),
      tooltip: {
        trigger: marksAlone ? 'item' : 'axis',
        axisPointer: {type: 'cross', label: {show: false}, lineStyle: {color: palette('dim')}, crossStyle: {color: palette('dim')}},
        formatter: (points) =>
            lineHint(points, spec, view, {nameX, textY, px, py, low, high, colour: (each) => look(palette, each.look).colour}),
      },
      series,
    },
    csv: () => [xs.map((each) => each.title).concat([spec.y.title, 'low', 'high', 'series'])].concat(spec.series.flatMap(
        (each) => each.points.map((point) => xs.map((_, k) => point[k]).concat([py(point), low(point), high(point), each.name])))),
  };
};

function linkOf(spec, event) {
  const series = spec.series[Number(event.seriesId.slice(6))];
  return series && (series.link || (series.links && event.data && series.links[event.data.k]));
}

/// The place of the point whose x is nearest; points are ordered by x.
function nearest(points, px, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (px(points[middle]) < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && x - px(points[low - 1]) < px(points[low]) - x ? low - 1 : low;
}

/// Every curve's value where the mouse is, or one mark's.
function lineHint(points, spec, view, {nameX, textY, px, py, low, high, colour}) {
  const list = [].concat(points).filter((point) => point.seriesId && point.seriesId.startsWith('series'));
  if (!list.length) return '';
  const x = list[0].value[0], lines = [[null, nameX(x), true]];
  const say = (series, k) => {
    const point = series.points[k], tip = series.tips && series.tips[k];
    const range = low(point) === null || low(point) === undefined ? '' : ' (' + textY(low(point)) + ' to ' + textY(high(point)) + ')';
    const elsewhere = px(point) === x ? '' : ' at ' + nameX(px(point));
    lines.push([colour(series), tip || (series.name ? series.name + ': ' : '') + textY(py(point)) + range + elsewhere]);
  };
  if (!Array.isArray(points)) {
    say(spec.series[Number(points.seriesId.slice(6))], points.data.k);
    return hint(lines);
  }
  for (const [series] of shown(view, spec.series)) {
    const all = series.points;
    if (series.area || !all.length || x < px(all[0]) || x > px(all[all.length - 1])) continue;
    say(series, nearest(all, px, x));
  }
  return hint(lines);
}

function bandOf(points, px, low, high, colour, floor) {
  const inside = points.filter((point) => low(point) !== null && low(point) !== undefined);
  return {
    type: 'custom',
    silent: true,
    clip: true,
    data: [[px(inside[0] || points[0]), low(inside[0] || points[0])]],
    z: 1,
    renderItem: (params, api) => ({
      type: 'polygon',
      shape: {
        points: inside.map((point) => api.coord([px(point), high(point)]))
                    .concat(inside.slice().reverse().map((point) => api.coord([px(point), Math.max(low(point), floor)]))),
      },
      style: {fill: colour, opacity: 0.18},
    }),
  };
}

function whiskers(points, px, low, high, colour, floor) {
  const some = points.filter((point) => low(point) !== null && low(point) !== undefined);
  return {
    type: 'custom',
    silent: true,
    clip: true,
    data: some.map((point) => [px(point), low(point), high(point)]),
    encode: {x: 0, y: [1, 2]},
    z: 2,
    renderItem: (params, api) => {
      const [x, top] = api.coord([api.value(0), api.value(2)]), bottom = api.coord([api.value(0), Math.max(api.value(1), floor)])[1];
      const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style: {stroke: colour, lineWidth: 1.5}});
      return {type: 'group', children: [line(x, top, x, bottom), line(x - 4, top, x + 4, top), line(x - 4, bottom, x + 4, bottom)]};
    },
  };
}

/// x where no repeat has a value: crosses along the top, a row each series.
function crosses(missed, colour, row) {
  return {
    type: 'custom',
    clip: false,
    data: missed.map((x) => [x]),
    encode: {x: 0},
    silent: true,
    z: 4,
    renderItem: (params, api) => {
      const x = api.coord([api.value(0), 0])[0], y = params.coordSys.y + 8 + 11 * (row % 8);
      if (x < params.coordSys.x - 1 || x > params.coordSys.x + params.coordSys.width + 1) return null;
      return {type: 'text', style: {text: '\u00d7', x, y, fill: colour, font: '16px sans-serif', align: 'center', verticalAlign: 'middle'}};
    },
  };
}

/// The names of rows beside an axis, cut where the window is narrow.
function rowAxis(palette, names, width, bold) {
  const room = Math.min(widest(names) + 12, width * 0.36);
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
  const text = format(spec.unit), rows = spec.rows, names = rows.map((row) => row.name);
  const [axis, room] = rowAxis(palette, names, view.width);
  const said = widest(rows.map((row) => (row.missed ? '' : row.text))), logX = Boolean(view.logX);
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
    stops: rows.length,
    stop: (k) => ({series: 0, index: k, link: rows[k].link, text: names[k] + ': ' + rows[k].text}),
    link: (event) => rows[event.dataIndex] && rows[event.dataIndex].link,
    option: {
      grid: {left: room + 18, right: Math.min(said, view.width * 0.3) + 24, top: 6, bottom: 50},
      xAxis: valueAxis(palette, spec.title, spec.unit, logX && canLogX, {nameGap: 28}),
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
  const text = format(spec.unit), names = spec.names, [axis, room] = rowAxis(palette, names, view.width);
  const sums = spec.values.map((row) => row.reduce((sum, value) => sum + value, 0)), shares = view.mode === 1;
  const most = Math.max(...sums, 0), alike = sums.every((sum) => Math.abs(sum - most) <= 1e-6 * most);
  const value = (row, part) => (shares && sums[row] > 0 ? spec.values[row][part] / sums[row] : spec.values[row][part]);
  const parts = shown(view, spec.parts);
  return {
    height: 62 + Math.max(22, Math.min(30, 900 / names.length)) * names.length,
    legend: spec.parts.map((part) => ({name: part.name, look: part.look})),
    zoom: ['x'],
    modes: spec.unit === 'share' ? null : ['time', 'share'],
    stops: names.length,
    stop: (k) => ({
      series: 0,
      index: k,
      link: spec.links && spec.links[k],
      text: names[k] + ': ' + spec.parts.map((part, p) => part.name + ' ' + text(spec.values[k][p])).join(', ')
    }),
    link: (event) => spec.links && spec.links[event.dataIndex],
    option: {
      grid: {left: room + 18, right: 30, top: 6, bottom: 50},
      xAxis: valueAxis(
          palette, shares ? 'share of the time' : spec.title, shares ? 'share' : spec.unit, false,
          {nameGap: 28,
           max: shares                                     ? 1 :
               alike && parts.length === spec.parts.length ? most :
                                                             undefined}),
      yAxis: axis,
      tooltip: {
        trigger: 'axis',
        axisPointer: {type: 'shadow'},
        formatter: (points) => {
          const row = points[0].dataIndex;
          return hint([[null, names[row], true]].concat(spec.parts.map(
              (part, p) =>
                  [look(palette, part.look).colour,
                   part.name + ': ' + text(spec.values[row][p]) +
                       (sums[row] > 0 && spec.unit !== 'share' ? ', ' + format('share')(spec.values[row][p] / sums[row]) : '')])));
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
    csv: () => [['name'].concat(spec.parts.map((part) => part.name))].concat(names.map((name, row) => [name].concat(spec.values[row]))),
  };
};
})();
