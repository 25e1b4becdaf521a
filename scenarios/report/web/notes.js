// Marks with words on curves: where each reaches the target, a peak, a knee.
(function() {
'use strict';
const straggler = window.straggler, {widest} = straggler;
const high = 17;  // of a line of words

/// A line down to the axis from each mark, its words beside it, none over another.
straggler.notesOf = function(curves, {at, target, textX, palette, crop, ends, narrow, look}) {
  const notes = [];
  for (const each of curves) {
    if (target !== undefined && each.reached && Number.isFinite(each.reached[at]))
      notes.push({
        x: each.reached[at],
        y: target,
        colour: look(each),
        best: each.best,
        words: (narrow || curves.length === 1 ? '' : each.name + ' ') + textX(each.reached[at]) +
            (each.reachedBy ? ' (' + each.reachedBy + ')' : ''),
      });
    for (const note of each.notes || []) notes.push({x: note.x, y: note.y, colour: look(each), words: note.text, above: true});
  }
  const [low, most] = crop ? crop.x : ends;
  const drawn = notes.filter((note) => note.x >= low && note.x <= most).sort((a, b) => a.x - b.x);
  if (!drawn.length || drawn.length > 24) return [];
  return [{
    type: 'custom',
    id: 'notes',
    silent: true,
    clip: false,
    z: 6,
    data: drawn.map((note) => [note.x, note.y]),
    tooltip: {show: false},
    renderItem: (params, api) => {
      if (params.dataIndexInside === 0) place(drawn, params.coordSys, api);
      return drawn[params.dataIndex].at ? shapeOf(drawn[params.dataIndex], params.coordSys, palette) : null;
    },
  }];
};

/// Words go to the right of their line where there is room, in the lowest row that is free there.
function place(notes, area, api) {
  const taken = [], right = area.x + area.width;
  for (const note of notes) {
    const [x, y] = api.coord([note.x, note.y]), wide = widest([note.words], 13) + 10;
    note.at = x < area.x - 1 || x > right + 1 ? null : {x, y};
    if (!note.at) continue;
    const from = x + wide > right ? x - wide : x,
          free = (top) => !taken.some((box) => from < box.to && from + wide > box.from && top < box.top + high && top + high > box.top);
    let top = note.above ? Math.max(area.y, y - 30) : area.y + area.height - high - 3;
    for (let i = 0; i < 12 && !free(top); ++i) top += note.above && top > area.y + high ? -high : note.above ? high : -high;
    taken.push({from, to: from + wide, top});
    Object.assign(note.at, {left: from + 5, top});
  }
}

function shapeOf(note, area, palette) {
  const {x, y, left, top} = note.at, bottom = note.above ? top + high : area.y + area.height;
  return {
    type: 'group',
    children: [
      {type: 'line', shape: {x1: x, y1: y, x2: x, y2: bottom}, style: {stroke: note.colour, lineWidth: 1.4, lineDash: [3, 3]}},
      {type: 'circle', shape: {cx: x, cy: y, r: 8}, style: {fill: null, stroke: note.colour, lineWidth: 1.6}},
      {
        type: 'text',
        style: {
          text: note.words,
          x: left,
          y: top + high / 2,
          verticalAlign: 'middle',
          fill: palette('fg'),
          font: (note.best ? '600 ' : '') + '13px system-ui, \'DejaVu Sans\', sans-serif',
          backgroundColor: palette('bg'),
          padding: [1, 3],
          borderRadius: 3,
        },
      },
    ],
  };
}
})();
