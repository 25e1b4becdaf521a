// Curves, with bands or whiskers, marks, a target and where it is reached, and areas.
(function() {
'use strict';
const straggler = window.straggler, {kinds, look, format, hint, valueAxis, widest, extent, logLabels, endsOf} = straggler;

/// Curves or rows that are ticked, with their places.
const shown = (view, all) => all.map((each, i) => [each, i]).filter(([each, i]) => !straggler.isHidden(view, each, i));

/// With `columns` of x, then mean, low and high (null: none).
kinds.line = function(given, view, palette) {
  const spec = straggler.arranged(given, view);
  const xs = spec.x, at = view.x, columns = xs.length, x = xs[at];
  const px = (point) => point[at], py = (point) => point[columns], low = (point) => point[columns + 1],
        high = (point) => point[columns + 2];
  const all = spec.series.flatMap((series) => series.points);
  const [lowest, highY] = extent(all.flatMap((point) => [py(point), low(point), high(point)]));
  const lowY = spec.y.zero ? Math.max(lowest, Math.min(0, extent(all.map(py))[0])) : lowest;  // bars end at 0
  const [leastY] = extent(all.flatMap((point) => [py(point), low(point)]).filter((value) => value > 0));
  const canLogX = all.some((point) => px(point) > 0), canLogY = highY > 0;
  const logX = (view.logX === null ? Boolean(x.log) : view.logX) && canLogX;
  const logY = (view.logY === null ? Boolean(spec.y.log) : view.logY) && canLogY;
  const missed = spec.series.flatMap((series) => series.missed || []);  // over the one x that such charts have
  const [leastX, mostX] = extent(all.map(px).concat(missed).filter((value) => !logX || value > 0));
  const visible = shown(view, spec.series).map(([each]) => each);
  const matters = spec.crop && !logX && !logY ? straggler.cropped(visible, at, columns, spec.idealFlat, spec.crop === 'y') : null;
  const crop = view.mode === 1 ? null : matters;
  const within = (value, ends) => !ends || (value >= ends[0] && value <= ends[1]);
  const inside = (point) => !crop || (within(px(point), crop.x) && within(py(point), crop.y));
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
    if (each.raw)
      series.push({
        type: 'line',
        data: each.raw.map((point) => [px(point), py(point)]),
        silent: true,
        showSymbol: false,
        color: colour,
        lineStyle: {width: 1, opacity: 0.35},
        tooltip: {show: false},
        emphasis: {disabled: true},
        z: 2,
      });
    if (!walked) {
      const stops = [...points.keys()].filter((k) => inside(points[k]));
      walked = {id: 'series' + i, name: each.name, points, stops, links: drawn.map(([, k]) => each.link || (each.links && each.links[k]))};
    }
    series.push({
      id: 'series' + i,
      type: 'line',
      name: each.name,
      data,
      color: colour,
      showSymbol: Boolean(spec.marks),
      symbol,
      symbolSize: 9,
      lineStyle:
          {width: each.line === false ? 0 :
               each.best              ? 3.4 :
                                        2.2,
           type: dash},
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
    const [first, last] = crop ? crop.x : [leastX, mostX];
    const data = spec.idealFlat ? [[first, spec.idealFlat], [last, spec.idealFlat]] : spec.ideal;
    series.push({
      type: 'line',
      data,
      silent: true,
      showSymbol: false,
      lineStyle: {type: 'dashed', color: palette('dim'), width: 1.4},
      endLabel: {show: Boolean(spec.idealFlat) && view.width >= 600, formatter: spec.idealName || '', color: palette('dim')},
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
  const marks = Boolean(spec.marks), ends = crop ? crop.x : endsOf(leastX, mostX, logX, x.zero, marks);
  let endsY = crop && crop.y ? crop.y : roomy(endsOf(logY ? leastY : lowY, highY, logY, spec.y.zero, marks || !spec.y.zero), spec, logY);
  if (spec.square) ends.splice(0, 2, ...(endsY = [Math.min(ends[0], endsY[0]), Math.max(ends[1], endsY[1])]));
  const axisY = valueAxis(palette, spec.y.title, spec.y.unit, logY, endsY);
  const room = widest(textsOf(spec.y.unit, logY, endsY, axisY), 12) + 14, narrow = view.width < 600;
  axisY.nameGap = room + 6;
  const axisX = valueAxis(palette, x.title, x.unit, logX, ends, {nameGap: 30}, view, narrow ? 4 : 6);
  if (labels.size) {
    axisX.axisLabel.formatter = nameX;
    axisX.axisLabel.customValues = axisX.axisTick.customValues = labels.size <= 12 ? Array.from(labels.keys()) : null;
  }
  const few = logX && !labels.size ? logLabels(...ends) : null, whole = (zoom) => !zoom || (zoom.x[0] < 0.01 && zoom.x[1] > 99.99);
  if (few && whole(view.zoom)) axisX.axisLabel.customValues = axisX.axisTick.customValues = few;
  if (logX && !labels.size) Object.assign(axisX.axisLabel, {alignMinLabel: 'left', alignMaxLabel: 'right'});
  const events = at === 0 ? spec.events || [] : [], close = (ends[1] - ends[0]) / 150;
  if (events.length) series.push(marksOf(events, palette));
  series.push(...straggler.notesOf(
      visible, {at, target: spec.idealFlat, textX, palette, crop, ends, narrow, look: (each) => look(palette, each.look).colour}));
  const side = spec.square ? Math.max(200, Math.min(view.width - room - 64, 520)) : 0;
  const marksAlone = spec.series.every((each) => each.line === false || each.area);
  return {
    height: side ? side + 78 :
        narrow   ? 320 :
                   380,
    legend: spec.series.length > 1 ?
        spec.series.map(
            (each) =>
                ({name: each.name,
                  look: each.look,
                  best: each.best,
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
    modes: matters ? [spec.crop === 'y' ? 'what differs' : 'until the target', 'whole run'] : null,
    groupings: straggler.groupings(given),
    canSmooth: given.series.some((each) => !each.area && each.line !== false && !spec.marks && each.points.length > 12),
    zoomed: few ?
        (echarts) => setTimeout(
            () => echarts.isDisposed() || echarts.setOption({xAxis: ticksAt(whole(view.zoom) ? few : null)}), 0) :
        logX || labels.size ? null :
                              straggler.afterZoom(x.unit, ...ends, view),
    link: (event) => (event.seriesId && event.seriesId.startsWith('series') ? linkOf(spec, event) : null),
    stops: walked ? walked.stops.length : 0,
    stop: (i) => {
      const k = walked.stops[i];
      return {
        series: series.findIndex((each) => each.id === walked.id),
        index: k,
        link: walked.links[k],
        text: walked.name + ': ' + nameX(px(walked.points[k])) + ', ' + textY(py(walked.points[k])),
      };
    },
    option: {
      grid: Object.assign(
          {left: room + 30, top: 18, bottom: 60},
          side ? {width: side, height: side} : {right: 20 + (spec.idealFlat && !narrow ? widest([spec.idealName || '']) : 0)}),
      xAxis: axisX,
      yAxis: axisY,
      tooltip: {
        trigger: marksAlone ? 'item' : 'axis',
        axisPointer: {type: 'cross', label: {show: false}, lineStyle: {color: palette('dim')}, crossStyle: {color: palette('dim')}},
        formatter: (points) =>
            lineHint(points, spec, view, {nameX, textY, px, py, low, high, events, close, colour: (each) => look(palette, each.look).colour}),
      },
      series,
    },
    csv: () => [xs.map((each) => each.title).concat([spec.y.title, 'low', 'high', 'series'])].concat(spec.series.flatMap(
        (each) => each.points.map((point) => xs.map((_, k) => point[k]).concat([py(point), low(point), high(point), each.name])))),
  };
};

/// Labels and grid lines at these values; null: where ECharts finds them.
const ticksAt = (values) => ({axisTick: {customValues: values}, axisLabel: {customValues: values}});

/// Room above crosses, and round ends of a linear axis.
function roomy([low, high], spec, logarithmic) {
  if (logarithmic || spec.square) return [low, high];
  const {step} = straggler.ticks(spec.y.unit, low, high, 5), rows = spec.series.filter((each) => (each.missed || []).length).length;
  const top = Math.ceil(high / step - 1e-9) * step, more = rows && rows * 11 + 14 > ((top - high) / (top - low)) * 300 ? step : 0;
  return [Math.floor(low / step + 1e-9) * step, top + more];
}

/// Texts as long as an axis has.
const textsOf = (unit, logarithmic, ends, axis) =>
    (logarithmic ? ends.map((value) => axis.axisLabel.formatter(value)) : ends.map((value) => straggler.ticks(unit, ...ends).text(value)));

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
function lineHint(points, spec, view, {nameX, textY, px, py, low, high, events, close, colour}) {
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
  for (const [at, , name] of events.filter(([at]) => Math.abs(at - x) < close).slice(0, 3)) lines.push([null, name + ' at ' + nameX(at)]);
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

/// Failures and rollbacks as lines through the picture, checkpoints as ticks on its axis.
function marksOf(events, palette) {
  return {
    type: 'custom',
    silent: true,
    data: events.map(([x, through]) => [x, through]),
    encode: {x: 0},
    z: 1,
    renderItem: (params, api) => {
      const x = api.coord([api.value(0), 0])[0], {x: left, y, width, height} = params.coordSys, through = api.value(1) === 1;
      if (x < left || x > left + width) return null;
      return {
        type: 'line',
        shape: {x1: x, x2: x, y1: through ? y : y + height - 8, y2: y + height},
        style: {stroke: palette(through ? 's1' : 'fg'), lineWidth: 1, opacity: 0.7},
      };
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
})();
