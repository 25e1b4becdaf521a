// One chart on a page: its tool bar, legend, zoom, keys, and what it saves. What is drawn comes from kinds.js and timeline.js.
(function() {
'use strict';
const straggler = window.straggler, {element, download, csvLine} = straggler;
const charts = new Set();
const dashes = ['solid', 'dashed', 'dotted', [10, 3, 2, 3], [16, 5], [3, 2, 1, 2]];
const symbols = ['circle', 'rect', 'triangle', 'diamond'];

straggler.kinds = {};  // name -> (spec, view) -> {option, csv, height}

/// Names that are not ticked, in all charts of a group on this page.
const off = new Map();
const offOf = (group) => off.get(group) || off.set(group, new Set()).get(group);
straggler.isHidden = (view, item, i) => view.hidden.has(i) || view.off.has(item.name);

/// The colours of the style sheet, as they are now.
straggler.palette = function() {
  const style = getComputedStyle(document.documentElement), known = new Map();  // shapes ask by the thousand
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue('--' + name).trim() || name);
    return known.get(name);
  };
};

/// Looks tell series apart twice: by colour (eight of them), then by dashes; marks have four shapes.
straggler.look = function(palette, look) {
  if (typeof look === 'string') return {colour: palette(look), dash: 'solid', symbol: 'circle'};
  return {colour: palette('s' + (look % 8)), dash: dashes[Math.floor(look / 8) % dashes.length], symbol: symbols[look % 4]};
};

function button(text, title, act) {
  const made = element('button', {type: 'button', title}, text);
  made.addEventListener('click', act);
  return made;
}

function toggle(text, title, pressed, act) {
  const made = button(text, title, () => {
    const now = made.getAttribute('aria-pressed') !== 'true';
    made.setAttribute('aria-pressed', String(now));
    act(now);
  });
  made.setAttribute('aria-pressed', String(pressed));
  return made;
}

/// One of several; `names` are shown.
function choice(label, names, chosen, act) {
  const group = element('span', {class: 'choice', role: 'group', 'aria-label': label});
  names.forEach((name, i) => {
    const made = button(name, label + ': ' + name, () => {
      for (const other of group.children) other.setAttribute('aria-pressed', 'false');
      made.setAttribute('aria-pressed', 'true');
      act(i);
    });
    made.setAttribute('aria-pressed', String(i === chosen));
    group.append(made);
  });
  return group;
}

/// One of many, in a menu.
function list(label, names, act) {
  const box = element('label', {class: 'list'}, label + ' '), made = element('select', {});
  names.forEach((name, i) => made.append(element('option', {value: i}, name)));
  made.addEventListener('change', () => act(made.selectedIndex));
  box.append(made);
  return box;
}

function legendSample(item, palette) {
  const look = straggler.look(palette, item.look);
  const sample = element('span', {class: 'sample ' + (item.sample || 'box')});
  if (item.sample === 'line') {
    const dash = Array.isArray(look.dash) ? look.dash.join(' ') : {solid: '', dashed: '6 4', dotted: '2 3'}[look.dash];
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 26 10');
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    line.setAttribute('d', 'M1 5h24');
    line.setAttribute('style', 'stroke:' + look.colour + ';stroke-width:3;stroke-dasharray:' + dash);
    svg.append(line);
    sample.append(svg);
  } else {
    sample.style.background = look.colour;
  }
  return sample;
}

class Chart {
  constructor(figure, spec) {
    this.figure = figure;
    this.menu = spec.menu && spec.menu.map((each) => ({name: each.name, chart: each.chart || spec}));
    this.spec = spec;
    this.view = {
      hidden: new Set(),
      off: this.spec.group ? offOf(this.spec.group) : new Set(),
      x: 0,
      grouping: 0,
      smooth: 0,
      logX: null,
      logY: null,
      mode: this.spec.opens || 0,
      zoom: null,
      cursor: -1,
      changed: () => this.draw()
    };
    this.room = element('div', {class: 'drawn', tabindex: '0', role: 'group'});
    this.room.setAttribute('aria-label', (spec.label || '') + '. Plus and minus zoom, arrow keys walk through the values, 0 shows all.');
    this.says = element('div', {class: 'says', 'aria-live': 'polite'});
    this.legend = element('div', {class: 'legend'});
    this.bar = element('div', {class: 'chart-bar'});
    const still = figure.querySelector('.still');
    if (still)
      still.before(this.bar, this.legend, this.room);
    else
      figure.append(this.bar, this.legend, this.room);
    this.room.after(this.says);
    figure.classList.add('live');
    this.echarts = null;
    this.draw();
    this.bars();
    this.keys();
    charts.add(this);
    if (window.ResizeObserver) {
      let wide = this.room.clientWidth;
      new ResizeObserver(() => {
        if (this.room.clientWidth === wide || !this.room.clientWidth) return;
        wide = this.room.clientWidth;
        this.draw();
      }).observe(this.room);
    }
  }

