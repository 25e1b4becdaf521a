// The page of `straggler serve`: lists results, follows runs, and asks what-if.
const token = new URLSearchParams(location.search).get('token');
const byId = id => document.getElementById(id);
const straggler = window.straggler;
const {make, texts, show} = straggler;
const state = {scenario: null, results: []};

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

const fileAddress = path => `/files/${token}/` + path.split('/').map(encodeURIComponent).join('/');

// Results.
const columns = [
  ['path', 'result', 'word'], ['kind', 'kind', 'word'], ['scheme', 'scheme', 'word'], ['workers', 'workers', 'count'],
  ['outcome', 'outcome', 'word'], ['simulated_seconds', 'simulated time', 'seconds'], ['samples_per_second', 'samples/s', 'number'],
  ['step_s', 'an update', 'seconds'], ['scaling_efficiency', 'efficiency', 'share'],
  ['time_to_target_s', 'time to target', 'seconds'], ['final_test_accuracy', 'test accuracy', 'score'],
];

/// Runs that are ticked, to be compared.
const ticked = new Set();
function tickOf(path) {
  const box = make('input', {type: 'checkbox', checked: ticked.has(path), title: 'Compare it'});
  box.setAttribute('aria-label', `Compare ${path}`);
  box.onchange = () => {
    if (box.checked) ticked.add(path);
    else ticked.delete(path);
    byId('compare').disabled = ticked.size < 2;
  };
  return box;
}
byId('compare').onclick = async () => {
  try {
    const made = await ask('/api/compare', {results: [...ticked]});
    const page = make('a', {href: fileAddress(made.page), target: '_blank', rel: 'noopener'}, 'Their page');
    byId('compared').replaceChildren(made.verdict + ' ', page);
    await loadResults();
  } catch (problem) {
    byId('compared').textContent = problem.message;
  }
};

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
  if (one.kind === 'run') ask.unshift(tickOf(one.path), ' ');
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
  titles.splice(1, 0, make('th', {scope: 'col', className: 'word'}, 'compare, what if'));
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
/// The setting stands in the address, which may be kept while the server runs.
function keepAddress() {
  const settings = new URLSearchParams(Object.entries(whatIf.settings()).map(([key, value]) => [key, JSON.stringify(value)])).toString();
  history.replaceState(null, '', '#' + encodeURIComponent(state.scenario) + (settings ? '?' + settings : ''));
}
function fromAddress() {
  const [scenario, settings] = location.hash.slice(1).split('?'), known = {};
  for (const [key, value] of new URLSearchParams(settings ?? '')) try { known[key] = JSON.parse(value); } catch { /* not ours */ }
  return [decodeURIComponent(scenario), known];
}

const whatIf = straggler.whatIf({
  ended: 'The server has ended.',
  ask: settings => {
    keepAddress();
    return ask('/api/preview', {scenario: state.scenario, settings});
  },
  shown: answer => byId('run').disabled = answer.as_it_is || math.running,
  refused: () => byId('run').disabled = true,
});

function choose(scenario, shown = byId('whatif'), settings = {}) {
  state.scenario = scenario;
  byId('whatif').hidden = false;
  history.replaceState(null, '', '#' + encodeURIComponent(scenario));
  markChosen();
  whatIf.start(settings);
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
  math.about = whatIf.changes();
  try {
    byId('verdict').replaceChildren();
    await ask('/api/math', {scenario: state.scenario, settings: whatIf.settings()});
    await followMath();
  } catch (problem) {
    byId('step').textContent = problem.message;
  }
};
byId('cancel').onclick = () => ask('/api/math/cancel', {});

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
const restore = () => {
  const [scenario, settings] = fromAddress();
  if (state.results.some(one => one.scenario === scenario)) choose(scenario, byId('whatif'), settings);
};
restore();
window.addEventListener('hashchange', restore);

/// Large type and the whole screen, for a room; Escape ends it.
const present = on => {
  document.body.classList.toggle('presenting', on);
  byId('present').setAttribute('aria-pressed', String(on));
  straggler.redrawAll();
};
byId('present').onclick = () => {
  const on = !document.body.classList.contains('presenting');
  if (on) document.documentElement.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen();
  present(on);
};
document.addEventListener('fullscreenchange', () => {
  if (!document.fullscreenElement) present(false);
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && document.body.classList.contains('presenting')) present(false);
});
follow();
followMath();
