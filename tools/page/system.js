// What the core asks of a system (WASI, preview 1): clocks, random bytes, and files, which stand in memory. The page's worker has it, and
// tests in node.
'use strict';

const errors = {BADF: 8, EXIST: 20, INVAL: 28, ISDIR: 31, NOENT: 44, NOSYS: 52, NOTDIR: 54, NOTEMPTY: 55};
const kinds = {device: 2, folder: 3, file: 4};

/// Files by their paths from the root, without a slash in front: "page/out/curve.csv". A folder has no bytes.
class Files {
  constructor() { this.all = new Map([['', {folder: true}]]); }
  static parent(path) { return path.slice(0, Math.max(path.lastIndexOf('/'), 0)); }
  static plain(path) {
    const parts = [];
    for (const part of path.split('/')) {
      if (part === '..') parts.pop();
      else if (part && part !== '.') parts.push(part);
    }
    return parts.join('/');
  }
  get(path) { return this.all.get(Files.plain(path)); }
  folder(path) {
    for (let at = Files.plain(path); at && !this.all.has(at); at = Files.parent(at)) this.all.set(at, {folder: true});
  }
  put(path, bytes) {
    const plain = Files.plain(path);
    this.folder(Files.parent(plain));
    this.all.set(plain, {bytes, size: bytes.length});
  }
  bytes(path) {
    const file = this.get(path);
    return file && !file.folder ? file.bytes.subarray(0, file.size) : undefined;
  }
  /// [name, file] of what stands right in a folder.
  within(path) {
    const start = path ? path + '/' : '';
    return [...this.all].filter(([name]) => name !== path && name.startsWith(start) && !name.slice(start.length).includes('/'))
      .map(([name, file]) => [name.slice(start.length), file]);
  }
  remove(path) {
    for (const name of [...this.all.keys()]) if (name === path || name.startsWith(path + '/')) this.all.delete(name);
  }
}

function write(file, at, from) {
  const end = at + from.length;
  if (end > file.bytes.length) {
    const larger = new Uint8Array(Math.max(end, 2 * file.bytes.length, 4096));
    larger.set(file.bytes.subarray(0, file.size));
    file.bytes = larger;
  }
  file.bytes.set(from, at);
  file.size = Math.max(file.size, end);
}

