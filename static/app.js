// The pages work without this module; it only makes them live. It keeps the words for times right,
// follows what the page shows over one stream for the whole browser, and puts what arrives in its
// place without moving the reader. The shared worker that holds the stream runs it, too.

const beatEvery = 15_000; // the server's heartbeat, in ms
const quietAfter = 2 * beatEvery + 5_000; // two missed
const lookEvery = 5_000; // how often somebody looks whether it is quiet

// One stream per browser: it opens six connections to a host, so a stream per tab would hang the
// seventh. The hub owns the EventSource; it runs in a shared worker, in a tab that leads the
// others, or in each tab for itself.
//
// Tabs say {follow: {topic: position}, wake}, {pong} or {bye}. They are told {state}, {beat} and the
// messages of the stream.
function newHub() {
  const tabs = new Map(); // by name: {send, missed}
  // By name: {at: the position of each tab, head: the one the stream has reached, tried}.
  // A message leads on from head, so it is for the tabs that are at head: what another tab, which slept
  // while the history was edited, made of it could be wrong for ever. Such positions are tried one after
  // the other, the lowest first; the server answers each with what it lacks, or with a reset.
  const topics = new Map();
  const settle = 1_000, join = 200, leave = 10_000; // ms until the stream is opened again
  let source, timer, due = Infinity, opened = 0, life = 0, fails = 0, looked = 0, state = 'closed';

  const tell = (s) => {
    state = s;
    for (const tab of tabs.values()) tab.send({ state });
  };
  const unplan = () => {
    clearTimeout(timer);
    due = Infinity;
  };
  const plan = (wait) => {
    const at = Date.now() + wait;
    if (at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(open, wait);
  };
  const isSettled = (t) => [...t.at.values()].every((p) => t.tried.has(p));
  const count = (position) => parseInt(position) || 0;

  // doubt makes the positions be asked for again: the server, or the log, may be another one.
  const doubt = () => topics.forEach((t) => t.tried.clear());

  function open() {
    unplan();
    source?.close();
    source = undefined;
    if (!topics.size) return tell('closed');
    const follow = [];
    for (const [name, t] of topics) {
      const all = [...t.at.values()];
      const left = all.filter((p) => !t.tried.has(p)).sort((a, b) => count(a) - count(b));
      t.head = left.length ? left[0] : all.includes(t.head) ? t.head : all[0];
      t.tried.add(t.head);
      follow.push('follow=' + encodeURIComponent(name + '@' + t.head));
    }
    opened = life = Date.now();
    source = new EventSource('/live?' + follow.join('&'));
    source.onopen = () => {
      life = Date.now();
      tell('open');
      if (![...topics.values()].every(isSettled)) plan(settle);
    };
    source.onmessage = (e) => receive(JSON.parse(e.data));
    source.addEventListener('heartbeat', beat);
    source.onerror = failed;
    tell('trying');
  }

  // The browser's own reconnection would ask from the address's positions, and end at a refusal.
  async function failed() {
    const { url, readyState } = source;
    source.close();
    source = undefined;
    if (state === 'open' && Date.now() - opened > lookEvery) fails = 0;
    plan(Math.min(30_000, 500 * 2 ** fails++) * (0.5 + Math.random() / 2));
    doubt();
    tell('failing');
    if (readyState !== EventSource.CLOSED || Date.now() - looked < lookEvery) return;
    looked = Date.now(); // only fetch tells how it was refused
    const stop = new AbortController();
    try {
      const answer = await fetch(url, { signal: stop.signal, cache: 'no-store' });
      stop.abort();
      if (source) return;
      const seconds = parseInt(answer.headers.get('Retry-After'), 10);
      if (answer.status === 204 || answer.status === 404) { // nothing to come, or no streams here
        unplan();
        tell('ended');
      } else if (answer.status === 401) { // until somebody looks at a tab again
        unplan();
        tell('locked');
      } else if (seconds > 0) {
        unplan();
        plan(seconds * 1_000 * (1 + Math.random() / 2));
      }
    } catch {
      // The planned attempt will see.
    }
  }

  function beat() {
    life = Date.now();
    fails = 0;
    for (const [name, tab] of tabs) {
      if (++tab.missed > 4) drop(name);
      else tab.send({ beat: true });
    }
  }

  function receive(m) {
    life = Date.now();
    fails = 0;
    if (m.event === 'heartbeat') return beat();
    const t = topics.get(m.topic);
    if (!t) return;
    const all = m.event !== 'entries' && m.event !== 'reset';
    const moves = m.id && m.event !== 'reset';
    for (const [tab, position] of t.at) {
      if (!all && position !== t.head) continue;
      tab.send(m);
      if (moves) t.at.set(tab, m.id);
      else if (m.event === 'reset') t.at.delete(tab);
    }
    if (moves) {
      t.head = m.id;
      t.tried = new Set([m.id]);
      if (!isSettled(t)) plan(settle);
    }
    if (m.event === 'gone' || !t.at.size) topics.delete(m.topic);
    else if (m.event === 'reset') {
      t.tried.clear();
      plan(join);
    }
  }

  function drop(name) {
    unfollow(tabs.get(name), {});
    if (!tabs.delete(name)) return;
    if (topics.size) plan(leave);
    else open();
  }

  function unfollow(tab, wanted) {
    for (const [name, t] of topics) {
      if (!(name in wanted) && t.at.delete(tab) && !t.at.size) topics.delete(name);
    }
  }

  function hear(name, send, { follow, wake, bye }) {
    if (bye) return drop(name);
    const me = tabs.get(name) ?? { send };
    me.missed = 0;
    if (!follow) return;
    tabs.set(name, me);
    unfollow(me, follow);
    me.send({ state });
    for (const [topic, position] of Object.entries(follow)) {
      let t = topics.get(topic);
      if (!t) topics.set(topic, (t = { at: new Map(), tried: new Set() }));
      if (t.at.get(me) === position && state !== 'ended') continue;
      t.at.set(me, position);
      // Even one that is at head is told what is said beside the entries.
      if (position !== t.head) t.tried.clear();
      plan(join);
    }
    if (!wake || Date.now() - opened < 1_000) return;
    fails = looked = 0;
    doubt();
    open();
  }

  const watch = setInterval(() => {
    if (!source || Date.now() - life < quietAfter) return;
    doubt();
    open();
  }, lookEvery);

  function close() {
    clearInterval(watch);
    unplan();
    source?.close();
    source = undefined;
  }

  return { hear, close };
}

function serveTabs() {
  const hub = newHub();
  let names = 0;
  self.onconnect = ({ ports: [port] }) => {
    const name = ++names;
    const hear = (message) => hub.hear(name, (m) => port.postMessage(m), message);
    port.onmessage = (e) => hear(e.data);
    port.onclose = () => hear({ bye: true }); // a tab that died; where there is no such event, pongs tell
  };
}

// Ways to the hub: functions of hear, called with what the hub sends, of again, which asks the tab to say
// anew what it follows, and of lost, called when there is no such way. Each returns {say, close}.

function throughWorker(hear, again, lost) {
  const worker = new SharedWorker(policy.createScriptURL(import.meta.url), { type: 'module', name: 'serve-web' });
  worker.onerror = lost;
  worker.port.onmessage = (e) => hear(e.data);
  return {
    say: (message) => worker.port.postMessage(message),
    close() {
      worker.port.postMessage({ bye: true });
      worker.port.close();
    },
  };
}

function throughLeader(hear, again, lost, steal) {
  const me = crypto.randomUUID();
  const channel = new BroadcastChannel('serve-web');
  const waiting = new AbortController();
  let hub, release;
  const say = (message) => {
    if (hub) hub.hear(me, hear, message);
    else channel.postMessage({ from: me, message });
  };
  channel.onmessage = ({ data: { from, to, message } }) => {
    if (to === me) hear(message);
    else if (from) hub?.hear(from, (m) => channel.postMessage({ to: from, message: m }), message);
    else if (!to) again(); // there is a new leader
  };
  (async function lead(options) {
    try {
      await navigator.locks.request('serve-web', options, () => {
        hub = newHub();
        channel.postMessage({});
        again();
        return new Promise((resolve) => (release = resolve));
      });
    } catch {
      // Another tab took the lead, because this one did not answer it, and was not heard to say so.
    }
    hub?.close();
    hub = undefined;
    if (waiting.signal.aborted) return;
    again();
    lead({ signal: waiting.signal });
  })(steal ? { steal } : { signal: waiting.signal });
  return {
    say,
    close() {
      say({ bye: true });
      waiting.abort();
      release?.();
      hub?.close();
      channel.close();
    },
  };
}

// With a stream for each tab, only those that are looked at may have one.
function alone(hear) {
  const hub = newHub();
  const say = (message) => hub.hear('tab', hear, message);
  const turn = () => document.hidden && say({ bye: true });
  document.addEventListener('visibilitychange', turn);
  return {
    say,
    close() {
      document.removeEventListener('visibilitychange', turn);
      hub.close();
    },
  };
}

// The one policy of Trusted Types. HTML comes from the server that sent the page, which made it safe
// by the same path; it is only ever parsed into a template, where nothing runs or loads. The only
// script is this file.
const rules = {
  createHTML: (html) => html,
  createScriptURL(url) {
    if (url !== import.meta.url) throw new TypeError('not the script of this page');
    return url;
  },
};
let policy = rules;

function parse(html) {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  return template.content;
}

function make(name, attributes, ...content) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...content);
  return e;
}

