// The page of `straggler serve`: lists results, follows runs, and asks what-if.
const token = new URLSearchParams(location.search).get('token');
const byId = id => document.getElementById(id);
const straggler = window.straggler;
const state = {scenario: null, settings: {}, own: null, knobs: [], results: []};

async function ask(path, body) {
  const options = {headers: {'X-Straggler-Token': token}};
  if (body !== undefined) {
    options.method = 'POST';
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  const json = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(json.problem), {status: answer.status});
  return json;
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const fileAddress = path => `/files/${token}/` + path.split('/').map(encodeURIComponent).join('/');

// Numbers with a unit, as the program writes them.
const bits = (value) => {
  const units = ['bps', 'kbps', 'Mbps', 'Gbps', 'Tbps'], unit = Math.min(4, Math.max(0, Math.floor(Math.log10(8 * value) / 3)));
  return `${Number((8 * value / 1000 ** unit).toPrecision(3))} ${units[unit]}`;
};
const texts = {rate: bits, flops: (value) => `${Number((value / 1e9).toPrecision(3))} GFLOPS`};
for (const unit of ['count', 'number', 'share', 'seconds', 'bytes', 'score', 'factor']) texts[unit] = straggler.format(unit);

/// Draws what the server gave for a chart into a figure: data that move, or a still picture. Nothing: the figure is empty.
const charts = new WeakMap();
function show(figure, drawn) {
  const still = figure.querySelector('.still');
  figure.classList.toggle('empty', !drawn);
  if (!drawn) return;
  if (drawn.still) {
    still.innerHTML = drawn.still;
    return;
  }
  const spec = JSON.parse(drawn.data);
  if (charts.has(figure)) charts.get(figure).update(spec);
  else charts.set(figure, straggler.chart(figure, spec));
}

// Results.
const columns = [
  ['path', 'result', 'word'], ['kind', 'kind', 'word'], ['scheme', 'scheme', 'word'], ['workers', 'workers', 'count'],
  ['outcome', 'outcome', 'word'], ['simulated_seconds', 'simulated time', 'seconds'], ['samples_per_second', 'samples/s', 'number'],
  ['step_s', 'an update', 'seconds'], ['scaling_efficiency', 'efficiency', 'share'],
  ['time_to_target_s', 'time to target', 'seconds'], ['final_test_accuracy', 'test accuracy', 'score'],
];

function resultRow(one, used) {
  const cells = used.map(([key, , unit]) => {
    const value = one[key] ?? null;
    if (key === 'path' && one.page) {
      const page = (one.path === '.' ? '' : one.path + '/') + 'report.html';
      return make('td', {className: 'word'}, make('a', {href: fileAddress(page), target: '_blank', rel: 'noopener'}, one.path));
    }
    if (unit === 'word') return make('td', {className: 'word'}, value === null ? '' : String(value));
    return make('td', {}, typeof value === 'number' ? texts[unit](value) : '');
  });
  const ask = one.scenario ? [make('button', {type: 'button', onclick: () => choose(one.scenario)}, 'What if?')] : [];
  cells.splice(1, 0, make('td', {className: 'word'}, ...ask));
  const row = make('tr', {}, ...cells);
  row.dataset.scenario = one.scenario ?? '';
  return row;
}

/// Marks the one whose sliders are shown.
function markChosen() {
  for (const row of byId('list').querySelectorAll('tbody tr')) row.classList.toggle('chosen', row.dataset.scenario === state.scenario);
}

function showResults() {
  const used = columns.filter(([key]) => state.results.some(one => (one[key] ?? null) !== null));
  const titles = used.map(([, label, unit]) => make('th', {scope: 'col', className: unit === 'word' ? 'word' : ''}, label));
  titles.splice(1, 0, make('th', {scope: 'col', className: 'word'}, 'what if'));
  const head = make('tr', {}, ...titles);
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...state.results.map(one => resultRow(one, used))));
  const wide = make('div', {className: 'wide', tabIndex: 0}, table);
  byId('list').replaceChildren(...(state.results.length ? [wide] : []));
  straggler.enlivenTables(byId('list'));
  byId('none').hidden = state.results.length > 0;
  markChosen();
}

