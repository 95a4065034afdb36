// The pages work without this module; it only makes them live. It keeps the words for times right,
// follows what the page shows over one stream for the whole browser, and puts what arrives in its
// place without moving the reader. The same file is the script of the shared worker that holds the
// stream.

const beatEvery = 15_000; // the server's heartbeat, in ms
const quietAfter = 2 * beatEvery + 5_000; // two missed
const lookEvery = 5_000; // how often somebody looks whether it is quiet

// One stream per browser. A browser opens six connections to a host, so a stream per tab would hang
// the seventh. The hub owns the EventSource; it runs in a shared worker, in a tab that leads the
// others, or in each tab for itself.
//
// Tabs say {follow: {topic: position}, wake}, {pong} or {bye}. They are told {state}, {beat} and the
// messages of the stream.
function newHub() {
  const tabs = new Map(); // by name: {send, missed}
  // By name: {at: the position of each tab, head: the one the stream has reached, tried}.
  // A message leads on from head, so it is for the tabs that are at head: what another tab, perhaps
  // one that slept while the history was edited, made of it could be wrong for ever. Such positions
  // are tried one after the other, the lowest first; the server answers each with what it lacks, and
  // then it is at head too, or with a reset.
  const topics = new Map();
  const settle = 1_000, join = 200, leave = 10_000; // ms until the stream is opened again
  let source, timer, due = Infinity, opened = 0, life = 0, fails = 0, refused = false, state = 'closed';

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
  const count = (position) => parseInt(position, 10) || 0;

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
      refused = false;
      tell('open');
      if (![...topics.values()].every(isSettled)) plan(settle);
    };
    source.onmessage = (e) => receive(JSON.parse(e.data));
    source.addEventListener('heartbeat', beat);
    source.onerror = failed;
    tell('trying');
  }

  // The browser's own reconnection would ask from the positions of the address, and a refusal
  // would end it for good.
  async function failed() {
    const { url, readyState } = source;
    source.close();
    source = undefined;
    if (state === 'open' && Date.now() - opened > lookEvery) fails = 0;
    plan(Math.min(30_000, 500 * 2 ** fails++) * (0.5 + Math.random() / 2));
    doubt();
    tell('failing');
    if (readyState !== EventSource.CLOSED || refused) return;
    refused = true; // only fetch tells how
    const stop = new AbortController();
    try {
      const answer = await fetch(url, { signal: stop.signal, cache: 'no-store' });
      stop.abort();
      if (source) return;
      const seconds = parseInt(answer.headers.get('Retry-After'), 10);
      if (answer.status === 204 || answer.status === 404) { // nothing to come, or no streams here
        unplan();
        tell('ended');
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
    const moves = (m.event === 'entries' || m.event === 'list') && m.id;
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
    const tab = tabs.get(name);
    if (!tab) return;
    tabs.delete(name);
    unfollow(tab, {});
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
    const tab = tabs.get(name);
    if (tab) tab.missed = 0;
    if (!follow) return;
    const me = tab ?? { send, missed: 0 };
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
    fails = 0;
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

// Ways to the hub: functions of hear, which is called with what the hub sends, of again, which asks
// the tab to say anew what it follows, and of lost, called when the way does not exist after all.
// Each returns {say, close}.

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
      // Another tab took the lead, because this one did not answer it.
    }
    hub?.close();
    hub = undefined;
    if (!waiting.signal.aborted) lead({ signal: waiting.signal });
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

// morph makes an element like another one and keeps every node that need not change, so that a
// selection, focus, folds and inner scrollers survive. Whether a fold is open is the reader's.
function morph(from, to) {
  morphAttributes(from, to);
  let old = [...from.childNodes], next = [...to.childNodes];
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
  const isMine = (name) => (name === 'open' && from.localName === 'details') || name === 'data-unread';
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
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

function said(then, now) {
  const ago = now - then, minute = 60_000, hour = 60 * minute;
  const count = (n, unit) => `${n} ${unit}${n === 1 ? '' : 's'} ago`;
  const day = (t) => Date.UTC(t.getFullYear(), t.getMonth(), t.getDate()) / (24 * hour);
  const clock = [then.getHours(), then.getMinutes()].map((n) => String(n).padStart(2, '0')).join(':');
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
  const steady = CSS.supports('overflow-anchor', 'auto'); // the browser holds the reader's place
  let waiting = [], frame, line;
  let unread = 0, following = false, title = document.title;
  let gesture = 0, up = 0, folded = 0, held = false, touchAt = 0;
  let last = {};

  // Where the document does not scroll, an element around the entries does.
  function scroller() {
    for (let e = entries; e && e !== document.body; e = e.parentElement) {
      if (e.scrollHeight > e.clientHeight && /auto|scroll/.test(getComputedStyle(e).overflowY)) return e;
    }
    return document.scrollingElement;
  }
  const measure = () => {
    const { scrollTop: top, scrollHeight: height, clientHeight: view } = scroller();
    return { top, height, view, rest: height - view - top };
  };
  const isSelecting = () => {
    const s = getSelection();
    return !s.isCollapsed && s.rangeCount > 0 && s.getRangeAt(0).intersectsNode(entries);
  };
  const isRecent = (time) => Date.now() - time < 1_000;

  function toEnd() {
    const s = scroller();
    s.scrollTo({ top: s.scrollHeight, behavior: 'instant' });
    last = measure();
  }

  // The place of the first thing in view, however far into an entry it is.
  function place() {
    const top = document.getElementById('bar')?.getBoundingClientRect().bottom ?? 0;
    const inView = (all) => {
      let low = 0, high = all.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (all[middle].getBoundingClientRect().bottom > top) high = middle;
        else low = middle + 1;
      }
      return all[low];
    };
    let found;
    for (let e = inView(entries.children); e; e = e.getBoundingClientRect().top < top && inView(e.children)) found = e;
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

  const order = (article) => article.id.match(/^e(\d+)(?:-(\d+))?$/)?.slice(1).map((n) => Number(n ?? 0));
  function isBefore(a, b) {
    const [x, y] = [order(a), order(b)];
    return x && y && (x[0] - y[0] || x[1] - y[1]) < 0;
  }

  function put(article) {
    const old = document.getElementById(article.id);
    if (old?.parentNode === entries) {
      morph(old, article);
      refreshTimes(old);
      return;
    }
    let next = null, before = entries.lastElementChild;
    while (before && isBefore(article, before)) [next, before] = [before, before.previousElementSibling];
    entries.insertBefore(article, next);
    refreshTimes(article);
    announce.count();
    if (following && !document.hidden) return;
    if (!unread++) {
      line?.removeAttribute('data-unread');
      line = article;
      line.setAttribute('data-unread', '');
    }
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
    const at = !steady && !stick && place();
    keepFocus(edit);
    if (stick) toEnd();
    else if (at && at.element.isConnected) putBack(at);
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
    if (!takes(target, false)) return;
    up = Date.now();
    following = false;
    show();
  }
  // The end may be farther than it seems as long as the entries before it have no layout.
  function downTo(target) {
    if (!takes(target, true)) return;
    following = true;
    show();
  }

  const on = (names, react, target = window) => {
    for (const name of names.split(' ')) target.addEventListener(name, react, { passive: true, capture: true });
  };
  on('scroll', (e) => (e.target === document || e.target === scroller()) && scrolled());
  on('wheel touchstart touchmove pointerdown keydown', () => ((gesture = Date.now()), (up = 0)));
  on('wheel', (e) => e.deltaY < 0 && !e.ctrlKey && upwards(e.target));
  on('keydown', (e) => {
    if (e.altKey || e.target.closest?.('input, textarea, select')) return;
    if (/^(ArrowUp|PageUp|Home)$/.test(e.key) || (e.key === ' ' && e.shiftKey)) upwards(e.target);
    else if (e.key === 'End') downTo(e.target);
  });
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
  on('toggle', () => isRecent(folded) && (following &&= measure().rest <= near), entries);
  on('resize', () => following && toEnd());
  new ResizeObserver(() => {
    if (following && !held && !isRecent(folded) && !isSelecting() && measure().height !== last.height) toEnd();
  }).observe(entries);
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
  };
  settle();
  on('pageshow', (e) => e.persisted || settle());

  return {
    apply,
    flush,
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
        for (const part of ['header', '#entries']) morph(main.querySelector(part), next.querySelector(part));
        main.dataset.position = next.dataset.position;
        title = page.querySelector('title').textContent;
      });
      refreshTimes(main);
    },
  };
}

