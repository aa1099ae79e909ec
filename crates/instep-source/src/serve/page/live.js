// What a page shows without this it shows with it too: this adds a button to copy, and changes while they happen.
const made = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind || '' });

for (const line of document.querySelectorAll('.copy')) {
  const button = made('button', 'Copy');
  button.addEventListener('click', () => {
    const range = document.createRange();
    range.selectNodeContents(line.querySelector('code'));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) navigator.clipboard.writeText(line.querySelector('code').textContent).catch(() => {});
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  line.append(button);
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
    document.querySelector('[data-figure=published]').textContent = now.published.slice(11, 19);
  };
  new EventSource(events).addEventListener('changes', event => {
    if (table.dataset.empty) { body.textContent = ''; delete table.dataset.empty; }
    JSON.parse(event.data).forEach(show);
    refresh().catch(() => {});
  });
}
