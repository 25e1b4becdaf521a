// The page that holds the simulator: examples, an editor, what-if, the math, words, tables, lab sheets.
const {make, texts, show, download} = straggler;
const {examples, text, labs} = JSON.parse(byId('given-data').textContent);
const items = new Map(examples.flatMap(group => group.items).map(item => [item.id, item]));
const state = {example: '', yaml: '', edited: false, lab: '', step: 0};
const core = new Core();
let second;
const worker = () => second ??= core.twin();
const embedded = new URLSearchParams(location.search).has('embed');

const question = settings => ({yaml: state.yaml, file: state.edited ? '/page/scenario.yaml' : items.get(state.example).file, settings});

// What if.
let address = '';
const whatIf = straggler.whatIf({
  ended: 'The simulator has ended; load the page again.',
  /// All is compared with the scenario as it is, so that gets more time; and it comes first, while code is not compiled yet.
  patient: true,
  ask: (settings, patiently) => core.ask('preview', {...question(settings), budget: patiently ? 600 : Object.keys(settings).length ? 45 : 150}),
  shown(answer) {
    byId('answer').classList.remove('stale');
    byId('learnt').classList.toggle('stale', math.of !== undefined && math.of !== JSON.stringify(question(whatIf.settings())));
    byId('run').disabled = math.running;
    byId('run').textContent = answer.as_it_is ? 'Run the math' : 'Run the math of both';
    editor.tell([]);
    remember();
  },
  refused(problem) {
    if (problem.status === 499) return;
    byId('run').disabled = true;
    byId('answer').classList.add('stale');
    byId('reset').disabled = Object.keys(whatIf.settings()).length === 0;
    const placed = (problem.problems ?? []).filter(each => each.line > 0);
    if (placed.length) {
      editor.tell(placed);
      byId('problem').hidden = true;
    }
  },
});

async function remember() {
  const said = await addressOf({example: state.example, yaml: state.edited ? state.yaml : undefined, settings: whatIf.settings(), lab: state.lab, step: state.step,
    presenter: document.body.classList.contains('presenting')});
  address = said;
  history.replaceState(null, '', said);
  const whole = new URL(location.href);
  whole.search = '';
  byId('whole').href = whole.href;
}

const nameOf = yaml => /^name:.*$/m.exec(yaml)?.[0];
const editor = new Editor(typed => {
  const other = nameOf(typed) !== nameOf(state.yaml);  // another scenario: what was moved was not its
  Object.assign(state, {yaml: typed, edited: true});
  byId('example').selectedIndex = -1;
  clear();
  whatIf.start(other ? {} : whatIf.settings());
});

