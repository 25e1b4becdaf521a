// Axes of charts: where they begin and end, their round steps, and the texts of their ticks, all in one unit and with enough digits.
(function() {
'use strict';
const straggler = window.straggler, {format} = straggler;

const scales = {
  seconds: [['ps', 1e-12], ['ns', 1e-9], ['us', 1e-6], ['ms', 1e-3], ['s', 1], ['min', 60], ['h', 3600], ['days', 86400]],
  bytes: ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'].map((name, i) => [name, 1000 ** i]),
  'bits/s': ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s', 'Pbit/s'].map((name, i) => [name, 1000 ** i]),
  'bytes/s': ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'PB/s'].map((name, i) => [name, 1000 ** i]),
  joules: ['mJ', 'J', 'kJ', 'MJ', 'GJ', 'TJ'].map((name, i) => [name, 1000 ** (i - 1)]),
  watts: ['mW', 'W', 'kW', 'MW', 'GW'].map((name, i) => [name, 1000 ** (i - 1)]),
  share: [['%', 0.01]],
  factor: [['x', 1]],
};
const longest = {
  s: 900,
  min: 7200,
  h: 172800
};  // up to which an axis stays in that unit of time

function scaleOf(unit, most) {
  const known = scales[unit];
  if (!known) return ['', 1];
  let chosen = known[0];
  for (const [i, scale] of known.entries())
    if (most >= (longest[(known[i - 1] || [])[0]] || scale[1] * 0.9995)) chosen = scale;
  return chosen;
}

/// 1, 2 or 5 times a power of ten, at least `least`.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return Number(([1, 2, 5].find((each) => each * power >= least * (1 - 1e-9)) || 10) * power).toPrecision(3) * 1;
}

/// The ticks of an axis from `low` to `high`: their step, and the text of a value with as many digits as the step needs, and `more`.
straggler.ticks = function(unit, low, high, most) {
  const [name, factor] = scaleOf(unit, Math.max(Math.abs(low), Math.abs(high))), range = (high - low) / factor;
  let step = roundStep(range > 0 ? range / (most || 6) : 1);
  if (unit === 'count') step = Math.max(1, step);
  const decimals = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const text = (value, more) => {
    const scaled = value / factor, huge = Math.abs(scaled) >= 1e15;
    const digits = huge ? scaled.toExponential(2) :
                          scaled.toLocaleString('en', {minimumFractionDigits: decimals, maximumFractionDigits: decimals + (more || 0)});
    return digits.replace(/^-0(\.0*)?$/, '0') + (name === 'x' ? name : name ? ' ' + name : '');
  };
  return {step: step * factor, text};
};

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

/// The part of [low, high] that a zoom shows.
function seenOf(view, low, high) {
  const [from, to] = (view && view.zoom && view.zoom.x) || [0, 100];
  return [low + ((high - low) * from) / 100, low + ((high - low) * to) / 100];
}

/// ECharts counts steps from the end of an axis: it is given the values of its ticks, as far as a drag may lead.
function onTicks(unit, [low, high], most) {
  const {step, text} = straggler.ticks(unit, low, high, most), more = 2 * (high - low), values = [];
  for (let i = Math.ceil((low - more) / step); i * step <= high + more && values.length < 100; ++i)
    values.push(Number((i * step).toPrecision(12)));
  return {
    covers: [low - more, high + more],
    step,
    axis: {axisTick: {show: false, customValues: values}, axisLabel: {customValues: values, formatter: (value) => text(value)}},
  };
}

/// Of a logarithmic axis: each value in its own unit; seconds from 1 on in that of the lower end, if the axis is not too long for one.
straggler.logText = function(unit, low, high) {
  const plain = format(unit);
  if (!(low > 0) || high / low > 1e4 || !scales[unit]) return (value) => plain(value).replace(/\.0 %$/, ' %');
  return (value) => {
    const [name, factor] = scaleOf(unit, unit === 'seconds' ? Math.min(value, Math.max(low, 1)) : value);
    return Number((value / factor).toPrecision(3)).toLocaleString('en') + (name === 'x' ? name : ' ' + name);
  };
};

/// `ends`: where it begins and ends. `view`: of a chart that zooms along this axis.
straggler.valueAxis = function(palette, title, unit, logarithmic, ends, more, view, most) {
  const style = axisStyle(palette), [low, high] = ends;
  const axis = Object.assign(
      style, {
        type: logarithmic ? 'log' : 'value',
        name: title + (logarithmic ? ' (logarithmic)' : ''),
        nameLocation: 'middle',
        min: low,
        max: high
      },
      more);
  if (logarithmic) {
    axis.axisLabel.formatter = straggler.logText(unit, low, high);
    return axis;
  }
  const ticks = onTicks(unit, seenOf(view, low, high), most).axis;
  axis.axisTick = ticks.axisTick;
  Object.assign(axis.axisLabel, ticks.axisLabel);
  return axis;
};

/// After each zoom of the x axis: steps that fit what is shown.
straggler.afterZoom = function(unit, low, high, view) {
  let now = onTicks(unit, seenOf(view, low, high));
  return (echarts) => {
    const seen = seenOf(view, low, high), next = onTicks(unit, seen);
    if (next.step === now.step && seen[0] >= now.covers[0] && seen[1] <= now.covers[1]) return;
    now = next;
    setTimeout(() => echarts.isDisposed() || echarts.setOption({xAxis: next.axis}), 0);
  };
};

/// Pixels that texts take, about.
straggler.widest = (texts, size) => texts.reduce((most, text) => Math.max(most, 0.58 * (size || 13) * text.length), 0);

straggler.extent = function(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
};

/// The next number with one digit that counts (or 15, 150 …), downwards or upwards: where a logarithmic axis ends, which labels its ends.
function rounded(value, upwards) {
  const power = Math.pow(10, Math.floor(Math.log10(value))), steps = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10], part = value / power;
  const step = upwards ? steps.find((each) => each >= part * (1 - 1e-9)) : steps.filter((each) => each <= part * (1 + 1e-9)).pop();
  return Number(((step || 1) * power).toPrecision(3));
}

/// The labels of a logarithmic axis of few powers of ten: 1, 2 and 5 of each, and its ends. None: powers of ten are enough.
straggler.logLabels = function(low, high) {
  if (!(high / low > 1) || high / low > 1000) return null;
  const labels = [low];
  for (let power = Math.pow(10, Math.floor(Math.log10(low))); power <= high; power *= 10)
    for (const step of [1, 2, 5])
      if (step * power > low * 1.2 && step * power < high / 1.2) labels.push(Number((step * power).toPrecision(3)));
  return labels.concat([high]);
};

/// Where an axis begins and ends: curves fill it, marks stand a little inside. A logarithmic one ends at round numbers.
straggler.endsOf = function(low, high, logarithmic, zero, marks) {
  if (logarithmic && low > 0) {
    const margin = marks ? Math.max(1.01, Math.pow(high / low, 0.03)) : 1;
    return [rounded(low / margin, false), rounded(high * margin, true)];
  }
  const first = zero ? Math.min(0, low) : low;
  if (!(high > first)) return high === 0 ? [0, 1] : [Math.min(first, 0.9 * high, 1.1 * high), Math.max(0.9 * high, 1.1 * high)];
  const margin = marks ? 0.04 * (high - first) : 0;
  return [first - (zero && first === 0 ? 0 : margin), high + margin];
};
})();
