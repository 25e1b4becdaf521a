// The core in its worker. A worker that broke, or was cancelled, is replaced.
class Core {
  constructor() {
    this.files = {};
    this.asked = new Map();
    this.next = 0;
    this.progress = () => {};
  }
  /// Unpacks and starts it; false: this browser cannot.
  async start() {
    if (typeof WebAssembly === 'undefined' || typeof DecompressionStream === 'undefined' || typeof Worker === 'undefined') return false;
    try {
      const packed = Uint8Array.from(atob(byId('core').textContent), c => c.charCodeAt(0));
      this.wasm = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
      if (!WebAssembly.validate(this.wasm)) return false;
      this.script = URL.createObjectURL(new Blob([byId('worker').textContent], {type: 'text/javascript'}));
    } catch {
      return false;
    }
    this.begin();
    return this.ready;
  }
  begin() {
    this.worker = new Worker(this.script);
    this.ready = new Promise(done => {
      this.worker.onmessage = ({data}) => {
        if (data.ready) done(true);
        else if (data.fraction !== undefined) this.progress(data.fraction, data.accuracy);
        else if (data.id === undefined) done(false);
        else this.answered(data);
      };
      this.worker.onerror = () => done(false);
    });
    this.worker.postMessage({wasm: this.wasm});
    if (Object.keys(this.files).length) this.worker.postMessage({files: this.files});
  }
  /// Another one, for long work: sliders are answered meanwhile.
  twin() {
    const made = Object.assign(new Core(), {wasm: this.wasm, script: this.script, files: {...this.files}});
    made.begin();
    return made;
  }
  answered({id, answer, broken}) {
    const waiting = this.asked.get(id);
    this.asked.delete(id);
    if (!waiting) return;
    if (broken !== undefined) {
      waiting.refused(Object.assign(new Error('The simulator ran out of memory or of stack; take fewer workers or a smaller network, or take the scenario home.'),
        {status: 422, detail: broken, problems: []}));
      this.again();
      return;
    }
    if (answer.problems) {
      const words = answer.problems.map(each => each.text).join('\n');
      waiting.refused(Object.assign(new Error(words), {status: 422, problems: answer.problems}));
      return;
    }
    waiting.done(answer);
  }
  send(message) {
    return new Promise((done, refused) => {
      this.asked.set(++this.next, {done, refused});
      this.worker.postMessage({id: this.next, ...message});
    });
  }
  ask(name, question) { return this.send({name, question}); }
  /// [name, bytes] of the tables in a folder.
  async tables(folder) { return (await this.send({folder})).files; }
  give(files) {
    Object.assign(this.files, files);
    this.worker.postMessage({files});
  }
  /// Ends what it does, and starts another.
  again() {
    this.worker.terminate();
    for (const {refused} of this.asked.values()) refused(Object.assign(new Error('Cancelled.'), {status: 499, problems: []}));
    this.asked.clear();
    this.begin();
  }
}
