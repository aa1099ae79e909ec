// Pages are complete without this script. It adds buttons to copy a command, and shows changes as they happen.
const made = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind || '' });

const addCopyButtons = () => {
  for (const line of document.querySelectorAll('.copy:not(:has(button))')) {
    const button = made('button', 'Copy');
    button.addEventListener('click', () => {
      const code = line.querySelector('code');
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).catch(() => {});
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
    line.append(button);
  }
};
addCopyButtons();

// Reads a page again that is out of date, but not while somebody uses a part of it.
const { events: outdated } = document.body.dataset;
if (outdated) {
  const main = document.getElementById('content');
  let isReading = false;
  new EventSource(outdated).addEventListener('changed', async () => {
    if (isReading || main.contains(document.activeElement) || getSelection().toString()) return;
    isReading = true;
    try {
      const text = await (await fetch(location.href)).text();
      const now = new DOMParser().parseFromString(text, 'text/html').getElementById('content');
      main.replaceChildren(...now.childNodes);
      addCopyButtons();
    } catch (error) {
      console.warn('The page could not be read again', error);
    }
    isReading = false;
  });
}

const table = document.getElementById('changes');
if (table) {
  const { base, events, status, resource } = table.dataset;
  const body = table.tBodies[0];
  const show = change => {
    const row = body.insertRow(0);
    row.className = 'fresh';
    const moment = made('time', change.datetime.slice(0, 19).replace('T', ' '));
    moment.dateTime = change.datetime;
    const link = made('a', change.uri.startsWith(base) ? change.uri.slice(base.length) : change.uri);
    link.href = change.change === 'deleted' ? change.uri : resource + encodeURIComponent(change.uri);
    for (const content of [moment, made('span', change.change, 'kind ' + change.change), link]) row.insertCell().append(content);
    if (body.rows.length > 50) body.deleteRow(-1);
  };
  const refresh = async () => {
    const now = await (await fetch(status)).json();
    const sum = field => now.sets.reduce((total, set) => total + set[field], 0);
    document.querySelector('[data-figure=resources]').textContent = sum('resources').toLocaleString('en');
    document.querySelector('[data-figure=published]').textContent = 'just now';
  };
  new EventSource(events).addEventListener('changes', event => {
    if (table.dataset.empty) { body.textContent = ''; delete table.dataset.empty; }
    JSON.parse(event.data).forEach(show);
    refresh().catch(() => {});
  });
}
