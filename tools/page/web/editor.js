// The scenario's text with the numbers of its lines, and what is wrong with it at its line.
class Editor {
  /// `changed(text)` is called when the text has stood for a moment.
  constructor(changed) {
    this.area = byId('yaml');
    this.lines = byId('lines');
    this.wrong = new Set();
    let later;
    this.area.oninput = () => {
      this.number();
      clearTimeout(later);
      later = setTimeout(() => changed(this.area.value), 300);
    };
    this.area.onscroll = () => { this.lines.scrollTop = this.area.scrollTop; };
  }
  set text(text) {
    this.area.value = text;
    this.tell([]);
  }
  get text() { return this.area.value; }
  number() {
    const count = this.area.value.split('\n').length;
    this.lines.replaceChildren(...Array.from({length: count}, (_, i) =>
      make('div', {className: this.wrong.has(i + 1) ? 'wrong' : ''}, String(i + 1))));
    this.lines.scrollTop = this.area.scrollTop;
  }
  /// Problems {line, column, text}, as `straggler check` prints them.
  tell(problems) {
    this.wrong = new Set(problems.map(each => each.line));
    this.number();
    byId('problems').hidden = problems.length === 0;
    byId('problems').replaceChildren(...problems.map(({line, column, text}) => make('li', {}, make('button', {
      type: 'button', onclick: () => this.go(line, column),
    }, line > 0 ? `line ${line}: ${text}` : text))));
  }
  go(line, column) {
    if (line < 1) return;
    byId('editor').open = true;
    const before = this.area.value.split('\n').slice(0, line - 1), start = before.reduce((sum, each) => sum + each.length + 1, 0);
    const end = this.area.value.indexOf('\n', start);
    this.area.focus();
    this.area.setSelectionRange(start + Math.max(column - 1, 0), end < 0 ? this.area.value.length : end);
    const height = this.area.scrollHeight / this.area.value.split('\n').length;
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }
}