async function loadResults() {
  const {results} = await ask('/api/results'), is_file = one => one.kind === 'scenario';
  state.results = [...results.filter(one => !is_file(one)), ...results.filter(is_file)];  // what was run comes first
  showResults();
}

// Runs that go on.
const runs = new Map();  // by name: what is shown of it
function showRun(run) {
  if (!runs.has(run.name)) {
    const made = {bar: make('progress', {max: 1}), text: make('span'), figure: make('figure', {}, make('div', {className: 'still wide'}))};
    made.element = make('div', {}, make('div', {className: 'run'}, make('b', {}, run.name), made.bar, made.text), made.figure);
    runs.set(run.name, made);
    byId('runs').append(made.element);
  }
  const [time, updates, , fraction, accuracy] = run.rows.at(-1), made = runs.get(run.name);
  made.bar.value = fraction;
  made.text.textContent = `${texts.share(fraction)}, simulated ${texts.seconds(time)}, ${texts.count(updates)} updates` +
    (accuracy === null ? '' : `, test accuracy ${texts.score(accuracy)}`);
  show(made.figure, run.chart);
}

async function follow() {
  try {
    const {running} = await ask('/api/running');
    byId('running').hidden = running.length === 0;
    for (const run of running) showRun(run);
    const names = new Set(running.map((run) => run.name)), ended = [...runs.keys()].filter((name) => !names.has(name));
    for (const name of ended) {
      runs.get(name).element.remove();
      runs.delete(name);
    }
    if (ended.length) await loadResults();
  } catch (problem) {
    if (problem.status === undefined) {
      byId('running').hidden = false;
      byId('runs').replaceChildren('The server has ended.');
      return;
    }
  }
  setTimeout(follow, 1000);
}

// What if.
const position = (knob, value) => Math.round(1000 * (knob.logarithmic
  ? Math.log(Math.max(value, knob.low) / knob.low) / Math.log(knob.high / knob.low) : (value - knob.low) / (knob.high - knob.low)));
function valueAt(knob, place) {
  const share = place / 1000;
  if (knob.zero && place === 0) return 0;
  const value = share === 1 ? knob.high : knob.logarithmic ? knob.low * (knob.high / knob.low) ** share : knob.low + share * (knob.high - knob.low);
  return knob.type === 'count' ? Math.round(value) : Number(value.toPrecision(4));
}

function turn(key, value) {
  state.settings[key] = value;
  // Parameters belong to a kind: those of another one mean nothing.
  if (key === 'scheme' || key === 'jitter')
    for (const other of Object.keys(state.settings)) if (other.startsWith(key + '.')) delete state.settings[other];
  preview();
}

const rows = new Map();
function knobRow(knob) {
  const id = 'knob-' + knob.key.replaceAll('.', '-');
  const label = make('label', {htmlFor: id}, knob.label), shown = make('output', {htmlFor: id});
  const row = {label, shown, element: make('div', {className: 'knob'}, make('div', {className: 'line'}, label, shown))};
  if (knob.choices) {
    row.input = make('select', {id, onchange: () => turn(knob.key, row.input.value)},
      ...knob.choices.map(choice => make('option', {value: choice}, choice)));
  } else if (knob.type === 'switch') {
    row.input = make('input', {id, type: 'checkbox', onchange: () => turn(knob.key, row.input.checked)});
  } else {
    row.input = make('input', {id, type: 'range', min: 0, max: 1000, oninput: () => {
      const value = valueAt(row.knob, Number(row.input.value));
      shown.textContent = texts[knob.type](value);
      row.input.setAttribute('aria-valuetext', shown.textContent);
      turn(knob.key, value);
    }});
  }
  row.input.title = knob.meaning;
  row.element.append(row.input);
  if (knob.choices && !knob.key.includes('.')) row.element.append(row.note = make('small', {}));
  return row;
}

