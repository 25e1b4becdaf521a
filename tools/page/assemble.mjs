// Puts the page together: assemble.mjs CORE.wasm ECHARTS_FOLDER OUT.html [LICENCE...]. Scenarios that the core does not run are named and left out.
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';
import {basename, dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url)), source = join(here, '../..');
const read = (...place) => readFileSync(join(...place), 'utf8');
const [corePath, packages, out, ...licences] = process.argv.slice(2);
const openCore = new Function(read(here, 'system.js') + '\nreturn openCore;')();
const wasm = readFileSync(corePath);
const core = await openCore(wasm, {progress() {}, say: words => process.stderr.write(words)});
const about = core.answer('about', {});

// Tables that scenarios name stand beside them.
const beside = {};
for (const folder of ['scenarios/examples', 'scenarios/studies'])
  for (const name of readdirSync(join(source, folder)))
    if (/\.(csv|json)$/.test(name)) {
      beside[`/${folder}/${name}`] = read(source, folder, name);
      core.files.put(`/${folder}/${name}`, new TextEncoder().encode(beside[`/${folder}/${name}`]));
    }

const needed = {}, leftOut = [], text = {};
function item(id, title, scenario, settings) {
  const yaml = read(source, scenario).replace(/^# yaml-language-server:.*\n/, ''), file = '/' + scenario;
  const answer = core.answer('preview', {yaml, file, settings: settings ?? {}, budget: 20});
  if (answer.problems) {
    leftOut.push(`${scenario}: ${answer.problems[0].text}`);
    return null;
  }
  for (const [path, table] of Object.entries(beside)) if (yaml.includes(basename(path))) needed[path] = table;
  text[file] = yaml;  // once, however many items have it
  return {id, title, file, ...(settings ? {settings} : {}), answer};
}
const titleOf = name => name.replaceAll('_', ' ');
const groups = JSON.parse(read(here, 'examples.json')).map(group => {
  let items = group.items?.map(each => item(each.id, each.title, each.scenario, each.settings));
  if (group.schemes) {
    const of = item('', '', group.schemes), schemes = of.answer.knobs.find(knob => knob.key === 'scheme').choices;
    items = schemes.map(scheme => item('scheme-' + scheme, scheme, group.schemes, {scheme}));
  }
  if (group.folder)
    items = readdirSync(join(source, group.folder)).filter(name => name.endsWith('.yaml')).sort()
      .map(name => item(name.slice(0, -5), titleOf(name.slice(0, -5)), `${group.folder}/${name}`));
  return {title: group.title, items: items.filter(Boolean).map(({answer, ...each}) => each)};
});
const known = new Set();
for (const group of groups) group.items = group.items.filter(({id}) => !known.has(id) && known.add(id));
groups[0].files = Object.entries(needed);
const licenceText = [['LLVM (libc++)', licences[0]], ['musl (wasi-libc)', licences[1]], ['yaml-cpp', licences[2]], ['fmt', licences[3]]]
  .filter(([, path]) => path && existsSync(path)).map(([name, path]) => `${name}\n\n${read(path)}`);
for (const file of ['echarts/NOTICE', 'echarts/LICENSE', 'echarts/licenses/LICENSE-d3', 'zrender/LICENSE', 'tslib/LICENSE.txt'])
  licenceText.push(`${file}\n\n${read(packages, file)}`);

const script = words => words.replaceAll('</script', '<\\/script');
const escaped = words => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const web = name => read(source, 'scenarios/report/web', name);
const picture = read(source, 'docs/images/quickstart.svg').replace(/<\?xml.*?\?>/, '');
const parts = {
  style: about.style + web('page.css') + read(source, 'scenarios/serve/page.css') + read(here, 'web/page.css'),
  version: about.version,
  picture,
  licences: escaped(licenceText.join('\n\n')),
  core: gzipSync(wasm, {level: 9}).toString('base64'),
  worker: script(read(here, 'system.js') + read(here, 'worker.js')),
  data: script(JSON.stringify({examples: groups, text, labs: JSON.parse(read(here, 'labs.json'))})),
  charts: script([read(packages, 'echarts/dist/echarts.min.js'), about.phases,
    ...about.scripts.map(name => web(name + '.js')),
    read(source, 'scenarios/serve/what_if.js')].join('\n')),
  app: script(["'use strict';\nconst byId = id => document.getElementById(id);\nconst straggler = window.straggler;",
    ...['client', 'address', 'images', 'editor', 'page'].map(name => read(here, 'web', name + '.js'))].join('\n')),
};
const html = read(here, 'web/page.html').replace(/\{\{(\w+)\}\}/g, (mark, name) => {
  if (!(name in parts)) throw new Error(`page.html asks for ${name}`);
  return parts[name];
});
const most = 5e6;
if (html.length > most) throw new Error(`the page has ${html.length} bytes; it may have ${most}`);
writeFileSync(out, html);
console.log(`${out}: ${(html.length / 1e6).toFixed(2)} MB, core ${(wasm.length / 1e6).toFixed(2)} MB, ${known.size} examples`);
for (const each of leftOut) console.log(`left out: ${each}`);