// newTour takes the reader from turn to turn, keeps the outline at the turn in sight, and a link to
// another view at the entry in sight.
function newTour(main, entries) {
  const help = document.getElementById('keys');
  const outline = document.getElementById('outline');
  const marks = 'article[data-kind=speech]:not([hidden]), article:has(> .body .mark.error):not([hidden])';
  const steps = { j: ['article:has(> h2)', 1], k: ['article:has(> h2)', -1], n: [marks, 1], p: [marks, -1] };
  const edge = () => parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const topOf = (e) => e.getBoundingClientRect().top;

  function step(selector, way) {
    const all = [...entries.querySelectorAll(selector)];
    if (way < 0) all.reverse();
    const next = all.find((e) => way * (topOf(e) - edge()) > 4);
    if (!next) return;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'start', behavior: 'instant' });
  }
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.closest?.('input, textarea, select, [contenteditable]')) return;
    if (e.key === '?' && help) help.open ? help.close() : help.showModal();
    else if (steps[e.key] && !help?.open) step(...steps[e.key]);
    else return;
    e.preventDefault();
  });

  // Only what is in every view can be found again in another one.
  main.addEventListener('click', (e) => {
    const link = e.target.closest('.views a');
    if (!link || scrollY < 1) return;
    const lasting = /^(request|message|structured|speech|result)$/;
    const seen = [...entries.children].find((a) => lasting.test(a.dataset.kind) && a.getBoundingClientRect().bottom > edge());
    if (seen) link.hash = seen.id.replace(/(?<=\d)-\d+$/, '');
  });

  if (!outline) return;
  let frame;
  const links = outline.getElementsByTagName('a');
  function follow() {
    frame = undefined;
    const heads = entries.querySelectorAll('article > h2');
    let low = 0, high = heads.length; // the first heading below the edge
    while (low < high) {
      const middle = (low + high) >> 1;
      if (topOf(heads[middle]) - edge() > 8) high = middle;
      else low = middle + 1;
    }
    const here = '#' + (heads[Math.max(0, low - 1)]?.id ?? '');
    for (const a of links) {
      if ((a.getAttribute('href') === here) === a.hasAttribute('aria-current')) continue;
      if (!a.toggleAttribute('aria-current')) continue;
      a.setAttribute('aria-current', 'true');
      const list = a.closest('ol'), top = topOf(a) - topOf(list);
      if (top < 0 || top > list.clientHeight - 48) list.scrollTop += top - list.clientHeight / 2;
    }
  }
  const plan = () => (frame ??= requestAnimationFrame(follow));
  addEventListener('scroll', plan, { passive: true });
  new MutationObserver((records) => {
    for (const { addedNodes } of records) {
      for (const article of addedNodes) {
        const head = article.querySelector?.(':scope > h2');
        if (!head || [...links].some((a) => a.hash === '#' + head.id)) continue;
        const item = outline.querySelector('li').cloneNode(true);
        const [number, words] = item.querySelectorAll('.size, .first');
        item.querySelector('a').href = '#' + head.id;
        number.textContent = article.dataset.turn;
        words.textContent = article.querySelector('.body').textContent.trim().slice(0, 60) || head.textContent;
        item.querySelector('.facts').replaceChildren();
        outline.querySelector('ol').append(item);
      }
    }
    plan();
  }).observe(entries, { childList: true });
  plan();
}