function choose(id, settings = {}) {
  const item = items.get(id);
  Object.assign(state, {example: id, yaml: text[item.file], edited: false});
  byId('example').value = id;
  byId('file').textContent = item.file.replace(/^\//, '');
  editor.text = state.yaml;
  clear();
  return whatIf.start({...item.settings, ...settings});
}

function edit(yaml, settings) {
  Object.assign(state, {yaml, edited: true, example: examples[0].items[0].id});
  byId('example').selectedIndex = -1;
  byId('file').textContent = 'scenario.yaml';
  editor.text = yaml;
  clear();
  return whatIf.start(settings);
}

/// Answers about another scenario.
function clear() {
  for (const id of ['said', 'files', 'compared', 'verdict-notes', 'command']) byId(id).replaceChildren();
  byId('verdict').hidden = true;
  show(byId('curve'), null);
  for (const id of ['step', 'words-step', 'tables-step', 'copied']) byId(id).textContent = '';
}

// Long work: one at a time, beside the sliders, with a button that ends it.
const math = {running: false};
const starters = ['run', 'check', 'explain', 'time', 'save', 'copy'];
async function work(step, words, act) {
  if (math.running) return;
  math.running = true;
  for (const id of starters) byId(id).disabled = true;
  byId('cancel').hidden = byId('progress').hidden = false;
  byId('progress').value = 0;
  step.before(byId('cancel'), ' ', byId('progress'), ' ');
  step.textContent = words;
  worker().progress = (fraction, accuracy) => {
    byId('progress').value = fraction;
    step.textContent = `${words} ${(100 * fraction).toFixed(0)} %` + (accuracy >= 0 ? `, test accuracy ${texts.score(accuracy)}` : '');
  };
  try {
    const said = await act();
    step.textContent = said ?? '';
  } catch (problem) {
    step.textContent = /no such (file|folder)/.test(problem.message) && /mnist/.test(problem.message + state.yaml) ?
      'The math needs images that this page does not have: drop the files of Fashion-MNIST or MNIST on it, or take an example of "Learn: run the math".' : problem.message;
  }
  worker().progress = () => {};
  byId('cancel').hidden = byId('progress').hidden = true;
  math.running = false;
  for (const id of starters) byId(id).disabled = false;
}

byId('cancel').onclick = () => worker().again();

async function showTables(folders) {
  const links = [];
  for (const [folder, name] of folders)
    for (const [file, bytes] of await worker().tables(folder))
      links.push(make('li', {}, make('button', {type: 'button', onclick: () => download(name ? `${name}-${file}` : file, new TextDecoder().decode(bytes),
        file.endsWith('.json') ? 'application/json' : 'text/plain')}, name ? `${name}: ${file}` : file), ` ${texts.bytes(bytes.length)}`));
  byId('files').replaceChildren(...links);
}

byId('run').onclick = () => work(byId('step'), 'Training:', async () => {
  const asked = question(whatIf.settings()), answer = await worker().ask('learn', {...asked, folder: '/out'});
  math.of = JSON.stringify(asked);
  byId('learnt').classList.toggle('stale', math.of !== undefined && math.of !== JSON.stringify(question(whatIf.settings())));
  byId('verdict').hidden = !answer.verdict;
  byId('verdict').textContent = answer.verdict ?? '';
  byId('verdict-notes').replaceChildren(...(answer.notes ?? []).map(note => make('li', {}, note)));
  byId('compared').replaceChildren(make('pre', {}, answer.table));
  show(byId('curve'), answer.chart);
  await showTables(answer.verdict ? [['/out/as-it-is', 'as-it-is'], ['/out/changed', 'changed']] : [['/out/as-it-is', '']]);
  return `Computed in ${texts.seconds(answer.wall_s)}.` + (answer.chart ? '' : ' There is no curve: training.evaluate.every gives one.');
});

const say = (name, words) => work(byId('words-step'), words, async () => {
  const {text: said, warnings} = await worker().ask(name, question(whatIf.settings()));
  byId('said').replaceChildren(make('pre', {}, said), ...warnings.map(each => make('p', {className: 'warning'}, each)));
});
byId('check').onclick = () => say('check', 'Checking …');
byId('explain').onclick = () => say('explain', 'Removing one cause after another:');

byId('time').onclick = () => work(byId('tables-step'), 'Simulating:', async () => {
  const {wall_s, events} = await worker().ask('run', {...question(whatIf.settings()), folder: '/out/timing'});
  await showTables([['/out/timing', '']]);
  return `${texts.count(events)} events in ${texts.seconds(wall_s)}. A click saves a table.`;
});

// Take it home.
async function atHome(act) {
  await work(byId('copied'), '', async () => {
    const {name, yaml} = await worker().ask('scenario', question(whatIf.settings()));
    byId('command').textContent = ['check', 'run', 'explain'].map(each => `straggler ${each} ${name}.yaml`).join('\n');
    return act(name, yaml);
  });
}
byId('save').onclick = () => atHome((name, yaml) => download(`${name}.yaml`, yaml, 'text/yaml'));
byId('copy').onclick = () => atHome(async (name, yaml) => {
  try {
    await navigator.clipboard.writeText(yaml);
    return `${name}.yaml is in the clipboard.`;
  } catch {
    return 'This browser keeps the clipboard from pages on disk; save the scenario instead.';
  }
});

// Images.
async function bring(files) {
  byId('data-problem').hidden = true;
  if (!files.length) return;
  try {
    const brought = await imagesFrom(files);
    core.give(brought);
    second?.give(brought);
    byId('data-state').textContent = `${images.train} to train and ${images.test} to test are here`;
    byId('data').open = true;
    whatIf.preview();
  } catch (problem) {
    byId('data').open = true;
    byId('data-problem').textContent = problem.message;
    byId('data-problem').hidden = false;
  }
}
byId('chosen').onchange = event => bring([...event.target.files]);
const holdsFiles = event => event.dataTransfer?.types.includes('Files');
document.addEventListener('dragover', event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.add('dropping');
});
document.addEventListener('dragleave', event => { if (!event.relatedTarget) document.body.classList.remove('dropping'); });
document.addEventListener('drop', async event => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove('dropping');
  const files = [...event.dataTransfer.files];
  if (files.length === 1 && /\.ya?ml$/.test(files[0].name)) return edit(await files[0].text(), {});
  return bring(files);
});

