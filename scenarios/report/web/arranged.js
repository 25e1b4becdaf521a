// Curves as a reader arranges them: smoothed, grouped by a key with their mean and its interval, cropped to what matters.
(function() {
'use strict';
const straggler = window.straggler;

// Half widths of 95 % intervals in standard errors, by degrees of freedom (Student's t).
const students = [
  12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086
];
const student = (degrees) => students[degrees - 1] || 1.96 + 2.5 / degrees;
const smoothing = [0, 0.6, 0.9];  // none, some, much: the weight of what came before

/// The values of a curve at x; ordered by x. NaN outside of it.
function valueAt(points, px, py, x) {
  if (!points.length || x < px(points[0]) || x > px(points[points.length - 1])) return NaN;
  let low = 0, high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (px(points[middle]) <= x)
      low = middle;
    else
      high = middle;
  }
  const [a, b] = [points[low], points[high]], wide = px(b) - px(a);
  return wide > 0 ? py(a) + ((py(b) - py(a)) * (x - px(a))) / wide : py(a);
}

/// An exponential mean of what came before, as TensorBoard's: it begins at the first value.
function smoothed(points, column, weight) {
  let sum = 0, weights = 0;
  return points.map((point) => {
    sum = weight * sum + (1 - weight) * point[column];
    weights = weight * weights + 1 - weight;
    const moved = sum / weights - point[column];
    return point.map((value, i) => (i < column || value === null ? value : value + moved));
  });
}

/// The mean of several runs over one axis, with its 95 % interval, as long as half of them go on.
function meanOf(runs, columns, at) {
  const px = (point) => point[at], py = (point) => point[columns];
  const drawn = runs.filter((run) => run.points.length > 1), steps = 160;
  const first = Math.max(...drawn.map((run) => px(run.points[0])));
  const ends = drawn.map((run) => px(run.points[run.points.length - 1])).sort((a, b) => b - a);
  const last = ends[Math.ceil(drawn.length / 2) - 1], points = [];
  for (let i = 0; i <= steps && drawn.length; ++i) {
    const x = first + ((last - first) * i) / steps;
    const values = drawn.map((run) => valueAt(run.points, px, py, x)).filter(Number.isFinite), n = values.length;
    if (!n) continue;
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const half = n > 1 ? student(n - 1) * Math.sqrt(squares / (n - 1) / n) : null;
    const point = Array(columns).fill(x).concat([mean]);
    points.push(half === null ? point : point.concat([mean - half, mean + half]));
  }
  return points;
}

function groupsOf(spec, key, at) {
  const columns = spec.x.length, groups = new Map();
  for (const run of spec.runs) {
    const name = key === null ? run.name : key + ' ' + run.keys[key];
    groups.set(name, (groups.get(name) || []).concat([run]));
  }
  let look = 0;
  return Array.from(groups, ([name, runs]) => {
    if (runs.length === 1) return Object.assign({}, runs[0], {name, look: key === null ? runs[0].look : look++});
    const reached = runs.map((run) => run.reached).filter(Boolean);
    const mean = reached.length ? spec.x.map((_, i) => reached.reduce((sum, each) => sum + each[i], 0) / reached.length) : null;
    return {
      name: name + ' (' + runs.length + ' runs)',
      look: look++,
      points: meanOf(runs, columns, at),
      band: true,
      reached: mean,
      reachedBy: reached.length < runs.length ? reached.length + ' of ' + runs.length : '',
    };
  });
}

/// The ways in which the runs of a chart can be grouped; empty: there is one.
straggler.groupings = (spec) =>
    (spec.runs && (spec.keys || spec.runs.length > spec.series.length) ?
         ['seeds together', 'each run'].concat((spec.keys || []).map((key) => 'by ' + key)) :
         []);

/// A chart's data with its curves grouped and smoothed as the view says.
straggler.arranged = function(spec, view) {
  const columns = spec.x.length, grouping = view.grouping || 0, weight = smoothing[view.smooth || 0];
  let series = spec.series;
  if (spec.runs && grouping > 0) series = groupsOf(spec, grouping === 1 ? null : spec.keys[grouping - 2], view.x);
  if (weight > 0)
    series = series.map(
        (each) =>
            (each.area || each.points.length < 4 ?
                 each :
                 Object.assign({}, each, {raw: each.points, points: smoothed(each.points, columns, weight)})));
  return series === spec.series ? spec : Object.assign({}, spec, {series});
};

/// What matters of curves that go for a target: until all that reach it have, and a fifth more; upwards where they differ. `wide`: only
/// upwards. Null: all of it does.
straggler.cropped = function(series, at, columns, target, wide) {
  const px = (point) => point[at], py = (point) => point[columns];
  const curves = series.filter((each) => !each.area && each.points.length > 1);
  if (!curves.length) return null;
  const first = Math.min(...curves.map((each) => px(each.points[0]))),
        last = Math.max(...curves.map((each) => px(each.points[each.points.length - 1])));
  const reached = curves.filter((each) => each.reached).map((each) => each.reached[at]).filter(Number.isFinite);
  let end = last;
  if (!wide && reached.length) end = Math.min(last, Math.max(1.2 * Math.max(...reached), first));
  if (end > 0.9 * last) end = last;
  const begin = first + 0.06 * (end - first), values = target === undefined ? [] : [target], all = [];
  for (const each of curves) {
    for (const point of each.points) {
      all.push(py(point));
      if (px(point) < begin || px(point) > end) continue;
      values.push(py(point));
      for (const bound of [point[columns + 1], point[columns + 2]])
        if (Number.isFinite(bound)) values.push(bound);
    }
    for (const x of [begin, end]) values.push(valueAt(each.points, px, py, x));
  }
  const [low, high] = straggler.extent(values), [least, most] = straggler.extent(all), margin = 0.06 * (high - low || Math.abs(high) || 1);
  const narrow = high - low < 0.75 * (most - least);
  if (end === last && !narrow) return null;
  return {
    x: [first, end],
    y: narrow ? [Math.max(low - margin, Math.min(least, low)), Math.min(high + margin, Math.max(most, high))] : null
  };
};
})();