// morph makes an element like another one and keeps every node that need not change, so that selection,
// focus, folds and inner scrollers survive. Whether a fold is open is the reader's.
function morph(from, to) {
  morphAttributes(from, to);
  // Buttons are this script's.
  let old = [...from.childNodes].filter((n) => n.type !== 'button'), next = [...to.childNodes];
  const most = Math.min(old.length, next.length);
  let head = 0, tail = 0;
  while (head < most && old[head].isEqualNode(next[head])) head++;
  while (tail < most - head && old.at(-1 - tail).isEqualNode(next.at(-1 - tail))) tail++;
  let at = old[head] ?? null; // the place that has been reached among the old nodes
  old = old.slice(head, old.length - tail);
  next = next.slice(head, next.length - tail);
  const named = new Map(old.filter(nameOf).map((n) => [nameOf(n), n]));
  const left = new Set(old);
  for (const n of next) {
    const name = nameOf(n);
    const match = name ? named.get(name) : left.has(at) && !nameOf(at) ? at : undefined;
    if (!left.has(match) || match.nodeName !== n.nodeName) {
      from.insertBefore(n, at);
      continue;
    }
    left.delete(match);
    if (match === at) at = at.nextSibling;
    else if (from.moveBefore) from.moveBefore(match, at); // keeps focus
    else from.insertBefore(match, at);
    if (n.nodeType === Node.ELEMENT_NODE) morph(match, n);
    else morphText(match, n.data);
  }
  for (const n of left) n.remove();
}

const nameOf = (node) => node.id || node.dataset?.id;