// Lab sheets: a step at a time, which sets the page up and asks a question.
const labOf = id => labs.find(each => each.id === id);
function showStep() {
  const lab = labOf(state.lab);
  byId('sheet').hidden = !lab;
  byId('lab').value = lab ? lab.id : '';
  if (!lab) return;
  const step = lab.steps[state.step], last = lab.steps.length - 1, go = (text, by, id) => make('button', {
    type: 'button', id, disabled: state.step + by < 0 || state.step + by > last, onclick: () => startStep(state.lab, state.step + by)}, text);
  byId('sheet').replaceChildren(
    make('div', {className: 'steps'}, make('h2', {}, lab.title), make('span', {className: 'dim'}, `step ${state.step + 1} of ${last + 1}`),
      go('Back', -1, 'back'), go('Next', 1, 'next')),
    ...(state.step === 0 ? [make('p', {}, lab.about)] : []),
    make('p', {}, step.do + ' ', make('b', {}, step.question)),
    make('details', {}, make('summary', {}, 'Answer'), make('p', {}, step.answer)));
}
/// A step that sets nothing up has what the one before it set up.
function startStep(id, number) {
  const lab = labOf(id);
  Object.assign(state, {lab: lab ? lab.id : '', step: lab ? Math.min(Math.max(number, 0), lab.steps.length - 1) : 0});
  showStep();
  const begun = lab?.steps.slice(0, state.step + 1).findLast(step => step.example);
  return begun ? choose(begun.example, begun.settings) : remember();
}
byId('lab').onchange = () => startStep(byId('lab').value, 0);

// Looks.
function present(on) {
  document.body.classList.toggle('presenting', on);
  byId('present').setAttribute('aria-pressed', String(on));
  straggler.redrawAll();
}
byId('present').onclick = () => {
  present(!document.body.classList.contains('presenting'));
  remember();
};
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape' || !document.body.classList.contains('presenting')) return;
  present(false);
  remember();
});
byId('share').onclick = async () => {
  await remember();
  const before = byId('share').textContent;
  try {
    await navigator.clipboard.writeText(location.href);
    byId('share').textContent = 'Copied';
  } catch {
    byId('share').textContent = 'It is in the address bar';
  }
  setTimeout(() => { byId('share').textContent = before; }, 1500);
};
byId('example').onchange = () => choose(byId('example').value);
byId('editor').ontoggle = () => editor.number();

/// What the address says; the first example where it says nothing that is known.
async function follow() {
  let said = {settings: {}};
  try {
    said = await readAddress(location.hash);
  } catch {
    byId('state').textContent = 'The address was cut off or changed: this is the first example.';
  }
  present(said.presenter === true);
  Object.assign(state, {lab: labOf(said.lab)?.id ?? '', step: 0});
  if (state.lab) state.step = Math.min(said.step ?? 0, labOf(state.lab).steps.length - 1);
  showStep();
  if (said.yaml !== undefined) return edit(said.yaml, said.settings);
  if (!said.example && state.lab) return startStep(state.lab, state.step);
  const known = items.has(said.example);
  if (said.example && !known) byId('state').textContent = `This version of the page has no example "${said.example}".`;
  return choose(known ? said.example : examples[0].items[0].id, known ? said.settings : {});
}

document.body.classList.toggle('embed', embedded);
byId('whole').hidden = !embedded;
byId('example').replaceChildren(...examples.map(group => make('optgroup', {label: group.title}, ...group.items.map(item => make('option', {value: item.id}, item.title)))));
byId('lab').append(...labs.map(each => make('option', {value: each.id}, each.title)));
const loading = performance.now();
if (await core.start()) {
  core.give(Object.fromEntries(examples.flatMap(group => group.files ?? []).map(([path, table]) => [path, new TextEncoder().encode(table)])));
  document.body.dataset.ready = (performance.now() - loading).toFixed(0);
  addEventListener('hashchange', () => { if (location.hash !== address) follow(); });
  await follow();
} else {
  byId('missing').hidden = false;
  for (const id of ['given', 'whatif']) byId(id).hidden = true;
}