/// The imports of the core. `memory()` is its memory, `say` gets what it prints.
function systemOf(files, memory, say) {
  const text = new TextDecoder();
  const view = () => new DataView(memory().buffer);
  const part = (at, bytes) => new Uint8Array(memory().buffer, at, bytes);
  const named = (at, bytes) => text.decode(part(at, bytes).slice());
  const open = new Map([[3, {path: '', node: files.get('')}]]);  // by descriptor; 3 is the root
  let next = 4;
  const below = (descriptor, at, bytes) => Files.plain((open.get(descriptor)?.path ?? '') + '/' + named(at, bytes));
  const parts = function*(vectors, count) {
    for (let i = 0; i < count; ++i) yield part(view().getUint32(vectors + 8 * i, true), view().getUint32(vectors + 8 * i + 4, true));
  };
  const numbers = new WeakMap();
  let named_ = 0;
  const state = (node, at) => {
    if (!numbers.has(node)) numbers.set(node, ++named_);
    part(at, 64).fill(0);
    view().setBigUint64(at + 8, BigInt(numbers.get(node)), true);
    view().setUint8(at + 16, node.folder ? kinds.folder : kinds.file);
    view().setBigUint64(at + 24, 1n, true);
    view().setBigUint64(at + 32, BigInt(node.size ?? 0), true);
    return 0;
  };
  const none = (sizes, bytes) => {
    view().setUint32(sizes, 0, true);
    view().setUint32(bytes, 0, true);
    return 0;
  };
  const calls = {
    clock_time_get(id, precision, at) {
      view().setBigUint64(at, BigInt(Math.round((id === 0 ? Date.now() : performance.now()) * 1e6)), true);
      return 0;
    },
    clock_res_get(id, at) {
      view().setBigUint64(at, 1000n, true);
      return 0;
    },
    random_get(at, bytes) {
      for (let done = 0; done < bytes; done += 65536) crypto.getRandomValues(part(at + done, Math.min(65536, bytes - done)));
      return 0;
    },
    environ_sizes_get: none, environ_get: () => 0, args_sizes_get: none, args_get: () => 0, sched_yield: () => 0,
    proc_exit(code) { throw new Error('the core ended with ' + code); },
    fd_prestat_get(descriptor, at) {
      if (descriptor !== 3) return errors.BADF;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name(descriptor, at) {
      part(at, 1)[0] = 47;
      return 0;
    },
    fd_fdstat_get(descriptor, at) {
      const file = open.get(descriptor);
      if (!file && descriptor > 2) return errors.BADF;
      part(at, 24).fill(0);
      view().setUint8(at, !file ? kinds.device : file.node.folder ? kinds.folder : kinds.file);
      view().setBigUint64(at + 8, ~0n & 0xFFFFFFFFFFFFFFFFn, true);
      view().setBigUint64(at + 16, ~0n & 0xFFFFFFFFFFFFFFFFn, true);
      return 0;
    },
    fd_fdstat_set_flags: () => 0, fd_sync: () => 0, fd_datasync: () => 0, fd_advise: () => 0,
    path_filestat_set_times: () => 0, fd_filestat_set_times: () => 0,
    path_open(root, follow, name, bytes, how, rights, inherited, flags, at) {
      const path = below(root, name, bytes), [make, wantsFolder, isNew, empty] = [1, 2, 4, 8].map(flag => (how & flag) !== 0);
      let node = files.get(path);
      if (node && isNew) return errors.EXIST;
      if (node && wantsFolder && !node.folder) return errors.NOTDIR;
      if (!node) {
        if (!make || !files.get(Files.parent(path))) return errors.NOENT;
        files.put(path, new Uint8Array(0));
        node = files.get(path);
      }
      if (empty && !node.folder) node.size = 0;
      open.set(next, {path, node, place: (flags & 1) !== 0 ? node.size : 0});
      view().setUint32(at, next++, true);
      return 0;
    },
    fd_close(descriptor) { return open.delete(descriptor) ? 0 : errors.BADF; },
    fd_read(descriptor, vectors, count, at) {
      const file = open.get(descriptor);
      if (!file) return errors.BADF;
      if (file.node.folder) return errors.ISDIR;
      let all = 0;
      for (const to of parts(vectors, count)) {
        const from = file.node.bytes.subarray(file.place, Math.min(file.place + to.length, file.node.size));
        to.set(from);
        file.place += from.length;
        all += from.length;
      }
      view().setUint32(at, all, true);
      return 0;
    },
    fd_write(descriptor, vectors, count, at) {
      const file = open.get(descriptor);
      if (!file && descriptor > 2) return errors.BADF;
      let all = 0;
      for (const from of parts(vectors, count)) {
        if (file) {
          write(file.node, file.place, from);
          file.place += from.length;
        } else {
          say(text.decode(from.slice()));
        }
        all += from.length;
      }
      view().setUint32(at, all, true);
      return 0;
    },
    fd_seek(descriptor, by, from, at) {
      const file = open.get(descriptor);
      if (!file) return errors.BADF;
      const place = Number(by) + [0, file.place, file.node.size][from];
      if (place < 0) return errors.INVAL;
      file.place = place;
      view().setBigUint64(at, BigInt(place), true);
      return 0;
    },
    fd_filestat_get(descriptor, at) { return open.has(descriptor) ? state(open.get(descriptor).node, at) : errors.BADF; },
    fd_filestat_set_size(descriptor, size) {
      const {node} = open.get(descriptor);
      if (Number(size) > node.size) write(node, node.size, new Uint8Array(Number(size) - node.size));
      node.size = Number(size);
      return 0;
    },
    path_filestat_get(root, follow, name, bytes, at) {
      const node = files.get(below(root, name, bytes));
      return node ? state(node, at) : errors.NOENT;
    },
    path_create_directory(root, name, bytes) {
      const path = below(root, name, bytes);
      if (files.get(path)) return errors.EXIST;
      if (!files.get(Files.parent(path))) return errors.NOENT;
      files.folder(path);
      return 0;
    },
    path_unlink_file(root, name, bytes) {
      const path = below(root, name, bytes), node = files.get(path);
      if (!node) return errors.NOENT;
      if (node.folder) return errors.ISDIR;
      files.remove(path);
      return 0;
    },
    path_remove_directory(root, name, bytes) {
      const path = below(root, name, bytes), node = files.get(path);
      if (!node) return errors.NOENT;
      if (!node.folder) return errors.NOTDIR;
      if (files.within(path).length) return errors.NOTEMPTY;
      files.remove(path);
      return 0;
    },
    path_rename(root, name, bytes, toRoot, toName, toBytes) {
      const path = below(root, name, bytes), to = below(toRoot, toName, toBytes);
      if (!files.get(path)) return errors.NOENT;
      const moved = [...files.all].filter(([each]) => each === path || each.startsWith(path + '/'));
      files.remove(path);
      files.remove(to);
      for (const [each, node] of moved) files.all.set(to + each.slice(path.length), node);
      return 0;
    },
    path_readlink: () => errors.INVAL,
    fd_readdir(descriptor, at, bytes, from, used) {
      const folder = open.get(descriptor);
      if (!folder?.node.folder) return errors.NOTDIR;
      const inside = files.within(folder.path), encoder = new TextEncoder();
      let done = 0;
      for (let i = Number(from); i < inside.length && done < bytes; ++i) {
        const [name, node] = inside[i], encoded = encoder.encode(name), entry = new Uint8Array(24 + encoded.length), head = new DataView(entry.buffer);
        head.setBigUint64(0, BigInt(i + 1), true);
        head.setUint32(16, encoded.length, true);
        head.setUint8(20, node.folder ? kinds.folder : kinds.file);
        entry.set(encoded, 24);
        const fits = entry.subarray(0, bytes - done);
        part(at + done, fits.length).set(fits);
        done += fits.length;
      }
      view().setUint32(used, done, true);
      return 0;
    },
  };
  return new Proxy(calls, {get: (all, name) => all[name] ?? (() => errors.NOSYS)});
}

/// The core, ready: answer(name, question) is its answer, or throws where it broke. `progress(fraction, accuracy)` is called meanwhile.
async function openCore(wasm, {progress, say}) {
  const files = new Files();
  let core;
  const system = systemOf(files, () => core.memory, say);
  const module = await WebAssembly.compile(wasm);
  const imports = {page: {progress}};
  for (const {module: from, name} of WebAssembly.Module.imports(module)) if (from !== 'page') (imports[from] ??= {})[name] = system[name];
  core = (await WebAssembly.instantiate(module, imports)).exports;
  core._initialize();
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const given = (words) => {
    const bytes = encoder.encode(words + '\0'), at = core.take(bytes.length);
    new Uint8Array(core.memory.buffer).set(bytes, at);
    return at;
  };
  return {
    files,
    answer(name, question) {
      const places = [given(name), given(JSON.stringify(question))], at = core.answer(...places);
      const all = new Uint8Array(core.memory.buffer), answer = decoder.decode(all.subarray(at, all.indexOf(0, at)));
      for (const place of [...places, at]) core.give(place);
      return JSON.parse(answer);
    },
    bytesUsed: () => core.memory.buffer.byteLength,
  };
}
