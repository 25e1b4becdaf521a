// Tables: a click on a header sorts, a box filters, a button copies.
(function() {
'use strict';
const {element, worth} = window.straggler;
const fewRows = 8;  // no filter for fewer

function cellsOf(row) { return Array.from(row.cells, (cell) => cell.textContent); }

/// Numbers before words, missing values last, whichever way the others go.
function compare(a, b, column, way) {
  const x = worth(a.cells[column].textContent), y = worth(b.cells[column].textContent);
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  if (Number.isNaN(x)) return way * a.cells[column].textContent.localeCompare(b.cells[column].textContent);
  return way * (x - y);
}

function sortable(table, head, body) {
  const original = Array.from(body.rows);
  Array.from(head.cells).forEach((cell, column) => {
    const button = element('button', {type: 'button', class: 'sort'}, cell.textContent);
    cell.textContent = '';
    cell.append(button);
    button.addEventListener('click', () => {
      const now = cell.getAttribute('aria-sort');
      for (const other of head.cells) other.removeAttribute('aria-sort');
      if (now === 'descending') {
        body.append(...original);
        return;
      }
      const way = now === 'ascending' ? -1 : 1;
      cell.setAttribute('aria-sort', way > 0 ? 'ascending' : 'descending');
      body.append(...Array.from(body.rows).sort((a, b) => compare(a, b, column, way)));
    });
  });
}

function copy(text, button) {
  const said = button.textContent;
  const tell = (what) => {
    button.textContent = what;
    setTimeout(() => (button.textContent = said), 1500);
  };
  const byHand = () => {
    const area = element('textarea', {readonly: ''});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    tell(done ? 'Copied' : 'Not allowed');
  };
  if (!navigator.clipboard) return byHand();
  navigator.clipboard.writeText(text).then(() => tell('Copied'), byHand);
}

function enliven(table) {
  const head = table.tHead && table.tHead.rows[0], body = table.tBodies[0];
  if (!body || table.classList.contains('live-table')) return;
  table.classList.add('live-table');
  const bar = element('div', {class: 'table-bar'});
  if (head && body.rows.length >= fewRows) {
    const label = element('label', {}, 'Filter ');
    const box = element('input', {type: 'search', placeholder: 'words of a row'});
    const count = element('span', {class: 'dim', 'aria-live': 'polite'});
    box.addEventListener('input', () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? ' ' + shown + ' of ' + body.rows.length : '';
    });
    label.append(box);
    bar.append(label, count);
  }
  const button = element('button', {type: 'button', title: 'Copies the rows that are shown, with tabs between cells'}, 'Copy');
  button.addEventListener('click', () => {
    const rows = Array.from(body.rows).filter((row) => !row.hidden);
    copy((head ? [head] : []).concat(rows).map((row) => cellsOf(row).join('\t')).join('\n') + '\n', button);
  });
  bar.append(button);
  if (head && body.rows.length > 1) sortable(table, head, body);
  (table.closest('.wide') || table).before(bar);
}

window.straggler.enlivenTables = function(root) { root.querySelectorAll('table').forEach(enliven); };
})();
