// What the page shows, as its address after "#": an example by its name or a scenario's text, packed, and the settings that were moved.
const packing = {
  /// Read part by part: of a Response whose bytes are damaged Firefox complains on its console, even where that is expected.
  async through({writable, readable}, bytes) {
    const writer = writable.getWriter(), reader = readable.getReader(), parts = [];
    writer.write(bytes).then(() => writer.close()).catch(() => {});  // which the reader is told, too
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  },
  async pack(text) {
    const packed = await packing.through(new CompressionStream('deflate-raw'), new TextEncoder().encode(text));
    return btoa(Array.from(packed, byte => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  },
  async unpack(word) {
    const packed = Uint8Array.from(atob(word.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
    return new TextDecoder().decode(await packing.through(new DecompressionStream('deflate-raw'), packed));
  },
};

/// {example} or {yaml}, {settings}, {lab}, {step} (from 0), {presenter}; nothing that is not there. An address that cannot be read throws.
async function readAddress(hash) {
  const said = new URLSearchParams(hash.replace(/^#/, '')), shown = {settings: {}};
  for (const [key, value] of said) {
    if (key === 'yaml') shown.yaml = await packing.unpack(value);
    else if (key === 'example' || key === 'lab') shown[key] = value;
    else if (key === 'step') shown.step = Math.max(0, (Number.parseInt(value, 10) || 1) - 1);
    else if (key === 'present') shown.presenter = true;
    else if (key.startsWith('set.')) shown.settings[key.slice(4)] = settingOf(value);
  }
  return shown;
}
/// "true" and numbers are what they say; all else is a word.
const settingOf = text => text === 'true' ? true : text === 'false' ? false : text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

async function addressOf({example, yaml, settings, lab, step, presenter}) {
  const said = new URLSearchParams();
  if (yaml !== undefined) said.set('yaml', await packing.pack(yaml));
  else said.set('example', example);
  for (const [key, value] of Object.entries(settings)) said.set('set.' + key, String(value));
  if (lab) said.set('lab', lab);
  if (lab && step) said.set('step', String(step + 1));
  if (presenter) said.set('present', '1');
  return '#' + said;
}
