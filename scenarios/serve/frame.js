// Around a result's page: shows it in a frame that knows no token and cannot leave this server, and follows its links within the folder.
const frame = document.querySelector('iframe');
frame.src = frame.dataset.src + location.hash;
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