// offerCopies gives what has its raw text at an address a button to copy it.
function offerCopies(entries) {
  if (!navigator.clipboard) return;
  const offer = (root) => {
    for (const link of root.querySelectorAll('.raw > a:not([download]):only-child')) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = 'Copy';
      link.after(button);
    }
  };
  entries.addEventListener('toggle', (e) => e.newState === 'open' && offer(e.target), true);
  offer(entries);
  entries.addEventListener('click', async (e) => {
    const button = e.target.closest('.raw > button');
    if (!button) return;
    try {
      const answer = await fetch(button.previousElementSibling.href);
      if (!answer.ok) throw new Error(answer.status);
      await navigator.clipboard.writeText(await answer.text());
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not copied';
    }
    setTimeout(() => (button.textContent = 'Copy'), 2_000);
  });
}

// newAnnouncer tells those who listen to the page, briefly and not often.
function newAnnouncer() {
  const element = document.getElementById('announce');
  let timer, due, spoke = 0, entries = 0, words = [];
  function speak() {
    timer = undefined;
    if (entries) words.push(entries === 1 ? '1 new entry' : `${entries} new entries`);
    spoke = Date.now();
    entries = 0;
    if (element) element.textContent = words.join(', ');
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
  let lost, timer, status, gone = false, stream = 'closed', shown;

  function words() {
    if (gone) return ['offline', 'Removed'];
    if (stream === 'ended') return [];
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
    if (state === 'offline' && shown !== 'offline') announce.say(text);
    if (shown === 'offline' && state !== 'offline' && state !== 'reconnecting') announce.say('Connected again');
    shown = state;
    if (!element) return;
    element.ariaLive = 'off'; // the announcer says what matters
    element.hidden = !state;
    if (!state) return;
    element.dataset.state = state;
    if (element.textContent !== text) element.textContent = text;
  }
  return {
    show,
    stream(state) {
      stream = state;
      if (state === 'open' || state === 'ended') {
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
    gone() {
      gone = true;
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
  const topic = transcript && main.dataset.live && `${main.dataset.conversation}/${main.dataset.view}`;
  const list = nav?.dataset.live && 'list?' + new URL(nav.dataset.live, location).search.slice(1);
  let isGone = false;
  if (transcript) {
    newTour(main, entries);
    offerCopies(entries);
  }
  if (!topic && !list) return;

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
    if (topic && !isGone && !renewing) wanted[topic] = main.dataset.position ?? '';
    if (list) wanted[list] = nav.dataset.position ?? '';
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
    if (m.state) return lamp.stream((state = m.state));
    if (m.topic === list) {
      if (m.event === 'list') applyList(m.data, main?.dataset.conversation);
      if (m.event === 'list' && m.id) nav.dataset.position = m.id;
    } else if (m.topic === topic) {
      if (m.event === 'entries') transcript.apply(m);
      else if (m.event === 'head') transcript.head(parse(m.data));
      else if (m.event === 'status') lamp.status(JSON.parse(m.data));
      else if (m.event === 'reset') renew();
      else if (m.event === 'gone') end();
    }
  }
  function end() {
    isGone = true;
    lamp.gone();
  }

  // The history changed: the page becomes what a new one would be, in place, so that the reader keeps
  // place, folds and selection, and so that a server that is away costs nothing. A server that asks
  // for it again and again waits longer and longer.
  let renewed = 0, again = 0, renewing;
  function renew() {
    again = Date.now() - renewed < 10_000 ? again + 1 : 0;
    clearTimeout(renewing);
    renewing = setTimeout(load, again && Math.min(30_000, 250 * 2 ** again));
  }
  async function load() {
    renewed = Date.now();
    try {
      const answer = await fetch(`${location.pathname}?view=${main.dataset.view}`, { cache: 'no-store' });
      if (answer.status === 404) return end();
      if (!answer.ok) return renew();
      transcript.renew(parse(await answer.text()));
      renewing = undefined;
    } catch {
      return renew();
    }
    follow();
  }

  // A timer that comes late, after sleep, finds the last sign of life long ago; so this notices it too.
  setInterval(() => {
    if (!way || state === 'ended' || (document.hidden && ways[0] === alone)) return;
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
  connect();
}

if ('SharedWorkerGlobalScope' in globalThis) serveTabs();
else livePage();
