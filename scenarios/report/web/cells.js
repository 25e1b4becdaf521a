// Charts of marks with intervals, and maps of cells.
(function() {
'use strict';
const straggler = window.straggler, {kinds, look, format, hint, valueAxis, rowAxis, axisStyle, afterZoom, endsOf} = straggler;

function symbolAt(symbol, x, y, style) {
  const shapes = {
    circle: {type: 'circle', shape: {cx: x, cy: y, r: 5}},
    rect: {type: 'rect', shape: {x: x - 4.5, y: y - 4.5, width: 9, height: 9}},
    triangle: {type: 'polygon', shape: {points: [[x, y - 6], [x + 5.5, y + 4], [x - 5.5, y + 4]]}},
    diamond: {type: 'polygon', shape: {points: [[x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y]]}},
  };
  return Object.assign({style}, shapes[symbol]);
}

/// Rows of all groups one below the other, each group's title as a row of its own.
function flatRows(groups) {
  const rows = [];
  for (const group of groups) {
    if (group.title) rows.push({name: group.title, title: true});
    for (const row of group.rows) rows.push(Object.assign({group: group.title}, row));
  }
  return rows;
}

kinds.intervals = function(spec, view, palette) {
  const text = format(spec.unit), rows = flatRows(spec.groups), names = rows.map((row) => row.name);
  const [axis, room] = rowAxis(palette, names, view.width, rows.map((row) => row.title));
  const values = rows.filter((row) => !row.title && !row.missed);
  const canLogX = values.length > 0 && values.every((row) => row.value > 0),
        logX = (view.logX === null ? Boolean(spec.log) : view.logX) && canLogX;
  const said = Math.min(0.58 * 13 * Math.max(0, ...rows.map((row) => (row.missed ? 0 : (row.text || '').length))), view.width * 0.32);
  const data = rows.map((row, i) => [row.title || row.missed ? null : row.value, i, row.low, row.high]);
  const ends = values.flatMap((row) => [row.value, row.high].concat(row.low > 0 || !logX ? [row.low] : []))
                   .concat(spec.reference === undefined ? [] : [spec.reference]);
  const least = Math.min(...ends), most = Math.max(...ends), gap = 0.04 * (most - least || 1);
  const stops = rows.map((row, i) => i).filter((i) => !rows[i].title && !rows[i].missed);
  const [from, upTo] = logX ? endsOf(least, most, true, false, true) : [spec.zero && least >= 0 ? 0 : least - gap, most + gap];
  const axisX = valueAxis(palette, spec.title, spec.unit, logX, [from, upTo], {nameGap: 28}, view);
  return {
    height: 62 + 26 * rows.length,
    legend: [],
    canLogX,
    logX,
    zoom: ['x'],
    zoomed: logX ? null : afterZoom(spec.unit, from, upTo, view),
    stops: stops.length,
    stop: (k) => ({
      series: 0,
      index: stops[k],
      link: rows[stops[k]].link,
      text: (rows[stops[k]].group || '') + ' ' + names[stops[k]] + ': ' + rows[stops[k]].text
    }),
    link: (event) => rows[event.dataIndex] && rows[event.dataIndex].link,
    option: {
      grid: {left: room + 18, right: said + 34, top: 6, bottom: 50},
      xAxis: axisX,
      yAxis: axis,
      tooltip: {
        trigger: 'item',
        formatter: (point) => {
          const row = rows[point.dataIndex],
                range = row.high > row.low ? [[null, spec.interval + ': ' + text(row.low) + ' to ' + text(row.high)]] : [];
          return hint([[null, (row.group ? row.group + ': ' : '') + row.name, true], [null, row.tip || row.text]].concat(
              spec.plainTips ? [] : range));
        },
      },
      series: [
        {
          type: 'custom',
          id: 'series0',
          data,
          encode: {x: [0, 2, 3], y: 1},
          clip: false,
          renderItem: (params, api) => {
            const i = api.value(1), row = rows[i];
            if (row.title) return null;
            const area = params.coordSys, y = api.coord([least, i])[1];
            if (row.missed)
              return {
                type: 'text',
                style: {
                  text: row.text,
                  x: area.x + 8,
                  y,
                  fill: palette('dim'),
                  font: '13px sans-serif',
                  verticalAlign: 'middle',
                  width: area.width,
                  overflow: 'truncate'
                }
              };
            const looked =
                row.look === null || row.look === undefined ? {colour: palette('dim'), symbol: 'circle'} : look(palette, row.look);
            const inside = (x) => Math.max(area.x, Math.min(area.x + area.width, x));
            const x = api.coord([row.value, i])[0],
                  line = (a, b, c, d) =>
                      ({type: 'line', shape: {x1: a, y1: b, x2: c, y2: d}, style: {stroke: looked.colour, lineWidth: 2}});
            const children = [];
            if (row.high > row.low) {
              const low = api.coord([logX ? Math.max(row.low, from) : row.low, i])[0], high = api.coord([row.high, i])[0];
              children.push(line(inside(low), y, inside(high), y));
              for (const end of [low, high])
                if (inside(end) === end) children.push(line(end, y - 5, end, y + 5));
            }
            if (inside(x) === x)
              children.push(symbolAt(
                  looked.symbol, x, y, row.hollow ? {fill: palette('bg'), stroke: looked.colour, lineWidth: 2} : {fill: looked.colour}));
            children.push({
              type: 'text',
              style: {
                text: row.text,
                x: area.x + area.width + 12,
                y,
                fill: palette('fg'),
                font: '13px sans-serif',
                verticalAlign: 'middle',
                width: said + 16,
                overflow: 'truncate'
              }
            });
            return {type: 'group', children};
          },
          markLine: spec.reference === undefined ? undefined : {
            silent: true,
            symbol: 'none',
            label: {show: false},
            lineStyle: {color: palette('dim'), type: 'dashed'},
            data: [{xAxis: spec.reference}]
          },
        },
      ],
    },
    csv: () => [['group', 'name', 'value', 'low', 'high', 'text']].concat(
        rows.filter((row) => !row.title).map((row) => [row.group, row.name, row.missed ? null : row.value, row.low, row.high, row.text])),
  };
};

kinds.heat = function(spec, view, palette) {
  const text = format(spec.unit), [axis, room] = rowAxis(palette, spec.y.labels, view.width), columns = spec.x.labels.length;
  const cells = spec.values.flatMap((row, y) => row.map((value, x) => [x, y, value])),
        most = Math.max(spec.least, ...cells.map((cell) => cell[2]));
  const axisX = axisStyle(palette);
  Object.assign(
      axisX, {type: 'category', data: spec.x.labels, name: spec.x.title, nameLocation: 'middle', nameGap: 28, splitLine: {show: false}});
  axis.splitLine = {show: false};
  if (spec.y.labels.length > 40) axis.axisLabel.interval = 'auto';
  return {
    height: 120 + Math.max(14, Math.min(24, 900 / spec.values.length)) * spec.values.length,
    legend: [],
    zoom: ['x', 'y'],
    stops: cells.length,
    stop: (k) => ({
      series: 0,
      index: k,
      text: spec.y.labels[cells[k][1]] + ', ' + spec.x.title + ' ' + spec.x.labels[cells[k][0]] + ': ' + text(cells[k][2])
    }),
    option: {
      grid: {left: room + 18, right: 16, top: 4, bottom: 110},
      xAxis: axisX,
      yAxis: axis,
      visualMap: {
        min: spec.least,
        max: most > spec.least ? most : spec.least + 1,
        calculable: true,
        orient: 'horizontal',
        left: 'center',
        bottom: 4,
        itemHeight: 180,
        text: ['', spec.title],
        formatter: (value) => text(Number(value.toPrecision(3))),
        textStyle: {color: palette('fg')},
        inRange: {color: [palette('panel'), palette('s0')]},
        outOfRange: {color: palette('bg')},
      },
      tooltip: {
        trigger: 'item',
        formatter: (point) => {
          const [x, y, value] = cells[point.dataIndex];
          return hint(
              [[null, spec.y.labels[y], true], [null, spec.x.title + ' ' + spec.x.labels[x]], [null, spec.title + ' ' + text(value)]]);
        },
      },
      series: [{
        type: 'heatmap',
        id: 'series0',
        data: cells,
        itemStyle: {borderColor: palette('bg'), borderWidth: columns > 100 ? 0 : 1},
        emphasis: {itemStyle: {borderColor: palette('fg')}},
      }],
    },
    csv: () => [[spec.y.title].concat(spec.x.labels)].concat(spec.values.map((row, y) => [spec.y.labels[y]].concat(row))),
  };
};

kinds.map = function(spec, view, palette) {
  const columns = spec.x.labels.length, lines = Math.max(1, ...spec.cells.flat().map((cell) => cell.lines.length));
  const high = 17 * lines + 16, room = Math.min(0.58 * 13 * Math.max(...spec.y.labels.map((label) => label.length)) + 14, view.width * 0.3);
  const cells = spec.cells.flatMap((row, y) => row.map((cell, x) => Object.assign({x, y}, cell)));
  const narrow = (view.width - room - 40) / columns < 58;
  const axis = (labels, title, gap, upwards) => {
    const style = axisStyle(palette), wide = (view.width - room - 50) / columns;
    style.splitLine = {show: false};
    Object.assign(style.axisLabel, {interval: narrow && !upwards ? 'auto' : 0, fontSize: 13});
    if (upwards || !narrow) Object.assign(style.axisLabel, {width: upwards ? room : wide - 4, overflow: upwards ? 'truncate' : 'break'});
    return Object.assign(style, {type: 'category', data: labels, name: title, nameLocation: 'middle', nameGap: gap});
  };
  return {
    height: 70 + (high + 3) * spec.y.labels.length,
    zoom: ['x'],
    legend: (spec.series || []).map((name, i) => ({name, look: spec.looks[i], fixed: true})),
    scale: spec.scale && spec.scale.high > spec.scale.low ? scaleOf(spec.scale) : null,
    stops: cells.length,
    stop: (k) => ({
      series: 0,
      index: k,
      link: cells[k].link,
      text: spec.x.labels[cells[k].x] + ', ' + spec.y.labels[cells[k].y] + ': ' + cells[k].lines.join(' ')
    }),
    link: (event) => cells[event.dataIndex] && cells[event.dataIndex].link,
    option: {
      grid: {left: room + 34, right: 16, top: 4, bottom: 54},
      xAxis: axis(spec.x.labels, spec.x.title, 30),
      yAxis: axis(spec.y.labels, spec.y.title, room + 8, true),
      tooltip: {
        trigger: 'item',
        formatter: (point) => {
          const cell = cells[point.dataIndex];
          return hint([[null, spec.x.title + ' ' + spec.x.labels[cell.x] + ', ' + spec.y.title + ' ' + spec.y.labels[cell.y], true]].concat(
              (cell.tip || cell.lines.join(' ')).split('; ').map((line) => [null, line])));
        },
      },
      series: [{
        type: 'custom',
        id: 'series0',
        clip: true,
        data: cells.map((cell) => [cell.x, cell.y]),
        renderItem: (params, api) => cellAt(
            cells[params.dataIndex], api.coord([cells[params.dataIndex].x, cells[params.dataIndex].y]), api.size([1, 1]), palette, narrow),
      }],
    },
    csv: () => [[spec.x.title, spec.y.title, 'shown', 'details']].concat(
        cells.map((cell) => [spec.x.labels[cell.x], spec.y.labels[cell.y], cell.lines.join(' '), cell.tip])),
  };
};

/// What the strength of a colour means: from the weakest to the strongest.
function scaleOf({low, high, unit, title, less}) {
  const text = format(unit), better = (is) => (is ? ' (better)' : '');
  return {title, low: text(low) + better(less), high: text(high) + better(!less), from: 0.06, to: 0.56};
}

function cellAt(cell, [x, y], [width, height], palette, narrow) {
  const shape = {x: x - width / 2 + 1.5, y: y - height / 2 + 1.5, width: width - 3, height: height - 3, r: 3};
  const children = [], add = (style, more) => children.push({type: 'rect', shape: Object.assign({}, shape, more), style});
  if (cell.kind === 'winner') {
    const {colour} = look(palette, cell.look);
    add({fill: colour, opacity: 0.24});
    add({fill: colour}, {width: 6});
  } else if (cell.kind === 'level') {
    add({fill: palette('s0'), opacity: 0.06 + 0.5 * cell.level});
  } else if (cell.kind === 'tie') {
    add({fill: palette('panel'), stroke: palette('dim'), lineDash: [2, 3]});
  } else {
    add({fill: 'transparent', stroke: palette('rule')});
  }
  if (cell.best) add({fill: 'none', stroke: palette('fg'), lineWidth: 2.5});
  const quiet = cell.kind === 'nobody' || cell.kind === 'nothing', lines = narrow ? cell.lines.slice(-1) : cell.lines;
  lines.forEach((line, i) => children.push({
    type: 'text',
    style: {
      text: line,
      x: x + (cell.kind === 'winner' ? 3 : 0),
      y: y + 17 * (i - (lines.length - 1) / 2),
      align: 'center',
      verticalAlign: 'middle',
      fill: quiet ? palette('dim') : palette('fg'),
      font: (i === 0 && !narrow ? '600 13px' : '12px') + ' system-ui, \'DejaVu Sans\', sans-serif',
      width: width - 12,
      overflow: 'truncate',
    },
  }));
  return {type: 'group', children};
}
})();