function showKnobs(knobs) {
  const keys = knobs.map(knob => knob.key).join();
  if (keys !== state.knobs.join()) {
    const focused = document.activeElement?.id;
    state.knobs = knobs.map(knob => knob.key);
    rows.clear();
    for (const knob of knobs) rows.set(knob.key, knobRow(knob));
    byId('knobs').replaceChildren(...[...rows.values()].map(row => row.element));
    if (focused) byId(focused)?.focus();
  }
  for (const knob of knobs) {
    const row = rows.get(knob.key);
    row.knob = knob;
    row.element.className = 'knob' + (knob.key.includes('.') ? ' of' : '') + (knob.key in state.settings ? ' moved' : '');
    if (row.note) row.note.textContent = knob.meaning;
    if (knob.choices) {
      if (!knob.is_set) row.input.selectedIndex = -1;
      else row.input.value = knob.value;
    } else if (knob.type === 'switch') {
      row.input.checked = knob.value;
    } else if (!waits.again) {  // else it has moved on
      row.input.disabled = knob.high <= knob.low;
      row.input.value = knob.high > knob.low ? position(knob, knob.value) : 0;
      row.shown.textContent = knob.is_set ? texts[knob.type](knob.value) : 'not set';
      row.input.setAttribute('aria-valuetext', row.shown.textContent);
    }
  }
}

function showFigures(answer) {
  const own = new Map((state.own?.figures ?? []).map(figure => [figure.key, figure]));
  const head = ['', 'as it is', ...(answer.as_it_is ? [] : ['changed', 'ratio'])];
  byId('figures').tHead.replaceChildren(make('tr', {}, ...head.map((text, i) => make('th', {scope: 'col', className: i ? '' : 'word'}, text))));
  byId('figures').tBodies[0].replaceChildren(...answer.figures.map(figure => {
    const before = own.get(figure.key), row = make('tr', {}, make('th', {scope: 'row', className: 'word'}, figure.label));
    row.dataset.key = figure.key;
    row.append(make('td', {}, before?.text ?? ''));
    if (!answer.as_it_is) {
      const ratio = before?.value ? figure.value / before.value : null;
      row.append(make('td', {}, figure.text), make('td', {}, ratio === null ? '' : texts.factor(ratio)));
    }
    return row;
  }));
}

function showPreview(answer, milliseconds) {
  if (answer.as_it_is) state.own = answer;
  byId('problem').hidden = true;
  byId('extent').textContent = answer.extent;
  byId('extent').className = 'extent' + (answer.complete ? ' whole' : '');
  byId('extent').dataset.milliseconds = milliseconds.toFixed(1);
  byId('extent').dataset.answers = Number(byId('extent').dataset.answers ?? 0) + 1;
  byId('notes').replaceChildren(...answer.notes.map(note => make('li', {}, note)));
  byId('name').textContent = answer.name;
  showKnobs(answer.knobs);
  showFigures(answer);
  show(byId('split'), answer.split);
  show(byId('timeline'), answer.timeline);
  byId('timeline-title').textContent = answer.timeline_label || 'Timeline: too little was simulated to draw one';
  byId('reset').disabled = answer.as_it_is;
  byId('run').disabled = answer.as_it_is || math.running;
}

// One question at a time; while it is answered, only the newest of those that came meanwhile is kept.
const waits = {busy: false, again: false};
async function preview() {
  if (waits.busy) {
    waits.again = true;
    return;
  }
  waits.busy = true;
  byId('answer').classList.add('waits');
  do {
    waits.again = false;
    const start = performance.now();
    try {
      const answer = await ask('/api/preview', {scenario: state.scenario, settings: state.settings});
      showPreview(answer, performance.now() - start);
    } catch (problem) {
      if (problem.status === 409) {  // another window asked
        waits.again = true;
        await new Promise(later => setTimeout(later, 100));
        continue;
      }
      byId('problem').textContent = problem.status ? problem.message : 'The server has ended.';
      byId('problem').hidden = false;
      byId('run').disabled = true;
    }
  } while (waits.again);
  waits.busy = false;
  byId('answer').classList.remove('waits');
}

function choose(scenario, shown = byId('whatif')) {
  Object.assign(state, {scenario, settings: {}, own: null});
  byId('whatif').hidden = false;
  history.replaceState(null, '', '#' + encodeURIComponent(scenario));
  markChosen();
  preview();
  shown.scrollIntoView({block: 'start'});
}

