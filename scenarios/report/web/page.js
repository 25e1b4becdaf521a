// Brings a page to life: its charts, its tables, and the switch between light and dark.
(function() {
'use strict';
const straggler = window.straggler, {element} = straggler;
const charts = straggler.charts || [];  // a page without charts has no script of them
const dark = window.matchMedia('(prefers-color-scheme: dark)');
let forced = null;  // 'light' or 'dark': by the switch

/// The style sheet says what is dark in one media rule, whose condition the switch replaces.
function darkRules() {
  const rules = [];
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule instanceof CSSMediaRule && (rule.dark || /prefers-color-scheme/.test(rule.conditionText))) rules.push(rule);
  for (const rule of rules) rule.dark = true;
  return rules;
}

straggler.isDark = () => (forced ? forced === 'dark' : dark.matches);

const redrawAll = () => charts.forEach((chart) => chart.draw());

function show(theme) {
  const rules = darkRules();
  forced = theme;
  for (const rule of rules) rule.media.mediaText = theme === 'dark' ? 'screen' : 'not all';
  document.documentElement.style.colorScheme = theme;
  redrawAll();
}

function themeSwitch() {
  const button = element('button', {type: 'button', class: 'theme', title: 'Light or dark'}, straggler.isDark() ? 'Light' : 'Dark');
  button.addEventListener('click', () => {
    show(straggler.isDark() ? 'light' : 'dark');
    button.textContent = straggler.isDark() ? 'Light' : 'Dark';
  });
  dark.addEventListener('change', () => {
    button.textContent = straggler.isDark() ? 'Light' : 'Dark';
    redrawAll();
  });
  return button;
}

/// To another file. A page that `straggler serve` shows in a frame asks the page around it, whose address stands for the folder.
const inFrame = window.parent !== window && window.location.pathname.startsWith('/shown/');

function follow(link) {
  if (inFrame)
    window.parent.postMessage({follow: link}, '*');
  else
    window.location.href = link;
}

/// To a place on this page; a folded sheet there opens.
straggler.go = function(link) {
  if (!link.startsWith('#')) {
    follow(link);
    return;
  }
  if (window.location.hash !== link) window.location.hash = link;
  open();
};

function open() {
  const place = window.location.hash.length > 1 && document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (!place || place.tagName !== 'DETAILS') return;
  place.open = true;
  place.scrollIntoView({block: 'start'});
  place.querySelector('summary').focus({preventScroll: true});
}

/// Every figure that carries data is drawn when it comes near the window: a page with many charts is there at once.
straggler.enliven = function(root) {
  straggler.enlivenTables(root);
  const figures =
      Array.from(root.querySelectorAll('figure.chart')).filter((figure) => figure.querySelector('script[type="application/json"]'));
  if (!window.echarts) return;
  const folded = (figure) => figure.closest('details:not([open])');
  const draw = (figure) => {
    if (!folded(figure) && !figure.classList.contains('live'))
      straggler.chart(figure, JSON.parse(figure.querySelector('script[type="application/json"]').textContent));
  };
  for (const sheet of root.querySelectorAll('details'))
    sheet.addEventListener('toggle', () => figures.filter((figure) => sheet.contains(figure)).forEach(draw));
  if (!window.IntersectionObserver) return figures.forEach(draw);
  const watch = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (!entry.isIntersecting) continue;
          watch.unobserve(entry.target);
          draw(entry.target);
        }
      },
      {rootMargin: '1200px'},
  );
  figures.forEach((figure) => watch.observe(figure));
  // Whoever saves or scripts the page finds all charts there soon.
  const rest = () => figures.forEach(draw);
  if (window.requestIdleCallback)
    window.requestIdleCallback(rest, {timeout: 1500});
  else
    setTimeout(rest, 500);
};

/// Paper is light.
window.addEventListener('beforeprint', () => {
  const rules = darkRules(), media = rules.map((rule) => rule.media.mediaText);
  for (const rule of rules) rule.media.mediaText = 'not all';
  charts.forEach((chart) => chart.print());
  rules.forEach((rule, i) => (rule.media.mediaText = media[i]));
});
window.addEventListener('afterprint', () => document.querySelectorAll('.printed').forEach((paper) => paper.remove()));

document.body.prepend(themeSwitch());
straggler.enliven(document);
window.addEventListener('hashchange', open);
document.addEventListener('click', (event) => {
  const link = event.target.closest && event.target.closest('a[href]:not([download])');
  if (!link) return;
  const to = link.getAttribute('href');
  if (to.startsWith('#run-') && to === window.location.hash) open();
  if (inFrame && !to.startsWith('#')) {
    event.preventDefault();
    follow(to);
  }
});
open();
})();
