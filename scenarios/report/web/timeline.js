// The timeline: a lane each worker, server and link; spans, messages, updates and what links carry, from a whole run to one update.
(function() {
'use strict';
const straggler = window.straggler, {kinds, format, hint, valueAxis, afterZoom, rowAxis, look} = straggler;
const phases = straggler.phases.map((phase) => phase.title);  // straggler.phases: rows of sim/record/phase.hpp
const parts = 1e6;                                            // of a stretch, in which its times are given
const mostArrows = 500, mostLines = 160, mostMarks = 3000;    // that are drawn at once
const seconds = format('seconds'), bytes = format('bytes'), share = format('share');
const strength = {
  'all-gather': 0.5,
  'reduce-scatter': 0.75
};  // of the colour of communicating

/// A moment of the run, with digits that tell it from others in a stretch of that length.
const moment = (stretch) => {
  const {text} = straggler.ticks('seconds', stretch.from, stretch.from + stretch.seconds);
  return (time) => text(time, 2);
};

/// What a stretch holds, with times in seconds of the run.
function unfolded(spec, stretch) {
  if (stretch.unfolded) return stretch.unfolded;
  const at = (time) => stretch.from + (time / parts) * stretch.seconds;
  const spans = [], marks = [], all = stretch.spans || [];
  for (let i = 0; i < all.length; i += 4) spans.push([at(all[i + 2]), at(all[i + 3]), all[i], all[i + 1]]);
  const backward = [], passes = stretch.backward || [];
  for (let i = 0; i < passes.length; i += 3) backward.push([at(passes[i + 1]), at(passes[i + 2]), passes[i]]);
  const updates = (stretch.updates || []).map((update) => {
    for (let i = 2; i < update.length; i += 2) marks.push([at(update[1]), update[i], update[0], update[i + 1]]);
    return [at(update[1]), update[0]];
  });
  const messages = (stretch.messages || [])
                       .map(([from, to, what, sent, left, arrived, size, version,
                              lost]) => ({from, to, what, size, version, lost, sent: at(sent), left: at(left), arrived: at(arrived)}))
                       .sort((a, b) => a.sent - b.sent);
  const collectives =
      (stretch.collectives || []).map(([what, piece, pieces, members, size, start, end,
                                        waited]) => ({what, piece, pieces, members, size, waited, start: at(start), end: at(end)}));
  const served = (stretch.served || []).map(([lane, what, start, end]) => ({lane, what, start: at(start), end: at(end)}));
  const links = [];
  for (const [lane, points] of stretch.links || [])
    for (let i = 0; i < points.length; i += 3) links.push([at(points[i]), at(points[i + 1]), lane, points[i + 2] / 1000]);
  return (stretch.unfolded = {spans, backward, marks, updates, messages, collectives, served, links});
}

/// What of a whole run lies in a view of it.
function viewOf(spec, view) {
  if (view.unfolded) return view.unfolded;
  const whole = unfolded(spec, spec.stretches[0]), first = view.from, last = view.from + view.seconds;
  const overlaps = ([from, to]) => to >= first && from <= last, inside = ([time]) => time >= first && time <= last;
  return (view.unfolded = {
    spans: whole.spans.filter(overlaps),
    backward: whole.backward.filter(overlaps),
    marks: whole.marks.filter(inside),
    updates: whole.updates.filter(inside),
    messages: whole.messages.filter((each) => overlaps([each.sent, each.arrived])),
    collectives: whole.collectives.filter((each) => overlaps([each.start, each.end])),
    served: whole.served.filter((each) => overlaps([each.start, each.end])),
    links: whole.links.filter(overlaps),
  });
}

const rect = (x, y, width, height, style, r) => ({type: 'rect', shape: {x, y, width: Math.max(width, 0.6), height, r: r || 0}, style});

/// The part of [from, to] that lies in the window, as pixels; null: none does.
function clipped(params, api, from, to, lane) {
  const area = params.coordSys, [x1, y] = api.coord([from, lane]), x2 = api.coord([to, lane])[0];
  const left = Math.max(x1, area.x), right = Math.min(x2, area.x + area.width);
  return right < area.x || left > area.x + area.width ? null : {left, width: right - left, y};
}

/// Shapes tell phases apart without colours, too: blocks, outlines, thick and thin lines.
function spanShape(shape, colour, {left, width, y}, ground) {
  const gap = width > 3 ? 0.8 : 0;
  if (shape === 'thick') return rect(left, y - 4, width - gap, 8, {fill: colour});
  if (shape === 'ideal') return rect(left, y - 1.5, width - gap, 3, {fill: colour});
  if (shape === 'hollow') return rect(left + 1, y - 9, width - 2, 18, {fill: ground, stroke: colour, lineWidth: 2}, 2);
  if (shape === 'nobody') return rect(left + 0.5, y - 9.5, width - 1, 19, {fill: 'transparent', stroke: colour, lineDash: [3, 3]});
  return rect(left, y - 10, width - gap, 20, {fill: colour}, width > 6 ? 2 : 0);
}

function arrow(x1, y1, x2, y2, style) {
  const angle = Math.atan2(y2 - y1, x2 - x1), wing = (turn) => [x2 - 7 * Math.cos(angle + turn), y2 - 7 * Math.sin(angle + turn)];
  return {
    type: 'group',
    children: [
      {type: 'line', shape: {x1, y1, x2, y2}, style},
      {type: 'polygon', shape: {points: [[x2, y2], wing(0.42), wing(-0.42)]}, style: {fill: style.stroke, opacity: style.opacity}},
    ],
  };
}

/// How many of `times` (ascending) lie before `value`.
function below(times, value) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// How many of `times` (ascending) are in the window.
function inWindow(params, api, times) {
  const area = params.coordSys, [x0, x1] = [api.coord([times.low, 0])[0], api.coord([times.high, 0])[0]];
  const perPixel = (times.high - times.low) / Math.max(1e-9, x1 - x0);
  const from = times.low + (area.x - x0) * perPixel, to = from + area.width * perPixel;
  return below(times, to) - below(times, from);
}

kinds.timeline = function(spec, view, palette) {
  const whole = spec.stretches.length, all = spec.stretches.concat(spec.views || []), place = Math.min(view.mode, all.length - 1);
  const stretch = all[place], data = place < whole ? unfolded(spec, stretch) : viewOf(spec, stretch), lanes = spec.lanes;
  const names = lanes.map((lane) => lane.name), [axis, room] = rowAxis(palette, names, view.width, null, spec.others);
  const colours = phases.map((phase) => look(palette, phase).colour), ground = palette('bg');
  const from = stretch.from, to = stretch.from + (spec.limit || stretch.seconds);
  const present = phases.map(
      (_, phase) =>
          (stretch.bins ? stretch.bins.some((row) => row.some((value, i) => i % phases.length === phase && value > 0)) :
                          data.spans.some((span) => span[3] === phase)));
  const items = phases.map((name, phase) => ({name, look: name, phase})).filter((item) => present[item.phase]);
  if (data.backward.length) items.push({name: 'backward', look: 'computing', what: 'backward', sample: 'box darker'});
  if (data.messages.length) {
    const weights = data.messages.filter((message) => message.what === 'weights').length, mixed = weights && weights < data.messages.length;
    items.push({name: mixed ? 'messages (weights dashed)' : 'messages', look: 'fg', what: 'messages', sample: 'line'});
  }
  if (data.updates.length) items.push({name: 'updates', look: 's3', what: 'updates'});
  if (data.links.length) items.push({name: 'use of links', look: 's6', what: 'links'});
  const at = moment(stretch),
        hidden = new Set(items.filter((_, i) => view.hidden.has(i)).map((item) => (item.phase === undefined ? item.what : item.phase)));
  const common = {clip: true, animation: false}, series = [], hints = {};
  const add = (id, list, renderItem, said, z, always) => {
    if (!list.length && !always) return;
    hints[id] = said;
    series.push(Object.assign(
        {type: 'custom', id, data: list, renderItem, z, encode: {x: [0, 1], y: 2}}, common, id === 'updates' ? {clip: false} : {}));
  };

  if (stretch.bins) {
    const wide = stretch.seconds / 120, cells = [];
    stretch.bins.forEach((row, lane) => {
      for (let bin = 0; bin * phases.length < row.length; ++bin) cells.push([from + bin * wide, from + (bin + 1) * wide, lane, bin]);
    });
    add('bins', cells, (params, api) => binShape(params, api, stretch.bins, cells[params.dataIndex], colours, hidden),
        (i) => binHint(names, stretch.bins, cells[i], colours, at), 2);
  }
  const spans = data.spans.filter((span) => !hidden.has(span[3]));
  add('spans', spans,
      (params, api) => {
        const span = spans[params.dataIndex], place = clipped(params, api, span[0], span[1], span[2]);
        return place && spanShape(straggler.phases[span[3]].shape, colours[span[3]], place, ground);
      },
      (i) => {
        const span = spans[i];
        return [
          [null, names[span[2]], true], [colours[span[3]], phases[span[3]] + ', ' + seconds(span[1] - span[0])],
          [null, 'from ' + at(span[0]) + ' to ' + at(span[1])]
        ];
      },
      2);
  const computes = phases.indexOf('computing');
  if (!hidden.has(computes) && !hidden.has('backward'))
    add('backward', data.backward,
        (params, api) => {
          const place = clipped(params, api, ...data.backward[params.dataIndex]);
          return place && rect(place.left, place.y - 10, place.width, 20, {fill: '#000', opacity: 0.28});
        },
        (i) => [
            [null, names[data.backward[i][2]], true], [colours[computes], 'backward, ' + seconds(data.backward[i][1] - data.backward[i][0])],
            [null, 'from ' + at(data.backward[i][0]) + ' to ' + at(data.backward[i][1])]],
        2);
  const served = data.served.map((each) => [each.start, each.end, each.lane, each.what]);
  add('served', served,
      (params, api) => {
        const each = served[params.dataIndex], place = clipped(params, api, each[0], each[1], each[2]);
        const [shape, colour] = each[3] === 'updates weights' ? ['block', 'computing'] : ['thick', 'communicating'];
        return place && spanShape(shape, palette(colour), place, ground);
      },
      (i) => [
          [null, names[served[i][2]], true], [null, served[i][3] + ', ' + seconds(served[i][1] - served[i][0])],
          [null, 'from ' + at(served[i][0])]],
      2);
  const joint = data.collectives, rowOf = (each) => lanes.findIndex((lane) => lane.kind === 'collective' && lane.name === each.what);
  add('collectives', joint.map((each) => [each.start, each.end, rowOf(each)]),
      (params, api) => {
        const each = joint[params.dataIndex], place = clipped(params, api, each.start, each.end, rowOf(each));
        const shape = place && spanShape('thick', palette('communicating'), place, ground);
        if (shape) shape.style.opacity = strength[each.what] || 1;
        return shape;
      },
      (i) => {
        const each = joint[i],
              waited = each.waited < 0 ? 'began when the one before it was through' : 'waited for ' + workerName(spec, each.waited);
        return [
          [null, each.what + (each.pieces > 1 ? ', piece ' + (each.piece + 1) + ' of ' + each.pieces : ''), true],
          [palette('communicating'), bytes(each.size) + ' of each of ' + each.members + ' workers, ' + seconds(each.end - each.start)],
          [null, waited]
        ];
      },
      2);
  if (!hidden.has('links'))
    add('links', data.links,
        (params, api) => {
          const each = data.links[params.dataIndex], place = clipped(params, api, each[0], each[1], each[2]),
                high = 22 * Math.min(1, each[3]);
          return place && high > 0.2 ? rect(place.left, place.y + 11 - high, place.width + 0.3, high, {fill: palette('s6'), opacity: 0.8}) :
                                       null;
        },
        (i) => [
            [null, names[data.links[i][2]], true], [palette('s6'), share(data.links[i][3]) + ' of what it can carry'],
            [null, 'from ' + at(data.links[i][0]) + ' to ' + at(data.links[i][1])]],
        1);
  let updatesZoomed = null;
  if (!hidden.has('updates') && data.updates.length)
    updatesZoomed = addUpdates(add, data, names, lanes.filter((lane) => lane.kind !== 'link').length, palette, from, to, view, series, at);
  if (!hidden.has('messages')) addMessages(add, data, names, palette, from, to, at);
  const ticksZoomed = afterZoom('seconds', from, to, view);

  return {
    height: 78 + 30 * lanes.length,
    legend: items,
    zoom: ['x'],
    zoomed: (echarts) => {
      ticksZoomed(echarts);
      if (updatesZoomed) updatesZoomed(echarts);
    },
    sums: (first, last) => sumsOf(spec, stretch, data, first, last),
    ends: [from, to],
    modes: all.length > 1 ? all.map((each) => each.name) : null,
    modesLabel: 'Stretch',
    stops: data.marks.length ? data.marks.length : 0,
    stop: (k) => ({series: series.findIndex((each) => each.id === 'marks'), index: k, text: markText(names, data.marks[k], at)}),
    option: {
      grid: {left: room + 18, right: 24, top: 26, bottom: 50},
      xAxis: Object.assign(valueAxis(palette, 'simulated time', 'seconds', false, [from, to], {nameGap: 28}, view), {
        axisPointer: {
          show: true,
          triggerTooltip: false,
          lineStyle: {color: palette('dim'), width: 1},
          label: {formatter: ({value}) => at(value), backgroundColor: palette('fg'), color: palette('bg'), margin: 2},
        },
      }),
      yAxis: axis,
      tooltip:
          {trigger: 'item', formatter: (point) => (hints[point.seriesId] ? hint(hints[point.seriesId](point.dataIndex, point.value)) : '')},
      series,
    },
    csv: () => csvRows(data, names, stretch),
  };
};

function workerName(spec, rank) {
  const lane = spec.lanes.find((each) => each.kind === 'worker' && new RegExp('^worker ' + rank + '( |$)').test(each.name));
  return lane ? lane.name : 'worker ' + rank;
}

const markText = (names, mark, at) =>
    names[mark[1]] + ' contributes to update ' + mark[2] + ' at ' + at(mark[0]) + ', staleness ' + mark[3];

/// Returns what is to be called after each zoom.
function addUpdates(add, data, names, rows, palette, from, to, view, series, at) {
  const times = Object.assign(data.updates.map((update) => update[0]), {low: from, high: to});
  /// The first update of the window and the one after its last; none where there are too many: what is not drawn takes no time either.
  const visible = () => {
    const [start, end] = (view.zoom && view.zoom.x) || [0, 100], place = (percent) => from + ((to - from) * percent) / 100;
    const range = [Math.max(0, below(times, place(start)) - 1), Math.min(times.length, below(times, place(end)) + 1)];
    return range[1] - range[0] > mostLines + 2 ? [0, 0] : range;
  };
  let range = visible(), shown = 0, last = -100;
  const points = () => times.slice(...range).map((time, i) => [time, time, 0, range[0] + i]);
  add('updates', points(),
      (params, api) => {
        if (params.dataIndexInside === 0) {
          shown = inWindow(params, api, times);
          last = -100;
        }
        const [time, version] = data.updates[api.value(3)], area = params.coordSys, x = api.coord([time, 0])[0];
        if (shown > mostLines || x < area.x || x > area.x + area.width) return null;
        const bottom = area.y + (area.height * rows) / names.length;
        const children = [
          {type: 'line', shape: {x1: x, y1: area.y, x2: x, y2: bottom}, style: {stroke: palette('fg'), opacity: shown > 40 ? 0.16 : 0.32}}
        ];
        if (x - last > 12 + 7 * String(version).length) {
          if (last < 0)
            children.push({
              type: 'text',
              style: {text: 'update', x: area.x - 26, y: area.y - 5, align: 'right', verticalAlign: 'bottom', fill: palette('dim'), font: '11px sans-serif'}
            });
          last = x;
          children.push({
            type: 'text',
            style: {
              text: String(version),
              x,
              y: area.y - 5,
              align: 'center',
              verticalAlign: 'bottom',
              fill: palette('dim'),
              font: '11px sans-serif'
            }
          });
        }
        return {type: 'group', children};
      },
      (_, value) => {
        const [time, version] = data.updates[value[3]];
        return [[null, 'update ' + version + ' at ' + at(time), true]].concat(
            data.marks.filter((mark) => mark[2] === version).slice(0, 12).map((mark) => [null, names[mark[1]] + ', staleness ' + mark[3]]));
      },
      3, true);
  const marks = Object.assign(data.marks.map((mark) => mark[0]), {low: from, high: to});
  let drawn = 0;
  add('marks', data.marks.map((mark) => [mark[0], mark[0], mark[1]]),
      (params, api) => {
        if (params.dataIndexInside === 0) drawn = inWindow(params, api, marks);
        const mark = data.marks[params.dataIndex], area = params.coordSys, [x, y] = api.coord([mark[0], mark[1]]);
        if (drawn > mostMarks || x < area.x || x > area.x + area.width) return null;
        return {
          type: 'circle',
          shape:
              {cx: x,
               cy: y,
               r: drawn > 400 ? 2 :
                   drawn > 60 ? 3.2 :
                                4.5},
          style: {fill: palette('s3'), stroke: palette('bg'), lineWidth: drawn > 400 ? 0 : 1}
        };
      },
      (i) => {
        const mark = data.marks[i];
        return [
          [null, names[mark[1]], true], [palette('s3'), 'contributes to update ' + mark[2] + ', at ' + at(mark[0])],
          [null, 'staleness ' + mark[3] + ': its weights were version ' + (mark[2] - 1 - mark[3])]
        ];
      },
      5);
  return (echarts) => {
    const next = visible();
    if (next[0] === range[0] && next[1] === range[1]) return;
    range = next;
    series.find((each) => each.id === 'updates').data = points();  // for what is saved
    setTimeout(() => echarts.isDisposed() || echarts.setOption({series: [{id: 'updates', data: points()}]}), 0);
  };
}

function addMessages(add, data, names, palette, from, to, at) {
  const times = Object.assign(data.messages.map((message) => message.sent), {low: from, high: to});
  let shown = 0;
  add('messages', data.messages.map((message) => [message.sent, message.arrived, message.from]),
      (params, api) => {
        if (params.dataIndexInside === 0) shown = inWindow(params, api, times);
        if (params.dataIndex % Math.ceil(shown / mostArrows)) return null;  // of too many some are drawn
        const message = data.messages[params.dataIndex], area = params.coordSys;
        const [x1, y1] = api.coord([message.sent, message.from]), [x2, y2] = api.coord([message.arrived, message.to]);
        if (x2 < area.x || x1 > area.x + area.width) return null;
        const style = {
          stroke: message.lost ? palette('wasted') : palette('fg'),
          opacity: shown > 120 ? 0.35 : 0.7,
          lineWidth: 1.2,
          lineDash: message.what === 'weights' ? [4, 3] : null
        };
        return arrow(x1, y1 + (y2 > y1 ? 9 : -9), x2, y2 - (y2 > y1 ? 9 : -9), style);
      },
      (i) => {
        const message = data.messages[i];
        const version = message.version < 0 ?
            [] :
            [[null, message.what === 'weights' ? 'version ' + message.version : 'computed at version ' + message.version]];
        return [[null, message.what + ', ' + bytes(message.size), true], [null, names[message.from] + ' to ' + names[message.to]]].concat(
            version, [[null, 'leaves at ' + at(message.sent) + ', there after ' + seconds(message.arrived - message.sent)]],
            message.lost ? [[null, 'lost on its way']] : []);
      },
      4);
}

function binShape(params, api, bins, cell, colours, hidden) {
  const place = clipped(params, api, cell[0], cell[1], cell[2]), row = bins[cell[2]];
  if (!place) return null;
  const children = [];
  let y = place.y + 11;
  for (let phase = 0; phase < phases.length; ++phase) {
    const high = 22 * Math.min(1, row[phases.length * cell[3] + phase] / 100);
    if (high > 0.2 && !hidden.has(phase)) children.push(rect(place.left, y - high, place.width + 0.4, high, {fill: colours[phase]}));
    y -= high;
  }
  return {type: 'group', children};
}

function binHint(names, bins, cell, colours, at) {
  const row = bins[cell[2]];
  return [[null, names[cell[2]], true], [null, 'from ' + at(cell[0]) + ' to ' + at(cell[1])]].concat(
      phases.map((name, phase) => [colours[phase], name, row[phases.length * cell[3] + phase]])
          .filter((line) => line[2] > 0)
          .map(([colour, name, part]) => [colour, name + ' ' + part + ' %']));
}

/// What happens between two times: each phase's share of the time of the workers drawn, updates, messages, and use of links.
function sumsOf(spec, stretch, data, first, last) {
  const wide = last - first, overlap = (from, to) => Math.max(0, Math.min(to, last) - Math.max(from, first));
  const workers = spec.lanes.filter((lane) => lane.kind === 'worker').length, times = phases.map(() => 0);
  for (const [from, to, , phase] of data.spans) times[phase] += overlap(from, to);
  const bin = stretch.seconds / 120;
  (stretch.bins || []).forEach((row) => row.forEach((part, i) => {
    const from = stretch.from + Math.floor(i / phases.length) * bin;
    times[i % phases.length] += (overlap(from, from + bin) * part) / 100;
  }));
  const parts = phases.map((name, phase) => [name, times[phase] / (wide * workers)]).filter(([, part]) => part > 0.0005);
  const said = [seconds(wide)].concat(parts.map(([name, part]) => name + ' ' + share(part)));
  const updates = data.updates.filter(([time]) => time >= first && time <= last).length;
  if (data.updates.length) said.push(updates + (updates === 1 ? ' update' : ' updates'));
  const messages = data.messages.filter((each) => each.arrived >= first && each.arrived <= last);
  if (data.messages.length) said.push(messages.length + ' messages (' + bytes(messages.reduce((sum, each) => sum + each.size, 0)) + ')');
  const marks = data.marks.filter(([time]) => time >= first && time <= last);
  if (marks.length) said.push('mean staleness ' + format('number')(marks.reduce((sum, mark) => sum + mark[3], 0) / marks.length));
  return said;
}

function csvRows(data, names, stretch) {
  const rows = [['what', 'lane', 'start_s', 'end_s', 'to', 'bytes', 'version', 'staleness', 'share']];
  for (const [start, end, lane, phase] of data.spans) rows.push([phases[phase], names[lane], start, end]);
  for (const [start, end, lane] of data.backward) rows.push(['backward', names[lane], start, end]);
  for (const each of data.served) rows.push([each.what, names[each.lane], each.start, each.end]);
  for (const each of data.messages)
    rows.push([each.what, names[each.from], each.sent, each.arrived, names[each.to], each.size, each.version < 0 ? null : each.version]);
  for (const each of data.collectives) rows.push([each.what, null, each.start, each.end, null, each.size]);
  for (const [time, lane, version, staleness] of data.marks)
    rows.push(['contribution', names[lane], time, time, null, null, version, staleness]);
  for (const [start, end, lane, part] of data.links) rows.push(['link', names[lane], start, end, null, null, null, null, part]);
  (stretch.bins || []).forEach((row, lane) => row.forEach((value, i) => {
    const wide = stretch.seconds / 120, bin = Math.floor(i / phases.length);
    const phase = phases[i % phases.length], start = stretch.from + bin * wide;
    if (value > 0) rows.push([phase, names[lane], start, stretch.from + (bin + 1) * wide, null, null, null, null, value / 100]);
  }));
  return rows;
}
})();
