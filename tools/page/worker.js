// The worker of the page, behind system.js: answers one question after another. {wasm} starts it, {files} gives it files by path.
let core;
const begun = new Promise((started, failed) => {
  self.addEventListener('message', async ({data}) => {
    if (!data.wasm) return;
    try {
      core = await openCore(data.wasm, {progress: (fraction, accuracy) => self.postMessage({fraction, accuracy}), say: () => {}});
      self.postMessage({ready: true});
      started();
    } catch (problem) {
      self.postMessage({broken: String(problem)});
    }
  });
});
self.addEventListener('message', async ({data}) => {
  if (data.wasm) return;
  await begun;
  if (data.files) {
    for (const [path, bytes] of Object.entries(data.files)) core.files.put(path, bytes);
    return;
  }
  const {id, name, question, folder} = data;
  try {
    if (folder !== undefined) {  // the tables there
      const inside = core.files.within(Files.plain(folder)).filter(([, file]) => !file.folder).map(([file, {bytes, size}]) => [file, bytes.slice(0, size)]);
      self.postMessage({id, answer: {files: inside}});
      return;
    }
    self.postMessage({id, answer: core.answer(name, question)});
  } catch (problem) {  // memory or stack ran out in the midst of work: this core is of no use any more
    self.postMessage({id, broken: String(problem)});
  }
});