  kind() { return straggler.kinds[this.spec.kind]; }

  /// New data, as a page that is followed live has them.
  update(spec) {
    this.spec = spec;
    this.draw();
  }

  draw() {
    const palette = straggler.palette();
    this.view.width = this.room.clientWidth || 720;
    const made = (this.made = this.kind()(this.spec, this.view, palette));
    this.room.style.height = made.height + 'px';
    const size = this.view.width + ' ' + made.height;
    if (!this.echarts) {
      this.echarts = window.echarts.init(this.room, null, {renderer: 'canvas'});
      this.wheel();
      this.clicks();
    } else {
      this.echarts.dispatchAction({type: 'hideTip'});
      if (size !== this.size) this.echarts.resize();  // which draws what is there once more
    }
    this.size = size;
    this.echarts.setOption(this.option(made, palette), {notMerge: true});
    this.drawLegend(palette);
    if (made.sums && !this.selection) this.selection = straggler.selection(this);
    if (this.selection) this.selection.show();
  }

  option(made, palette) {
    const text = {color: palette('fg'), fontFamily: 'system-ui, \'DejaVu Sans\', sans-serif'};
    const option = Object.assign(
        {
          animation: false,
          textStyle: text,
          aria: {enabled: true, label: {enabled: true, description: this.spec.label || ''}},
          tooltip: {},
        },
        made.option,
    );
    option.tooltip = Object.assign(
        {
          confine: true,
          appendTo: this.room,
          backgroundColor: palette('bg'),
          borderColor: palette('dim'),
          textStyle: {color: palette('fg'), fontSize: 13},
          extraCssText: 'max-width:min(34rem,90vw);white-space:normal;overflow-wrap:anywhere',
        },
        option.tooltip,
    );
    option.dataZoom = this.zooms(made);
    return option;
  }

  zooms(made) {
    return (made.zoom || []).map((axis) => {
      const zoom = {
        type: 'inside',
        id: axis,
        filterMode: 'none',
        zoomOnMouseWheel: true,
        moveOnMouseMove: !this.view.selecting,
        moveOnMouseWheel: false,
        preventDefaultMouseMove: false,
        minSpan: 0.0001,
      };
      zoom[axis + 'AxisIndex'] = made.zoomAll ? 'all' : 0;
      const kept = this.view.zoom && this.view.zoom[axis];
      if (kept) Object.assign(zoom, {start: kept[0], end: kept[1]});
      return zoom;
    });
  }

  /// The page scrolls under the wheel, unless the chart has the keyboard or Ctrl is held.
  wheel() {
    this.room.addEventListener(
        'wheel',
        (event) => {
          if (!event.ctrlKey && !this.room.contains(document.activeElement)) event.stopPropagation();
        },
        {capture: true, passive: true},
    );
    this.room.addEventListener('pointerdown', () => this.room.focus({preventScroll: true}));
    this.echarts.on('datazoom', () => this.keepZoom());
  }

  clicks() {
    this.echarts.on('click', (event) => {
      const link = this.made.link && this.made.link(event);
      if (link) straggler.go(link);
    });
  }

  keepZoom() {
    const kept = {};
    for (const zoom of this.echarts.getOption().dataZoom || []) kept[zoom.id] = [zoom.start, zoom.end];
    this.view.zoom = kept;
    if (this.made.zoomed) this.made.zoomed(this.echarts);
    const all = Object.values(kept).every(([from, to]) => from <= 0.001 && to >= 99.999);
    this.figure.classList.toggle('zoomed', !all);
    if (this.selection) this.selection.show();
  }

  /// Of the x axis, about the middle of what is shown.
  zoomBy(factor, move) {
    const axis = (this.made.zoom || [])[0];
    if (!axis) return;
    const [from, to] = (this.view.zoom && this.view.zoom[axis]) || [0, 100];
    const span = Math.min(100, (to - from) * factor), middle = (from + to) / 2 + (move || 0) * (to - from);
    const start = Math.max(0, Math.min(100 - span, middle - span / 2));
    this.echarts.dispatchAction({type: 'dataZoom', dataZoomId: axis, start, end: start + span});
  }

