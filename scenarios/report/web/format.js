// Numbers as the program writes them (sim/base/readable.hpp), and back.
(function() {
'use strict';
const straggler = (window.straggler = window.straggler || {});

function digits(value, count) {
  if (value === 0) return '0';
  const text = Number(value.toPrecision(count));
  return Math.abs(text) >= 1e15 || Math.abs(text) < 1e-5 ? text.toExponential() : String(text);
}

function scaled(value, step, units) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= 0.9995 * step) {
    value /= step;
    ++unit;
  }
  return digits(value, 3) + ' ' + units[unit];
}

function seconds(value) {
  if (value === 0) return '0 s';
  if (Math.abs(value) < 1) return scaled(value * 1e12, 1000, ['ps', 'ns', 'us', 'ms', 's']);
  if (value < 999.5) return digits(value, 3) + ' s';
  const whole = Math.round(value), two = (count) => String(count).padStart(2, '0');
  if (whole < 3600) return Math.floor(whole / 60) + ' min ' + two(whole % 60) + ' s';
  const minutes = Math.round(value / 60);
  if (minutes < 48 * 60) return Math.floor(minutes / 60) + ' h ' + two(minutes % 60) + ' min';
  return (value / 86400).toFixed(1) + ' days';
}

function number(value) {
  if (Math.abs(value) >= 1000 && Math.abs(value) < 1e15) return String(Math.round(value));
  return digits(value, 4);
}

function share(value) {
  if (value === 0) return '0 %';
  return Math.abs(value) < 0.01 ? digits(100 * value, 2) + ' %' : (100 * value).toFixed(1) + ' %';
}

function price(value) {
  const size = Math.abs(value);
  if (size < 0.995) return digits(value, 3);
  return size < 999.995 ? value.toFixed(2) : Math.round(value).toLocaleString('en');
}

const formats = {
  seconds,
  number,
  share,
  price,
  joules: (value) => scaled(value * 1e3, 1000, ['mJ', 'J', 'kJ', 'MJ', 'GJ', 'TJ']),
  watts: (value) => scaled(value * 1e3, 1000, ['mW', 'W', 'kW', 'MW', 'GW']),
  bytes: (value) => scaled(value, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB']),
  'bits/s': (value) => scaled(value, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s', 'Pbit/s']),
  'bytes/s': (value) => scaled(value, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'PB/s']),
  count: (value) => Math.round(value).toLocaleString('en'),
  score: (value) => (Math.abs(value) < 10000 ? value.toFixed(4) : digits(value, 3)),
  factor: (value) => digits(value, 3) + 'x',
};

/// A function from a number to its text, by the name of its unit.
straggler.format = function(unit) {
  const format = formats[unit] || number;
  return (value) => (value === null || value === undefined || Number.isNaN(value) ? '\u2013' : format(Number(value)));
};

const factors = {
  ps: 1e-12,
  ns: 1e-9,
  us: 1e-6,
  '\u00b5s': 1e-6,
  '\u03bcs': 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
  days: 86400,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  EB: 1e18,
  mJ: 1e-3,
  J: 1,
  kJ: 1e3,
  MJ: 1e6,
  GJ: 1e9,
  TJ: 1e12,
  kbps: 1e3,
  Mbps: 1e6,
  Gbps: 1e9,
  Tbps: 1e12,
  '%': 0.01,
  x: 1,
};

/// What a cell of a table is worth; NaN: it is no number. "1 h 03 min" and "12.3 s \u00b1 0.4 s (3 of 5)" count as their first value.
straggler.worth = function(text) {
  const plain = text.trim().replace(/(\d),(?=\d{3})/g, '$1');
  const parts = /^([-+]?\d*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-z\u00b5\u03bc%]+)?(?:\/s)?(?:\s+(\d+)\s+(min|s)\b)?/.exec(plain);
  if (!parts) return NaN;
  const first = Number(parts[1]) * (factors[parts[2]] || 1);
  return parts[3] ? first + Number(parts[3]) * factors[parts[4]] : first;
};

/// One line of a CSV file.
straggler.csvLine = function(cells) {
  return cells
             .map((cell) => {
               const text = cell === null || cell === undefined ? '' : String(cell);
               return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
             })
             .join(',') +
      '\n';
};

/// An element with text and attributes. Text is text, whatever it says.
straggler.element = function(name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

straggler.download = function(name, text, type) {
  const link = straggler.element('a', {download: name, href: URL.createObjectURL(new Blob([text], {type}))});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
})();