// The math.
const math = {running: false, about: ''};
async function followMath() {
  const answer = await ask('/api/math');
  math.running = answer.state === 'running';
  byId('cancel').hidden = byId('progress').hidden = !math.running;
  byId('run').disabled = math.running || byId('reset').disabled;
  if (math.running) {
    byId('progress').value = answer.fraction;
    byId('step').textContent = `${answer.step}: ${(100 * answer.fraction).toFixed(0)} %` +
      (answer.test_accuracy ? `, test accuracy ${texts.score(answer.test_accuracy)}` : '');
    setTimeout(followMath, 300);
    return;
  }
  byId('step').textContent = answer.state === 'failed' ? answer.problem : answer.state === 'cancelled' ? 'cancelled' : '';
  if (answer.state !== 'done') return;
  const table = make('div', {className: 'wide', tabIndex: 0}, make('pre', {}, answer.table));
  const page = make('a', {href: fileAddress(answer.page), target: '_blank', rel: 'noopener'}, 'learning curves of both');
  byId('verdict').replaceChildren(make('p', {className: 'verdict answer'}, answer.verdict), make('p', {className: 'dim'}, math.about),
    ...answer.notes.map(note => make('p', {className: 'dim'}, note)), table, make('p', {}, page));
  await loadResults();
}

byId('run').onclick = async () => {
  math.about = 'Changed: ' + Object.entries(state.settings).map(([key, value]) => {
    const knob = rows.get(key)?.knob;
    return `${knob?.label ?? key} ${typeof value === 'number' && knob ? texts[knob.type](value) : value}`;
  }).join(', ') + '.';
  try {
    byId('verdict').replaceChildren();
    await ask('/api/math', {scenario: state.scenario, settings: state.settings});
    await followMath();
  } catch (problem) {
    byId('step').textContent = problem.message;
  }
};
byId('cancel').onclick = () => ask('/api/math/cancel', {});
byId('reset').onclick = () => {
  state.settings = {};
  preview();
};
byId('knobs').onsubmit = event => event.preventDefault();

// Files that are dropped: announced, sent one after the other, imported.
const drop = {busy: false};
async function send(name, number, file) {
  const answer = await fetch(`/api/upload?drop=${name}&file=${number}`, {
    method: 'POST', headers: {'X-Straggler-Token': token, 'Content-Type': 'application/octet-stream'}, body: file});
  if (!answer.ok) throw new Error((await answer.json()).problem);
}

function showFound(found) {
  byId('found').hidden = false;
  byId('found-name').textContent = found.name;
  let before = '';
  byId('said').replaceChildren(...found.said.flatMap(([label, sentence]) => {
    const term = make('dt', {}, label === before ? '' : label);
    before = label;
    return [term, make('dd', {}, sentence)];
  }));
  const page = found.page ? [make('a', {href: fileAddress(found.page), target: '_blank', rel: 'noopener'}, 'The measured step beside the replayed one'), '. '] : [];
  byId('found-links').replaceChildren(...page, `Written to ${found.folder}` + (found.scenario ? '; below, what would change it.' : ': no job that runs.'));
}

async function importFiles(files) {
  if (drop.busy || files.length === 0) return;
  drop.busy = true;
  byId('import-problem').hidden = byId('found').hidden = true;
  const step = byId('import-step');
  try {
    const {drop: name} = await ask('/api/drop', {files: files.map(file => ({name: file.name, bytes: file.size}))});
    for (const [number, file] of files.entries()) {
      step.textContent = `Sending ${file.name}` + (files.length > 1 ? ` (${number + 1} of ${files.length})` : '') + ' …';
      await send(name, number, file);
    }
    step.textContent = 'Reading …';
    const found = await ask('/api/import', {drop: name});
    showFound(found);
    await loadResults();
    if (found.scenario) choose(found.scenario, byId('import'));
  } catch (problem) {
    byId('import-problem').textContent = problem.message;
    byId('import-problem').hidden = false;
  }
  step.textContent = '';
  byId('chosen').value = '';
  drop.busy = false;
}

byId('chosen').onchange = event => importFiles([...event.target.files]);
const holdsFiles = event => event.dataTransfer?.types.includes('Files');
document.addEventListener('dragover', event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.add('dropping');
});
document.addEventListener('dragleave', event => {
  if (!event.relatedTarget) document.body.classList.remove('dropping');
});
document.addEventListener('drop', event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove('dropping');
  importFiles([...event.dataTransfer.files]);
});

await loadResults();
straggler.enlivenTables(byId('answer'));
const asked = decodeURIComponent(location.hash.slice(1));
if (state.results.some(one => one.scenario === asked)) choose(asked);
follow();
followMath();