function morphAttributes(from, to) {
  const isMine = (name) => (name === 'open' && from.localName === 'details') || name === 'data-unread' || name === 'tabindex';
  const wanted = [...to.attributes].filter((a) => !isMine(a.name));
  for (const a of [...from.attributes]) {
    if (!isMine(a.name) && !to.hasAttribute(a.name)) from.removeAttribute(a.name);
  }
  const now = [...from.attributes].filter((a) => !isMine(a.name));
  // In the server's order too, so that the page stays the one that the server would send.
  let same = true;
  wanted.forEach(({ name, value }, i) => {
    same &&= now[i]?.name === name;
    if (!same) from.removeAttribute(name);
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  });
}

// Replacing all of the text would collapse a selection in it.
function morphText(node, data) {
  const old = node.data, most = Math.min(old.length, data.length);
  let head = 0, tail = 0;
  while (head < most && old[head] === data[head]) head++;
  while (tail < most - head && old.at(-1 - tail) === data.at(-1 - tail)) tail++;
  if (head + tail < Math.max(old.length, data.length)) {
    node.replaceData(head, old.length - head - tail, data.slice(head, data.length - tail));
  }
}

// keepFocus runs change; an element that had focus and was moved by it has it again.
function keepFocus(change) {
  const had = document.activeElement;
  change();
  if (had !== document.activeElement && had?.isConnected) had.focus({ preventScroll: true });
}

// Times, in the server's words: web/time.go.
const months = 'January February March April May June July August September October November December'.split(' ');

function said(then, now) {
  const ago = now - then, minute = 60_000, hour = 60 * minute;
  const count = (n, unit) => `${n} ${unit}${n === 1 ? '' : 's'} ago`;
  const day = (t) => Date.UTC(t.getFullYear(), t.getMonth(), t.getDate()) / (24 * hour);
  const clock = then.toTimeString().slice(0, 5);
  const days = day(now) - day(then);
  if (Math.abs(ago) < minute) return 'just now';
  if (ago > 0 && ago < hour) return count(Math.floor(ago / minute), 'minute');
  if (days === 0) return ago < 0 ? `today ${clock}` : count(Math.floor(ago / hour), 'hour');
  if (days === 1) return `yesterday ${clock}`;
  const date = `${then.getDate()} ${months[then.getMonth()]}`;
  return then.getFullYear() === now.getFullYear() ? date : `${date} ${then.getFullYear()}`;
}

function refreshTimes(root = document) {
  const now = new Date();
  for (const time of root.querySelectorAll('time[datetime]')) {
    const then = new Date(time.dateTime);
    const words = isNaN(then) ? '' : said(then, now);
    if (words && time.textContent !== words) time.textContent = words;
  }
}

