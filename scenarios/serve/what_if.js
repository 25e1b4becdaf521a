// The what-if part of a page: sliders, rates, split of time, timeline. `straggler serve` asks its server, the page that holds the simulator
// (tools/page) its worker; both hand in how.
(() => {
  const byId = id => document.getElementById(id);
  const straggler = window.straggler;

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  // Numbers with a unit, as the program writes them.
  const bits = (value) => {
    const units = ['bps', 'kbps', 'Mbps', 'Gbps', 'Tbps'], unit = Math.min(4, Math.max(0, Math.floor(Math.log10(8 * value) / 3)));
    return `${Number((8 * value / 1000 ** unit).toPrecision(3))} ${units[unit]}`;
  };
  const texts = {rate: bits, flops: (value) => `${Number((value / 1e9).toPrecision(3))} GFLOPS`};
  for (const unit of ['count', 'number', 'share', 'seconds', 'bytes', 'score', 'factor']) texts[unit] = straggler.format(unit);

  /// Draws what the server gave for a chart into a figure: data that move, or a still picture. Nothing: the figure is empty.
  const charts = new WeakMap();
  function show(figure, drawn, limit, others) {
    const still = figure.querySelector('.still');
    figure.classList.toggle('empty', !drawn);
    if (!drawn) return;
    if (drawn.still) {
      still.innerHTML = drawn.still;
      return;
    }
    const spec = JSON.parse(drawn.data);
    if (limit) Object.assign(spec, {limit, others});
    if (charts.has(figure)) charts.get(figure).update(spec);
    else charts.set(figure, straggler.chart(figure, spec));
  }

  /// `host`: ask(settings, patiently) promises an answer, where host.patient says so of more of the run; or fails with a problem, whose `status` is 409 if it is to be asked again, and missing if
  /// nobody answers any more, which the sentence `ended` says; shown(answer) and refused(problem) are called after each.
  function whatIf(host) {
    const state = {settings: {}, own: null, knobs: []};

    const position = (knob, value) => Math.round(1000 * (knob.logarithmic
      ? Math.log(Math.max(value, knob.low) / knob.low) / Math.log(knob.high / knob.low) : (value - knob.low) / (knob.high - knob.low)));
    /// A round number where the slider has no place nearer to it.
    function onRound(value, knob) {
      const unit = knob.type === 'rate' ? 8 : 1, power = 10 ** Math.floor(Math.log10(value * unit));
      const near = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10].map(each => each * power / unit)
        .find(each => Math.abs(Math.log(value / each)) <= 0.5 * Math.log(knob.high / knob.low) / 1000);
      return Number((near ?? value).toPrecision(4));
    }
    function valueAt(knob, place) {
      const share = place / 1000;
      if (knob.zero && place === 0) return 0;
      const value = share === 1 ? knob.high : knob.logarithmic ? knob.low * (knob.high / knob.low) ** share : knob.low + share * (knob.high - knob.low);
      if (knob.type === 'count') return Math.round(value);
      return knob.logarithmic && share < 1 ? onRound(value, knob) : Number(value.toPrecision(4));
    }

    function turn(key, value) {
      delete state.settings[key];
      state.settings[key] = value;  // the last one
      // Parameters belong to a kind: those of another one mean nothing.
      if (key === 'scheme' || key === 'jitter')
        for (const other of Object.keys(state.settings)) if (other.startsWith(key + '.')) delete state.settings[other];
      preview();
    }

    /// In groups, where the choices have families.
    function optionsOf(knob) {
      const option = choice => make('option', {value: choice}, choice);
      if (!knob.families) return knob.choices.map(option);
      return [...new Set(knob.families)].map(family =>
        make('optgroup', {label: family}, ...knob.choices.filter((_, i) => knob.families[i] === family).map(option)));
    }

    const rows = new Map();
    function knobRow(knob) {
      const id = 'knob-' + knob.key.replaceAll('.', '-');
      const label = make('label', {htmlFor: id}, knob.label), shown = make('output', {htmlFor: id});
      const row = {label, shown, element: make('div', {className: 'knob'}, make('div', {className: 'line'}, label, shown))};
      if (knob.choices) {
        row.input = make('select', {id, onchange: () => turn(knob.key, row.input.value)},
          ...optionsOf(knob));
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

    /// "Slow workers 0 instead of 2: ", of up to two settings.
    function changes(answer) {
      const of = (knobs, key) => knobs.find(knob => knob.key === key), text = knob => knob.choices || knob.type === 'switch' ? String(knob.value) : texts[knob.type](knob.value);
      const moved = Object.keys(state.settings).map(key => [of(answer.knobs, key), of(state.own.knobs, key)])
        .filter(([now, before]) => now?.is_set && (!before?.is_set || text(now) !== text(before)));
      if (!moved.length) return '';
      const said = moved.reverse().slice(0, 2).map(([now, before]) => `${now.label} ${text(now)}${before?.is_set ? ` instead of ${text(before)}` : ''}`);
      return said.join(', ') + (moved.length > 2 ? ` and ${moved.length - 2} more` : '') + ': ';
    }

    /// What the change does, in a sentence and in large numbers, where the page has room for them.
    function showChange(answer) {
      if (!byId('numbers')) return;
      const byKey = of => new Map((of?.figures ?? []).map(figure => [figure.key, figure])), own = byKey(state.own), now = byKey(answer);
      const rate = now.get('samples_per_second'), before = own.get('samples_per_second'), step = now.get('seconds_per_update');
      const number = (value, what) => make('p', {}, make('strong', {}, value), what);
      const numbers = rate ? [number(rate.text, 'samples per second')] : [];
      let sentence = rate ? `An update takes ${step.text}.` : '';
      if (rate && before && !answer.as_it_is) {
        const ratio = rate.value / before.value;
        numbers.unshift(number(texts.factor(ratio), 'as fast as unchanged'));
        const words = Math.abs(ratio - 1) < 0.005 ? 'as fast as unchanged' : ratio >= 1.1 ? `${Number(ratio.toPrecision(3))} times as fast` :
          ratio > 1 ? `${((ratio - 1) * 100).toFixed(1)} % faster` : `${((1 - ratio) * 100).toFixed(1)} % slower`;
        const shares = ['compute', 'communication', 'idle'].map(key => [now.get(key), own.get(key)]).filter(([a, b]) => a && b);
        const [after, prior] = shares.sort(([a, b], [c, d]) => Math.abs(c.value - d.value) - Math.abs(a.value - b.value))[0] ?? [];
        const said = changes(answer) + words;
        sentence = `${said[0].toUpperCase()}${said.slice(1)}. An update takes ${step.text} instead of ${own.get('seconds_per_update').text}` +
          (after && Math.abs(after.value - prior.value) >= 0.005 ?
            `, and workers are ${after.label} ${after.text} of the time instead of ${prior.text}` : '') + '.';
      }
      const computing = now.get('compute');
      if (computing) numbers.push(number(computing.text, 'of the time computing'));
      byId('numbers').replaceChildren(...numbers);
      byId('sentence').textContent = sentence;
    }

    const titleOf = (what, seconds, of) => `${what}, the first ${texts.seconds(seconds)}: ${of.timeline_label.split(': ').pop()}`;

    /// The timeline of the unchanged scenario stays above that of the changed one. Returns the seconds that both show.
    function showBefore(answer) {
      const before = byId('before');
      if (!before) return undefined;
      before.hidden = answer.as_it_is || !state.own?.timeline?.data || !answer.timeline?.data;
      if (before.hidden) return undefined;
      const specs = [state.own, answer].map(of => JSON.parse(of.timeline.data));
      const limit = Math.min(...specs.map(spec => spec.stretches[0]?.seconds ?? Infinity));
      const names = specs.flatMap(spec => spec.lanes.map(lane => lane.name)), widest = names.reduce((a, b) => b.length > a.length ? b : a, '');
      const kept = state.drawn === state.own && limit > 0.8 * state.limit && limit < 1.25 * state.limit && widest === state.widest;
      if (!kept) {  // moves draw one of both
        Object.assign(state, {drawn: state.own, limit, widest});
        show(before, state.own.timeline, limit, [widest]);
        byId('before-title').textContent = titleOf('As it is', limit, state.own);
      }
      return state.limit;
    }

    function showPreview(answer, milliseconds) {
      if (answer.as_it_is) state.own = answer;
      state.shown = answer;
      answer.whole ||= answer.complete;
      delete byId('extent').dataset.finished;
      byId('problem').hidden = true;
      byId('extent').textContent = answer.extent;
      byId('extent').className = 'extent' + (answer.complete ? ' whole' : '');
      byId('extent').dataset.milliseconds = milliseconds.toFixed(1);
      byId('extent').dataset.answers = Number(byId('extent').dataset.answers ?? 0) + 1;
      byId('notes').replaceChildren(...answer.notes.map(note => make('li', {}, note)));
      byId('name').textContent = answer.name;
      showKnobs(answer.knobs);
      showFigures(answer);
      showChange(answer);
      show(byId('split'), answer.split);
      const limit = showBefore(answer);
      show(byId('timeline'), answer.timeline, limit, [state.widest]);
      byId('timeline-title').textContent = limit ? titleOf('Changed', limit, answer) : answer.timeline_label || 'Timeline: too little was simulated to draw one';
      byId('reset').disabled = answer.as_it_is;
      host.shown(answer);
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
          // First as it is, to compare with.
          const answer = await host.ask(state.own ? state.settings : {});
          if (!state.own && Object.keys(state.settings).length > 0) waits.again = true;
          showPreview(answer, performance.now() - start);
        } catch (problem) {
          if (problem.status === 409) {  // another window asked
            waits.again = true;
            await new Promise(later => setTimeout(later, 100));
            continue;
          }
          byId('extent').dataset.finished = 'true';
          byId('problem').textContent = problem.status ? problem.message : host.ended;
          byId('problem').hidden = false;
          host.refused(problem);
        }
      } while (waits.again);
      waits.busy = false;
      byId('answer').classList.remove('waits');
      clearTimeout(state.later);
      if (host.patient && !byId('extent').dataset.finished && state.own && !(state.shown.whole && state.own.whole)) state.later = setTimeout(finish, 300);
      else byId('extent').dataset.finished = 'true';
    }

    /// Sliders have rested: more of the run is shown, so that figures do not depend on how fast the computer is.
    async function finish() {
      if (waits.busy) return;
      waits.busy = true;
      try {
        const more = async (answer, settings) => answer.whole ? answer : Object.assign(await host.ask(settings, true), {whole: true});
        const start = performance.now(), own = await more(state.own, {});
        const shown = waits.again ? null : state.shown.as_it_is ? own : await more(state.shown, state.settings);
        if (!waits.again) {
          state.own = own;
          showPreview(shown, performance.now() - start);
        }
      } catch { /* what is shown stays */
      }
      byId('extent').dataset.finished = 'true';
      waits.busy = false;
      if (waits.again) preview();
    }

    byId('reset').onclick = () => {
      state.settings = {};
      preview();
    };
    byId('knobs').onsubmit = event => event.preventDefault();
    straggler.enlivenTables(byId('answer'));

    return {
      /// Of another scenario.
      start(settings = {}) {
        Object.assign(state, {settings, own: null});
        return preview();
      },
      preview,
      settings: () => state.settings,
      /// "Changed: bandwidth 10 Gbps, scheme asgd."
      changes: () => 'Changed: ' + Object.entries(state.settings).map(([key, value]) => {
        const knob = rows.get(key)?.knob;
        return `${knob?.label ?? key} ${typeof value === 'number' && knob ? texts[knob.type](value) : value}`;
      }).join(', ') + '.',
    };
  }

  Object.assign(straggler, {make, texts, show, whatIf});
})();
