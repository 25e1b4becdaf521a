// Around a result's page: shows it in a frame that knows no token and cannot leave this server, and follows its links within the folder.
const source = document.body.dataset.src;  // serves once
const frame = document.createElement('iframe');
frame.name = source;  // another one each time: a browser that goes back must not ask again for what it showed before
frame.title = document.title;
frame.sandbox = 'allow-scripts allow-downloads allow-modals';
frame.referrerPolicy = 'no-referrer';
frame.src = source + location.hash;
document.body.append(frame);
addEventListener('message', (event) => {
  if (event.source !== frame.contentWindow || typeof event.data?.follow !== 'string') return;
  const folder = location.pathname.split('/', 3).join('/') + '/';  // /files/TOKEN/
  let to;
  try {
    to = new URL(event.data.follow, location.href);
  } catch {
    return;
  }
  if (to.origin === location.origin && to.pathname.startsWith(folder)) location.assign(to.pathname + to.hash);
});