// newTranscript keeps the entries of a conversation, the reader's place among them, and what of them
// is unread.
function newTranscript(main, entries, announce) {
  const near = 64; // px to the bottom that still count as there
  const end = document.getElementById('end');
  const button = document.getElementById('unread');
  const outline = document.getElementById('outline');
  const steady = CSS.supports('overflow-anchor', 'auto'); // the browser holds the reader's place
  let waiting = [], frame, line, settling;
  let unread = 0, following = false, title = document.title;
  let gesture = 0, up = 0, folded = 0, held = false, touchAt = 0;
  let last = {};

  // Where the document does not scroll, an element around does.
  function scroller() {
    for (let e = entries; e && e !== document.body; e = e.parentElement) {
      if (e.scrollHeight > e.clientHeight && /auto|scroll/.test(getComputedStyle(e).overflowY)) return e;
    }
    return document.scrollingElement;
  }
  const under = () => document.getElementById('bar')?.getBoundingClientRect().bottom ?? 0;
  const measure = () => {
    const { scrollTop: top, scrollHeight: height, clientHeight: view } = scroller();
    const rest = document.getElementById('later') ? Infinity : height - view - top;
    return { top, height, view, rest };
  };
  const isSelecting = () => {
    const s = getSelection();
    return !s.isCollapsed && s.rangeCount > 0 && s.getRangeAt(0).intersectsNode(entries);
  };
  const isRecent = (time) => Date.now() - time < 1_000;

  // Entries that come into sight may be longer than they were thought to be, so the end is sought anew
  // until it stays.
  function toEnd(tries = 20) {
    const s = scroller();
    s.scrollTo({ top: s.scrollHeight, behavior: 'instant' });
    last = measure();
    cancelAnimationFrame(settling);
    if (tries && entries.className) settling = requestAnimationFrame(() => following && !held && measure().rest > 1 && toEnd(tries - 1));
  }

  // The place of the first thing in view, however far into an entry it is, or of the first entry of
  // which more is in view than the space that stays above one that was jumped to.
  function place(isDeep = true) {
    const top = under() + (isDeep ? 0 : 16);
    const inView = (children) => {
      const all = [...children].filter((e) => !e.hidden);
      let low = 0, high = all.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (all[middle].getBoundingClientRect().bottom > top) high = middle;
        else low = middle + 1;
      }
      return all[low];
    };
    let found, stretch = inView(entries.children), first;
    while (stretch && !(first = inView(stretch.children))) stretch = stretch.nextElementSibling;
    for (let e = first; e; e = isDeep && e.getBoundingClientRect().top < top && inView(e.children)) found = e;
    return found && { element: found, top: found.getBoundingClientRect().top };
  }
  const putBack = ({ element, top }) => {
    const moved = element.getBoundingClientRect().top - top;
    if (moved) scroller().scrollBy({ top: moved, behavior: 'instant' });
  };

  function show() {
    if (button) {
      button.hidden = !unread || following;
      if (unread) button.textContent = `${unread} new`;
    }
    const words = document.hidden && unread ? `(${unread}) ${title}` : title;
    if (document.title !== words) document.title = words;
  }
  function seen() {
    if (document.hidden || measure().rest > near) return;
    unread = 0;
    show();
  }

  const order = ({ id, dataset }) => (dataset?.event ? `e${dataset.event}-9999` : id).match(/^e(\d+)(?:-(\d+))?$/)?.slice(1).map((n) => Number(n ?? 0));
  function isBefore(a, b) {
    const [x, y] = [order(a), order(b)];
    return x && y && (x[0] - y[0] || x[1] - y[1]) < 0;
  }

  // stretchOf is where a section's entries are, in the order of sections. There is none for one before
  // the first of the page, nor for one behind a page that does not reach the end.
  function stretchOf(at) {
    let next = null, before = entries.lastElementChild;
    while (before && Number(before.dataset.first) > at) [next, before] = [before, before.previousElementSibling];
    if (before?.id === 'p' + at) return before;
    if (!('position' in main.dataset) || (next && !before)) return null;
    const made = make('section', { class: 'stretch', id: 'p' + at, 'data-first': at });
    entries.insertBefore(made, next);
    return made;
  }

  function put(article) {
    const old = document.getElementById(article.id);
    if (old && entries.contains(old)) {
      morph(old, article);
      refreshTimes(old);
      offerCopies(old, announce);
      return;
    }
    const stretch = stretchOf(Number(article.dataset.section));
    if (!stretch) return;
    let next = null, before = stretch.lastElementChild;
    while (before && isBefore(article, before)) [next, before] = [before, before.previousElementSibling];
    stretch.insertBefore(article, next);
    refreshTimes(article);
    offerCopies(article, announce);
    addTurn(article);
    came(article);
  }

  function came(element) {
    announce.count();
    if (following && !document.hidden) return;
    if (unread++) return;
    line?.removeAttribute('data-unread');
    line = element;
    line.setAttribute('data-unread', '');
  }

  // anchored runs edit, which changes what is above the reader, and keeps the reader's text where it is. The
  // browser does so too, but not at the very top.
  function anchored(edit) {
    const box = scroller(), at = place();
    box.style.overflowAnchor = 'none';
    keepFocus(edit);
    if (following && !held) toEnd();
    else if (at?.element.isConnected) putBack(at);
    last = measure();
    requestAnimationFrame(() => (box.style.overflowAnchor = ''));
  }

  // Parts that the page does not have are fetched ahead of the reader, and those far above leave it. A
  // section without all of its colours is asked for again.
  const most = 16; // stretches that a page keeps
  let fetching, failed = 0;
  const partsAt = (query) => `/conversations/${main.dataset.conversation}/parts?view=${main.dataset.view}&${query}`;
  async function partsOf(url) {
    const answer = await fetch(url, { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.statusText);
    return parse(await answer.text()).firstElementChild;
  }
  async function fetchMore(nav, isEarlier) {
    if (fetching || Date.now() - failed < 5_000) return;
    fetching = true;
    try {
      const box = await partsOf(nav.dataset.parts);
      if (!nav.isConnected) return;
      const fresh = [...box.children].filter((e) => !document.getElementById(e.id));
      const url = isEarlier ? box.dataset.earlier : box.dataset.later;
      anchored(() => {
        if (isEarlier) entries.prepend(...fresh);
        else entries.append(...fresh);
        if (url) lead(nav, url);
        else if (isEarlier) nav.id = 'spent'; // it keeps its room, so that nothing moves
        else nav.remove();
        if (!isEarlier && box.dataset.position) {
          main.dataset.position = box.dataset.position;
          if (box.dataset.live) main.dataset.live = box.dataset.live;
          main.dispatchEvent(new Event('reached'));
        }
      });
      for (const e of fresh) {
        refreshTimes(e);
        offerCopies(e, announce);
        recolour(e);
      }
    } catch {
      failed = Date.now();
    } finally {
      fetching = false;
    }
    more();
  }
  function lead(nav, url) {
    nav.dataset.parts = url;
    nav.querySelector('a').href = url.replace('/parts', '');
  }
  function recolour(stretch, tries = 5) {
    if (!('pending' in stretch.dataset) || !tries) return;
    setTimeout(async () => {
      if (!stretch.isConnected) return;
      try {
        const box = await partsOf(partsAt(`at=e${stretch.dataset.first}&part=1`));
        if (box.firstElementChild) change(() => morph(stretch, box.firstElementChild));
      } catch {
        // The code stays plain.
      }
      recolour(stretch, tries - 1);
    }, 1_000);
  }
  function more() {
    // Who has no more than fits the window makes no gesture.
    const { top, height, view } = last;
    const earlier = document.getElementById('earlier'), later = document.getElementById('later');
    if (earlier && top < 2 * view && (gesture || top > 0 || (!later && height <= view))) fetchMore(earlier, true);
    else if (later && height - top < 3 * view) fetchMore(later, false);
    else if (!entries.className && entries.children.length > most && top > 10 * view) prune();
  }
  function prune() {
    let cut = 0;
    const end = under() - 5 * last.view, stays = (e) => e.contains(document.activeElement) || (isSelecting() && getSelection().containsNode(e, true)) || e.getBoundingClientRect().bottom > end;
    const all = [...entries.children];
    while (all.length - cut > most - 4 && !stays(all[cut])) cut++;
    if (!cut) return;
    anchored(() => {
      for (const e of all.slice(0, cut)) e.remove();
      const url = partsAt(`before=e${all[cut].dataset.first}`);
      let nav = document.querySelector('#earlier, #spent');
      if (!nav) {
        nav = make('nav', { class: 'more', 'aria-label': 'Earlier' }, make('a', { rel: 'prev' }, 'Earlier'));
        entries.before(nav);
      }
      nav.id = 'earlier';
      lead(nav, url);
    });
  }

  // addTurn adds to the outline what the server would: templates/conversation.templ.
  function addTurn(article) {
    const heading = article.querySelector(':scope > h2[id]'), rows = outline?.querySelector('ol');
    if (!heading || !rows || outline.querySelector(`[href$="#${heading.id}"]`)) return;
    const words = article.querySelector('.text')?.textContent.trim().split('\n')[0].slice(0, 80) || heading.textContent;
    rows.append(make('li', {},
      make('a', { href: '#' + heading.id }, make('span', { class: 'size' }, article.dataset.turn), make('span', { class: 'first', dir: 'auto' }, words)),
      make('span', { class: 'facts' }, article.querySelector('time')?.cloneNode(true) ?? '')));
  }

  // flush applies what waits, all at once, because each look at the layout costs a layout.
  function flush() {
    cancelAnimationFrame(frame);
    frame = undefined;
    if (!waiting.length) return;
    const messages = waiting;
    waiting = [];
    change(() => {
      for (const { id, data } of messages) {
        for (const e of [...parse(data).children]) if (e.localName === 'article' && e.id) put(e);
        if (id) main.dataset.position = id;
      }
    });
  }
  // change runs edit and leaves the reader where the reader is.
  function change(edit) {
    // To select is to read: the text must stay where it is.
    if (following && isSelecting()) following = false;
    const stick = following && !held;
    const at = steady || stick ? null : place();
    keepFocus(edit);
    if (stick) toEnd();
    else if (at?.element.isConnected) putBack(at);
    show();
  }

  function apply(message) {
    waiting.push(message);
    if (document.hidden) flush(); // no frame comes there
    else frame ??= requestAnimationFrame(flush);
  }

  // Only the reader starts or ends following. What moves because the content did is no gesture: then
  // the height has changed since the last look.
  function scrolled() {
    const now = measure(), moved = now.top - last.top;
    const changed = now.height !== last.height || now.view !== last.view;
    last = now;
    if (moved < 0 && now.rest > 1 && (!changed || held)) following = false;
    if (moved > 0 && now.rest <= near && (!changed || (isRecent(gesture) && !isRecent(up)))) following = true;
    seen();
    show();
    mark();
    more();
  }

  // The outline marks the turn that the reader is in.
  let marked, marking;
  const showMarked = () => marked && bringIntoView(marked.parentElement, outline.querySelector('ol'));
  function mark() {
    marking ??= outline && requestAnimationFrame(() => {
      marking = undefined;
      const atEnd = last.top > 0 && last.rest <= 1;
      const turn = (atEnd ? entries.lastElementChild?.lastElementChild : place(false)?.element)?.dataset.turn;
      const link = turn && outline.querySelector(`a[href$="#turn-${turn}"]`);
      if (!link || link.hasAttribute('aria-current')) return;
      marked?.removeAttribute('aria-current');
      marked = link;
      marked.setAttribute('aria-current', 'location');
      showMarked();
    });
  }
  // takes reports whether a gesture at target is for the page: it is not if a box inside takes it.
  function takes(target, downwards) {
    const s = scroller();
    if (!main.contains(target) && !target.contains?.(main)) return false;
    for (let e = target; e instanceof Element && e !== s && e !== main; e = e.parentElement) {
      const room = downwards ? e.scrollHeight - e.clientHeight - e.scrollTop >= 1 : e.scrollTop > 0;
      if (room && /auto|scroll/.test(getComputedStyle(e).overflowY)) return false;
    }
    return downwards || s.scrollTop > 0;
  }
  // A gesture upwards counts before its scrolling is seen, or an entry could come in between.
  function upwards(target) {
    more(); // at the very top nothing scrolls
    if (!takes(target, false)) return;
    up = Date.now();
    following = false;
    show();
  }
  // While the browser is on its own way to the end, Chromium loses the wheel if the script scrolls, too.
  function downTo(e) {
    if (!takes(e.target, true)) return;
    e.preventDefault();
    toEnd();
    following = last.rest < Infinity;
    seen();
    show();
  }

  const on = (names, react, target = window, passive = true) => {
    for (const name of names.split(' ')) target.addEventListener(name, react, { passive, capture: true });
  };
  on('scroll', (e) => (e.target === document || e.target === scroller()) && scrolled());
  on('wheel touchstart touchmove pointerdown keydown', () => ((gesture = Date.now()), (up = 0)));
  on('wheel', (e) => e.deltaY < 0 && !e.ctrlKey && upwards(e.target));
  on('keydown', (e) => {
    if (e.altKey || e.target.closest?.('input, textarea, select')) return;
    if (/^(ArrowUp|PageUp|Home)$/.test(e.key) || (e.key === ' ' && e.shiftKey)) upwards(e.target);
    else if (e.key === 'End' && !e.shiftKey) downTo(e);
  }, window, false);
  on('touchstart', (e) => (touchAt = e.touches[0].clientY));
  on('touchmove', (e) => e.touches[0].clientY - touchAt > 4 && upwards(e.target));
  // A finger's pointer is cancelled as soon as it scrolls, and a scrollbar keeps the end of its drag.
  function hold(is) {
    if (held === is) return;
    held = is;
    if (!is && following && !isSelecting()) toEnd();
  }
  on('touchstart', () => hold(true));
  on('touchend touchcancel', () => hold(false));
  on('pointerdown pointermove pointerup', (e) => e.pointerType !== 'touch' && hold(e.buttons > 0));
  // Whoever opens a fold reads it.
  on('click', (e) => e.target.closest?.('summary') && (folded = Date.now()), entries);
  on('toggle', ({ target, newState }) => {
    if (newState === 'open') offerCopies(target, announce);
    if (!isRecent(folded)) return;
    following &&= measure().rest <= near;
    // Whoever closes one from the row that stayed on top sees where that was.
    if (newState === 'closed' && target.getBoundingClientRect().top < under()) target.closest('article').scrollIntoView({ behavior: 'instant' });
  }, entries);
  // A permanent link loads a page only for who opens it elsewhere.
  on('click', (e) => {
    const link = e.target.closest?.('a.when');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    location.hash = link.hash;
  }, entries, false);
  on('resize', () => following && toEnd());
  new ResizeObserver(() => {
    if (following && !held && !isRecent(folded) && !isSelecting() && measure().height !== last.height) toEnd();
  }).observe(entries, { box: 'border-box' }); // its padding is part of what there is to scroll
  document.addEventListener('visibilitychange', () => {
    flush();
    seen();
    show();
  });
  button?.addEventListener('click', (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault(); // its address would only fill the history
    following = true;
    toEnd();
    seen();
    if (!end) return;
    end.tabIndex = -1;
    end.focus({ preventScroll: true });
  });

  // The browser has put the page where it was only when it shows it.
  const settle = () => {
    if (gesture) return;
    last = measure();
    following = last.rest <= near;
    show();
    mark();
    more();
  };
  outline?.addEventListener('toggle', showMarked, true);
  offerCopies(entries, announce);
  if (!('live' in main.dataset)) for (const e of entries.children) recolour(e);
  find();
  settle();
  on('pageshow', (e) => e.persisted || settle());

  // A link from another view can name an entry that is not in this one; the one before it is meant then.
  function find() {
    const wanted = { id: location.hash.slice(1) };
    if (!order(wanted) || document.getElementById(wanted.id)?.hidden === false) return;
    const [n] = order(wanted), at = new URL(location);
    if (document.querySelector('nav.more') && at.searchParams.get('at') !== 'e' + n) {
      at.searchParams.set('at', 'e' + n);
      at.searchParams.delete('before');
      return location.replace(at);
    }
    const all = [...entries.querySelectorAll('section > article:not([hidden])')];
    const found = all.findLast((e) => isBefore(e, wanted)) ?? all[0];
    if (found) location.replace('#' + found.id);
  }

  // jump leads to the next entry that a selector names, or with way -1 to the one before, from where the
  // focus is, if that is in sight.
  function jump(selector, way, none) {
    const top = under(), focused = document.activeElement.closest('#entries article');
    const box = focused?.getBoundingClientRect();
    const isAt = box && box.bottom > top && box.top < innerHeight;
    const from = isAt ? focused : place(false)?.element;
    const isPast = (e) => {
      if (e !== from) return from.compareDocumentPosition(e) & (way > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING);
      if (isAt) return false;
      const at = e.getBoundingClientRect().top - top;
      return way > 0 ? at > 24 : at < 8; // it is 16 after a jump to it
    };
    const all = from ? [...entries.querySelectorAll(selector)] : [];
    const to = way > 0 ? all.find(isPast) : all.findLast(isPast);
    if (!to) return announce.say(none);
    following = false;
    to.tabIndex = -1;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ behavior: 'instant' });
    show();
  }

  return {
    apply,
    flush,
    jump,
    change,
    came,
    // here is the fragment of the place where the reader is; nothing for one who follows the end.
    here() {
      const e = scroller().scrollTop > 0 && place(false)?.element;
      return e ? '#' + e.id : '';
    },
    isFollowing: () => following,
    head(page) {
      const old = main.querySelector('header'), next = page.querySelector('header');
      if (!old || !next) return;
      const name = (header) => header.querySelector('h1').textContent;
      if (title.startsWith(name(old))) title = name(next) + title.slice(name(old).length);
      change(() => morph(old, next));
      refreshTimes(old);
    },
    // renew makes the page the one that the server sends now, whatever has become of its history.
    renew(page) {
      waiting = [];
      const next = page.querySelector('#transcript');
      change(() => {
        for (const part of ['header', '#outline', '#entries', 'nav:is(#earlier, #spent)', 'nav#later']) {
          const old = main.querySelector(part), now = next.querySelector(part);
          if (old && now) morph(old, now);
          else if (part.startsWith('nav')) {
            old?.remove();
            if (now?.id === 'later') entries.after(now);
            else if (now) entries.before(now);
          }
        }
        offerCopies(entries, announce);
        mark();
        for (const key of ['position', 'live']) {
          if (key in next.dataset) main.dataset[key] = next.dataset[key];
          else delete main.dataset[key];
        }
        title = page.querySelector('title').textContent;
      });
      refreshTimes(main);
    },
  };
}

