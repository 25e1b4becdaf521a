// Images that people bring: IDX files (yann.lecun.com/exdb/mnist), plain or packed by gzip. The first ones become the files that the
// scenario's `data: fashion_mnist` reads.
const images = {folder: 'usr/share/datasets/fashion-mnist', train: 2000, test: 500};

async function unpacked(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1F || bytes[1] !== 0x8B) return bytes;
  try {
    return await packing.through(new DecompressionStream('gzip'), bytes);
  } catch {
    throw new Error(`${file.name}: is packed by gzip and damaged; get the whole file`);
  }
}

/// {name, dimensions, bytes} of an IDX file of bytes; throws a sentence.
async function idxOf(file) {
  const bytes = await unpacked(file), view = new DataView(bytes.buffer), count = bytes[3];
  if (bytes.length < 8 || bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== 8 || (count !== 1 && count !== 3))
    throw new Error(`${file.name}: is no IDX file of images or labels; give the files of Fashion-MNIST or MNIST`);
  const dimensions = Array.from({length: count}, (_, i) => view.getUint32(4 + 4 * i)), start = 4 + 4 * count;
  if (bytes.length !== start + dimensions.reduce((a, b) => a * b)) throw new Error(`${file.name}: is not as long as its head says; get the whole file`);
  return {name: file.name, dimensions, data: bytes.subarray(start)};
}

function part(idx, from, count) {
  const size = idx.dimensions.slice(1).reduce((a, b) => a * b, 1), rank = idx.dimensions.length;
  const bytes = new Uint8Array(4 + 4 * rank + count * size), view = new DataView(bytes.buffer);
  bytes.set([0, 0, 8, rank]);
  [count, ...idx.dimensions.slice(1)].forEach((each, i) => view.setUint32(4 + 4 * i, each));
  bytes.set(idx.data.subarray(from * size, (from + count) * size), 4 + 4 * rank);
  return bytes;
}

/// Files for the core by path, and a sentence.
async function imagesFrom(files) {
  const all = await Promise.all(files.map(idxOf)), isTest = each => /t10k|test/i.test(each.name);
  const pick = (rank, test) => all.find(each => each.dimensions.length === rank && isTest(each) === test);
  const pairs = [false, true].map(test => [pick(3, test), pick(1, test)]).filter(([pictures, labels]) => pictures && labels);
  if (!pairs.length) throw new Error('The images and the labels that belong to them are needed: at least two files, called as Fashion-MNIST calls them');
  for (const [pictures, labels] of pairs)
    if (pictures.dimensions[0] !== labels.dimensions[0])
      throw new Error(`${pictures.name} has ${pictures.dimensions[0]} images and ${labels.name} ${labels.dimensions[0]} labels; they must belong together`);
  const [train, test] = pairs.length === 2 ? pairs : [pairs[0], pairs[0]], from = pairs.length === 2 ? 0 : images.train;
  if (train[0].dimensions[0] < images.train || test[0].dimensions[0] < from + images.test)
    throw new Error(`There are too few images: ${images.train} to train and ${images.test} to test are needed`);
  const made = {};
  for (const [half, [pictures, labels], first, count] of [['train', train, 0, images.train], ['t10k', test, from, images.test]]) {
    made[`${images.folder}/${half}-images-idx3-ubyte`] = part(pictures, first, count);
    made[`${images.folder}/${half}-labels-idx1-ubyte`] = part(labels, first, count);
  }
  return made;
}