  showAll() {
    for (const axis of this.made.zoom || []) this.echarts.dispatchAction({type: 'dataZoom', dataZoomId: axis, start: 0, end: 100});
  }

  /// The next value of the first visible series, or the one before.
  walk(step) {
    const stops = this.made.stops || 0;
    if (!stops) return;
    this.view.cursor = Math.max(0, Math.min(stops - 1, this.view.cursor + step));
    const at = this.made.stop(this.view.cursor);
    this.echarts.dispatchAction({type: 'showTip', seriesIndex: at.series, dataIndex: at.index});
    this.says.textContent = at.text;
  }

  keys() {
    this.room.addEventListener('keydown', (event) => {
      const acts = {
        '+': () => this.zoomBy(0.6),
        '=': () => this.zoomBy(0.6),
        '-': () => this.zoomBy(1 / 0.6),
        0: () => this.showAll(),
        ArrowRight: () => (event.shiftKey ? this.zoomBy(1, 0.25) : this.walk(1)),
        ArrowLeft: () => (event.shiftKey ? this.zoomBy(1, -0.25) : this.walk(-1)),
        Enter: () => {
          const at = this.view.cursor >= 0 && this.view.cursor < (this.made.stops || 0) && this.made.stop(this.view.cursor);
          if (at && at.link) straggler.go(at.link);
        },
        s: () => this.selection && this.selection.all(),
        Escape: () => this.echarts.dispatchAction({type: 'hideTip'}),
      };
      if (!acts[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      acts[event.key]();
    });
  }

  bars() {
    const {spec, view, made} = this;
    const redraw = () => this.draw();
    if (this.menu)
      this.bar.append(list('Shown', this.menu.map((each) => each.name), (i) => {
        Object.assign(view, {zoom: null, cursor: -1});
        view.hidden.clear();
        this.update(this.menu[i].chart);
      }));
    if (made.xs && made.xs.length > 1)
      this.bar.append(
          choice(
              'Over', made.xs, 0,
              (i) => {
                view.x = i;
                view.zoom = null;
                view.logX = null;
                redraw();
              }),
      );
    if (made.modes)
      this.bar.append(
          choice(
              made.modesLabel || 'Shown', made.modes, view.mode,
              (i) => {
                view.mode = i;
                view.zoom = null;
                this.figure.classList.remove('zoomed');
                redraw();
              }),
      );
    if (made.groupings && made.groupings.length > 0)
      this.bar.append(list('Runs', made.groupings, (i) => {
        view.grouping = i;
        view.hidden.clear();
        redraw();
      }));
    if (made.canSmooth)
      this.bar.append(list('Smoothing', ['as it is', 'smooth', 'very smooth'], (i) => {
        view.smooth = i;
        redraw();
      }));
    const tools = element('span', {class: 'tools'});
    if (made.canLogX)
      tools.append(toggle('log x', 'Logarithmic axis to the right', made.logX, (on) => {
        view.logX = on;
        view.zoom = null;
        redraw();
      }));
    if (made.canLogY)
      tools.append(toggle('log y', 'Logarithmic axis upwards', made.logY, (on) => {
        view.logY = on;
        view.zoom = null;
        redraw();
      }));
    if ((made.zoom || []).length) {
      tools.append(button('+', 'Zoom in (also: Ctrl and wheel, or + after a click)', () => this.zoomBy(0.6)));
      tools.append(button('\u2212', 'Zoom out', () => this.zoomBy(1 / 0.6)));
      tools.append(button('All', 'Shows all (0)', () => this.showAll()));
      if (made.sums)
        this.bar.append(toggle('select', 'Drag to sum up a stretch (also: Shift and drag; S sums what is shown)', false, (on) => {
          view.selecting = on;
          redraw();
        }));
    }
    const file = (spec.label || 'chart').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chart';
    tools.append(button('SVG', 'Saves the picture', () => download(file + '.svg', this.svg(), 'image/svg+xml')));
    tools.append(button('CSV', 'Saves the values', () => download(file + '.csv', this.csv(), 'text/csv')));
    this.bar.append(
        toggle('\u22ef', 'More: axes, zoom, and saving the picture or its values', false, (on) => tools.classList.toggle('open', on)),
        tools);
    this.bar.classList.toggle('quiet', this.bar.children.length === 2);  // beside the title
  }

  csv() { return this.made.csv().map(csvLine).join(''); }

  /// As it is shown, legend included.
  svg() {
    const {width} = this.view, {height} = this.made, palette = straggler.palette(), row = 22;
    const items = (this.made.legend || []).filter((item, i) => !straggler.isHidden(this.view, item, i));
    let left = 16, rows = items.length ? 1 : 0;
    const places = items.map((item) => {
      const wide = 44 + 7.5 * item.name.length;
      if (left > 16 && left + wide > width) {
        left = 16;
        ++rows;
      }
      left += wide;
      return {item, left: left - wide, line: rows};
    });
    const more = rows ? 8 + row * rows : 0;
    const drawing = window.echarts.init(null, null, {renderer: 'svg', ssr: true, width, height: height + more});
    const option = this.option(this.made, palette);
    delete option.tooltip;
    delete option.aria;
    option.backgroundColor = palette('bg');
    option.graphic = (option.graphic || []).concat(places.flatMap((at) => {
      const bottom = 8 + row * (rows - at.line), colour = straggler.look(palette, at.item.look).colour;
      return [
        {type: 'rect', left: at.left, bottom: bottom + 1, shape: {width: 14, height: 14}, style: {fill: colour}},
        {type: 'text', left: at.left + 20, bottom, style: {text: at.item.name, fill: palette('fg'), font: '13px sans-serif'}},
      ];
    }));
    for (const grid of [].concat(option.grid || []))
      if (grid.bottom !== undefined) grid.bottom += more;
    drawing.setOption(option);
    const text = drawing.renderToSVGString();
    drawing.dispose();
    return text;
  }

  /// What is printed where the still form shows less: the chart as it stands, as wide as paper, in the colours of now.
  print() {
    if (!this.figure.classList.contains('scripted-print') || !this.room.clientWidth) return;
    const paper = element('div', {class: 'printed'}), {made, view} = this;
    this.view = Object.assign({}, view, {width: 720});
    this.made = this.kind()(this.spec, this.view, straggler.palette());
    paper.innerHTML = this.svg();
    Object.assign(this, {made, view});
    this.room.after(paper);
  }

  drawLegend(palette) {
    const items = this.made.legend || [], {scale} = this.made;
    this.legend.textContent = '';
    if (scale) {
      const bar = element('span', {class: 'scale'}), colour = (part) => 'color-mix(in srgb, var(--s0) ' + 100 * part + '%, var(--bg))';
      bar.style.background = 'linear-gradient(to right, ' + colour(scale.from) + ', ' + colour(scale.to) + ')';
      this.legend.append(element('span', {}, scale.title + ': ' + scale.low), bar, element('span', {}, scale.high));
    }
    items.forEach((item, i) => {
      if (item.fixed) {
        const shown = element('span', {class: 'item'});
        shown.append(legendSample(item, palette), element('span', {}, item.name));
        this.legend.append(shown);
        return;
      }
      const made = element('button', {
        type: 'button',
        class: 'item' + (item.best ? ' best' : ''),
        'aria-pressed': String(!straggler.isHidden(this.view, item, i)),
        title: 'Hides or shows it; a double click shows it alone'
      });
      made.append(legendSample(item, palette), element('span', {}, item.name));
      made.addEventListener('click', (event) => {
        this.tick(items, event.detail === 2 ? (_, k) => k === i : (each, k) => straggler.isHidden(this.view, each, k) === (k === i));
        this.legend.children[i].focus();
      });
      this.legend.append(made);
    });
    const free = items.filter((item) => !item.fixed);
    if (free.length < 4) return;
    const none = items.every((item, i) => item.fixed || straggler.isHidden(this.view, item, i));
    this.legend.append(button(none ? 'all' : 'none', none ? 'Shows all' : 'Hides all', () => this.tick(items, () => none)));
  }

  /// Shows the items for which `is(item, place)` is true, and hides the others; charts of one group together.
  tick(items, is) {
    const {view, spec} = this, wanted = items.map((item, i) => [item, i, is(item, i)]);
    for (const [item, i, on] of wanted) {
      if (item.fixed) continue;
      const [set, key] = spec.group && !this.made.ownLegend ? [view.off, item.name] : [view.hidden, i];
      if (on)
        set.delete(key);
      else
        set.add(key);
    }
    for (const chart of spec.group && !this.made.ownLegend ? charts : [this])
      if (chart.spec.group === spec.group) chart.draw();
  }
}

/// Draws `spec` into `figure`, instead of its still picture. Returns the chart, whose update() takes other data.
straggler.chart = (figure, spec) => new Chart(figure, spec);
straggler.charts = charts;
straggler.redrawAll = () => charts.forEach((chart) => chart.draw());
})();