// newKeys lets single keys lead around the transcript. They can be put out of use: who speaks to the
// computer presses keys without meaning to (WCAG 2.1.4).
function newKeys(transcript) {
  const help = document.getElementById('keys');
  if (!help) return;
  const turn = 'article:has(> h2[id]):not([hidden])';
  const heard = 'article:is([data-kind=speech], [data-kind=broken]):not([hidden]), article:has(> .body .mark.error):not([hidden])';
  const keys = {
    j: () => transcript.jump(turn, 1, 'No turn follows'),
    k: () => transcript.jump(turn, -1, 'No turn before'),
    n: () => transcript.jump(heard, 1, 'Nothing follows'),
    p: () => transcript.jump(heard, -1, 'Nothing before'),
    '?': () => help.showModal(),
  };
  const kept = (choice) => {
    try {
      if (choice) localStorage.keys = choice;
      return localStorage.keys;
    } catch {
      // It holds for this page.
    }
  };
  const use = make('input', { type: 'checkbox' });
  use.checked = kept() !== 'off';
  use.onchange = () => kept(use.checked ? 'on' : 'off');
  help.querySelector('form').before(make('label', {}, use, ' Use these keys'));
  help.querySelector('form button').autofocus = true;
  help.setAttribute('closedby', 'any');
  const button = make('button', { type: 'button', class: 'keys', 'aria-haspopup': 'dialog' }, 'Keys');
  button.onclick = keys['?'];
  document.getElementById('bar').append(button);
  addEventListener('keydown', (e) => {
    if (!use.checked || e.ctrlKey || e.altKey || e.metaKey || e.isComposing || !Object.hasOwn(keys, e.key)) return;
    if (e.target.closest?.('input, textarea, select, [contenteditable]') || document.querySelector('dialog[open], :popover-open')) return;
    e.preventDefault(); // some browsers search for what is typed
    keys[e.key]();
  });
}

function bringIntoView(row, box) {
  const { top, bottom, height } = row.getBoundingClientRect(), b = box.getBoundingClientRect();
  if (top < b.top || bottom > b.bottom) box.scrollTop += top - b.top - (b.height - height) / 2;
}

// offerCopies gives what has its raw text at an address, and is not folded, a button to copy that. Over
// plain HTTP from another machine there is no clipboard.
function offerCopies(root, announce) {
  if (!navigator.clipboard || !globalThis.ClipboardItem) return;
  for (const link of root.querySelectorAll('.raw > a:not([download]):only-child')) {
    if (link.closest('details:not([open])')) continue;
    const button = make('button', { type: 'button' }, 'Copy');
    button.onclick = async () => {
      let word = 'Copied';
      try {
        // Given as a promise, the text may come after the time for which a click allows to copy.
        await navigator.clipboard.write([new ClipboardItem({ 'text/plain': textAt(link.href) })]);
      } catch {
        word = 'Not copied';
      }
      button.textContent = word;
      announce.say(word);
      setTimeout(() => (button.textContent = 'Copy'), 2_000);
    };
    link.after(button);
  }
}

async function textAt(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(answer.statusText);
  return new Blob([await answer.text()], { type: 'text/plain' });
}

// newAnnouncer tells those who listen to the page, briefly and not often.
function newAnnouncer() {
  const element = document.getElementById('announce');
  let timer, due, clear, spoke = 0, entries = 0, words = [];
  function speak() {
    timer = undefined;
    if (entries) words.push(entries === 1 ? '1 new entry' : `${entries} new entries`);
    spoke = Date.now();
    entries = 0;
    if (element) element.textContent = words.join(', ');
    // The same words would be no change, and not be heard.
    clearTimeout(clear);
    clear = setTimeout(() => element?.replaceChildren(), 5_000);
    words = [];
  }
  function plan(gap) {
    const at = Math.max(Date.now() + 1_000, spoke + gap);
    if (timer && at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(speak, at - Date.now());
  }
  return {
    count() {
      entries++;
      plan(15_000);
    },
    say(sentence) {
      words.push(sentence);
      plan(0);
    },
  };
}

// newLamp shows the state of the stream, and whether the agent works. A loss is shown only once it
// lasts.
function newLamp(isTranscript, announce) {
  const element = document.getElementById('live');
  const patience = 2_000, giveUp = 30_000;
  let lost, timer, status, gone, stream = 'closed', shown, said;

  function words() {
    if (gone) return ['offline', 'Removed'];
    if (stream === 'ended') return [];
    if (stream === 'locked') return ['offline', 'Enter the token'];
    if (stream !== 'open') {
      const since = Date.now() - lost;
      if (since < patience) return null; // as before
      return since < giveUp && navigator.onLine ? ['reconnecting', 'Reconnecting'] : ['offline', 'Offline'];
    }
    if (!isTranscript) return [];
    if (!status) return null;
    if (!status.writing) return ['idle', 'Idle'];
    const [tool, ...more] = status.tools ?? [];
    return ['live', !tool ? 'Working' : `Working: ${tool}` + (more.length ? ` and ${more.length} more` : '')];
  }
  function show() {
    const next = words();
    if (!next) return;
    const [state, text] = next;
    if (state === 'offline' && said !== text) announce.say(text);
    if (shown === 'offline' && state !== 'offline' && state !== 'reconnecting') announce.say('Connected again');
    shown = state;
    said = text;
    if (!element) return;
    element.ariaLive = 'off'; // the announcer says what matters
    if (!state) return element.replaceChildren();
    element.dataset.state = state;
    if (element.textContent === text) return;
    // In another tab, so that this one keeps the reader's place.
    element.replaceChildren(stream === 'locked' ? make('a', { href: '/enter', target: '_blank' }, text) : text);
  }
  return {
    show,
    stream(state) {
      stream = state;
      if (/open|ended|locked/.test(state)) {
        clearInterval(timer);
        lost = timer = undefined;
      } else if (lost === undefined) {
        lost = Date.now();
        timer = setInterval(show, 1_000);
      }
      show();
    },
    status(now) {
      if (status?.writing && !now.writing) announce.say('The agent has finished');
      status = now;
      show();
    },
    gone(is) {
      gone = is;
      show();
    },
  };
}

function applyList(html, current) {
  const list = document.getElementById('list');
  const next = parse(html).querySelector('ul');
  if (!list || !next) return;
  // All tabs get the same list; each marks the conversation that it shows.
  for (const a of next.querySelectorAll('[aria-current]')) a.removeAttribute('aria-current');
  if (current) next.querySelector(`li[data-id="${CSS.escape(current)}"] a`)?.setAttribute('aria-current', 'page');
  keepFocus(() => morph(list, next));
  refreshTimes(list);
}

function livePage() {
  policy = globalThis.trustedTypes?.createPolicy('serve-web', rules) ?? rules;
  refreshTimes();
  setInterval(() => document.hidden || refreshTimes(), 60_000);

  const main = document.getElementById('transcript');
  const entries = document.getElementById('entries');
  const nav = document.getElementById('conversations');
  const announce = newAnnouncer();
  const lamp = newLamp(Boolean(main), announce);
  const transcript = main && entries && newTranscript(main, entries, announce);
  const topic = transcript && `${main.dataset.conversation}/${main.dataset.view}`;
  const isLive = () => topic && 'live' in main.dataset && 'position' in main.dataset;
  const list = nav?.dataset.live && 'list?' + new URL(nav.dataset.live, location).search.slice(1);
  let isGone = false;
  if (transcript) {
    newKeys(transcript);
    // A link to another view leads to the entry in sight.
    const aim = (e) => {
      const link = e.target.closest('.views a');
      if (!link) return;
      link.hash = transcript.here();
      const at = !transcript.isFollowing() && link.hash.match(/\d+/);
      if (at) link.search = link.search.replace(/&at=.*|$/, '&at=e' + at[0]);
    };
    for (const name of ['click', 'auxclick', 'contextmenu']) main.addEventListener(name, aim);
  }
  const showCurrent = () => {
    const row = nav?.querySelector('li:has([aria-current])');
    if (row) bringIntoView(row, nav);
  };
  nav?.addEventListener('toggle', showCurrent);
  showCurrent();
  const desk = document.querySelector('[data-desk]');
  dispatchEvent(new CustomEvent('served', { detail: { parse, make, morph, keepFocus, refreshTimes, announce, transcript } }));
  if (!isLive() && !list && !desk) return;

  // The ways to the hub, best first. Locks are missing where a page came over plain HTTP from
  // another machine.
  const ways = [
    globalThis.SharedWorker && throughWorker,
    globalThis.BroadcastChannel && navigator.locks && throughLeader,
    alone,
  ].filter(Boolean);
  let way, asked = 0, heard = 0, state;

  function follow(wake) {
    transcript?.flush();
    const wanted = {};
    if (isLive() && !isGone && !renewing) wanted[topic] = main.dataset.position;
    if (list) wanted[list] = nav.dataset.position ?? '';
    if (desk) wanted.desk = desk.dataset.desk;
    asked = Date.now();
    way?.say({ follow: wanted, wake });
  }
  function connect(steal) {
    way?.close();
    way = undefined;
    const mine = ways[0];
    const lost = () => mine === ways[0] && (ways.shift(), connect());
    try {
      way = mine(hear, follow, lost, steal);
    } catch {
      return lost();
    }
    if (!(document.hidden && mine === alone)) follow();
  }

  function hear(m) {
    heard = Date.now();
    if (m.beat) return way.say({ pong: true });
    if (m.state) return light((state = m.state));
    if (m.topic === list) {
      if (m.event === 'list') applyList(m.data, main?.dataset.conversation);
      if (isGone && nav.querySelector('[aria-current]')) load(clearTimeout(renewing)); // it was put back
      if (m.event === 'list' && m.id) nav.dataset.position = m.id;
    } else if (m.topic === topic) {
      if (m.event === 'entries') transcript.apply(m);
      else if (m.event === 'head') transcript.head(parse(m.data));
      else if (m.event === 'status') lamp.status(JSON.parse(m.data));
      else if (m.event === 'reset') renew();
      else if (m.event === 'gone') {
        end(true);
        renewed = heard;
        renew(); // it may be back at once
      }
    }
    dispatchEvent(new CustomEvent('said', { detail: m })); // for comments.js
  }
  const end = (is) => lamp.gone((isGone = is));

  // The history changed: the page becomes what a new one would be, in place, so that the reader keeps
  // place, folds and selection. A server that asks for it again and again waits longer and longer.
  let renewed = 0, again = 0, renewing;
  // Without the new page the stream says nothing.
  const light = () => lamp.stream(renewing ? 'trying' : state);
  function renew() {
    again = Date.now() - renewed < 10_000 ? again + 1 : 0;
    clearTimeout(renewing);
    renewing = setTimeout(load, again && Math.min(30_000, 250 * 2 ** again));
    light();
  }
  async function load() {
    renewed = Date.now();
    try {
      const at = !transcript.isFollowing() && transcript.here().match(/\d+/);
      const answer = await fetch(`${location.pathname}?view=${main.dataset.view}${at ? '&at=e' + at[0] : ''}`, { cache: 'no-store' });
      if (answer.status === 404) end(true);
      if (answer.status === 401) return follow((renewing = undefined)); // the stream will be refused, too
      if (!answer.ok) return renew();
      transcript.renew(parse(await answer.text()));
      renewing = undefined;
      end(false);
    } catch {
      return renew();
    }
    follow();
  }

  // After sleep a timer comes late and finds the last sign of life long ago.
  setInterval(() => {
    if (!way || state === 'ended' || state === 'locked' || (document.hidden && ways[0] === alone)) return;
    const now = Date.now();
    if (asked > heard && now - asked > lookEvery) connect(!document.hidden);
    else if (now - heard > quietAfter) follow(true);
  }, lookEvery);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    refreshTimes();
    follow(true);
  });
  document.addEventListener('resume', () => follow(true));
  addEventListener('online', () => follow(true));
  addEventListener('focus', () => state === 'locked' && follow(true));
  addEventListener('offline', lamp.show);
  addEventListener('pagehide', () => {
    way?.close(); // or the page could not be kept for going back
    way = undefined;
  });
  addEventListener('pageshow', (e) => {
    if (!e.persisted) return;
    refreshTimes();
    connect();
    follow(true);
  });
  main?.addEventListener('reached', () => follow());
  connect();
}

if ('SharedWorkerGlobalScope' in globalThis) serveTabs();
else livePage();
