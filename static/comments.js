// Comments work without this module, which makes them live, and lets who reads comment on words that are
// selected, without leaving the page. It stands before app.js, which lends it its tools: nothing here makes
// markup of text.

addEventListener('served', ({ detail }) => serve(detail), { once: true });

function serve({ parse, make, morph, keepFocus, refreshTimes, announce, transcript }) {
  const main = document.querySelector('main');
  const entries = document.getElementById('entries');
  let reading; // what waits to be seen
  const flat = (s) => s.replace(/\s+/g, ' ').trim();
  const bare = (s) => s.replace(/\s+/g, '');
  const index = (e) => Number(e.dataset.event ?? e.id.match(/\d+/)?.[0]);
  // Notes at one event stand behind it, in the order in which they were made.
  const isUpTo = (s, { dataset: { made }, id }) => !s.dataset.event || s.dataset.made < made || (s.dataset.made === made && s.id < id);

  // The bar says how much waits.
  const count = (page) => {
    const [old, now] = [document, page].map((p) => p.querySelector('a.desk'));
    if (old && now) morph(old, now);
  };

  // A dialog for the forms of other pages, there once it is asked for. What was typed is kept until it was taken,
  // also when the dialog is closed meanwhile, by a click beside it for example.
  const typed = new Map(); // by what it is for
  let purpose;
  const dialog = make('dialog', { class: 'comment', 'aria-label': 'Comment' });
  dialog.setAttribute('closedby', 'any');

  async function ask(url) {
    const answer = await fetch(url, { cache: 'no-store' });
    show(parse(await answer.text()), url);
  }
  function show(page, url) {
    const close = make('button', { type: 'button', class: 'close' }, 'Close');
    close.onclick = () => dialog.close();
    const heading = make('strong', {}, page.querySelector('main h1')?.textContent ?? 'Comment');
    const parts = page.querySelectorAll('main > .problem, main > form');
    if (!parts.length) return location.assign(url);
    dialog.replaceChildren(close, heading, ...parts);
    if (!dialog.isConnected) document.body.append(dialog);
    if (!dialog.open) dialog.showModal();
    const text = dialog.querySelector('textarea');
    if (!text) return;
    purpose = `${url} ${text.form.querySelector('button')?.value}`;
    text.value = typed.get(purpose) ?? text.value;
    text.oninput = () => typed.set(purpose, text.value);
    text.focus();
  }
  dialog.addEventListener('submit', async (e) => {
    e.preventDefault();
    const form = e.target, buttons = form.querySelectorAll('button');
    const body = new URLSearchParams(new FormData(form, e.submitter));
    for (const b of buttons) b.disabled = true;
    try {
      const answer = await fetch(form.action, { method: 'POST', body });
      if (answer.ok) {
        if (body.has('body')) typed.delete(purpose);
        dialog.close();
        announce.say(body.has('body') ? 'Kept' : 'Done');
        count(parse(await answer.text()));
        if (!('live' in main.dataset)) await refresh();
        return;
      }
      const page = parse(await answer.text()), problem = page.querySelector('main > .problem');
      complain(form, problem?.textContent.trim() || 'This could not be kept.');
    } catch {
      complain(form, 'The server does not answer. What you wrote is still here.');
    } finally {
      for (const b of buttons) b.disabled = false;
    }
  });
  function complain(form, sentence) {
    dialog.querySelector('.problem')?.remove();
    form.before(make('p', { class: 'problem', role: 'alert' }, sentence));
  }
  // Ctrl+Enter sends, as in other places where people write.
  dialog.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.target.closest('form')?.requestSubmit(e.target.closest('form').querySelector('button'));
  });
  addEventListener('click', (e) => {
    const link = e.target.closest?.('a.comment, a[data-act]');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.button || !entries) return;
    e.preventDefault();
    ask(link.href).catch(() => location.assign(link.href));
  });

  // A form of a page goes out once, though its button is pressed twice.
  const sent = new WeakMap();
  addEventListener('submit', (e) => {
    if (e.target.method !== 'post' || e.defaultPrevented) return;
    if (e.timeStamp - sent.get(e.target) < 1_000) e.preventDefault();
    else sent.set(e.target, e.timeStamp);
  });

  if (transcript) converse();
  else if ('desk' in main.dataset) renew();

  // A page about comments is asked for anew when something changed.
  function renew() {
    let timer, asking = false, again = false;
    async function load() {
      if (asking) return (again = true);
      asking = true;
      try {
        const answer = await fetch(location.href, { cache: 'no-store' });
        const page = parse(await answer.text()), next = page.querySelector('main.desk');
        if (answer.ok && next) {
          // What is being written or was chosen stays. A text is no part of the markup; an agent is, and another
          // one's call must not choose that one.
          const choices = [...main.querySelectorAll('select')].map((e) => [e, e.value]);
          keepFocus(() => morph(main, next));
          for (const [e, was] of choices) if ([...e.options].some((o) => o.value === was)) e.value = was;
          refreshTimes(main);
          count(page);
          const title = page.querySelector('title')?.textContent;
          if (title) document.title = title;
        }
      } catch {
        // The next change will see.
      }
      asking = false;
      if (again) {
        again = false;
        return load();
      }
      wait();
    }
    // Some states end by themselves. One that is over here and not there, or of which nothing is heard, is asked for
    // now and then.
    function wait() {
      clearTimeout(timer);
      const until = Number(main.querySelector('[data-until]')?.dataset.until), left = until - Date.now();
      if (until) timer = setTimeout(load, left > 0 ? left + 250 : 5_000);
    }
    addEventListener('said', ({ detail: m }) => {
      if (m.topic !== 'desk' || !m.id || main.dataset.desk === m.id) return;
      main.dataset.desk = m.id;
      load();
    });
    wait();
  }

  async function refresh() {
    const { conversation, view } = main.dataset;
    const answer = await fetch(`/conversations/${conversation}/notes?view=${view}`, { cache: 'no-store' });
    if (answer.ok) apply(await answer.text());
  }

  // apply makes what stands beside the entries what the server says of some, by their ids, and leaves alone what is
  // not on the page.
  function apply(html) {
    const groups = [...parse(html).children], next = groups.flatMap((g) => [...g.children]);
    transcript.change(() => {
      const said = new Set(next.map((e) => e.id));
      for (const { id } of entries.querySelectorAll('[data-event]')) {
        if (!said.has(id) && groups.some(({ dataset: { from, to } }) => from <= id && id < to)) document.getElementById(id).remove();
      }
      for (const e of next) {
        const old = document.getElementById(e.id);
        if (old?.dataset.event === e.dataset.event) morph(old, e);
        else {
          old?.remove();
          const stretch = [...entries.children].findLast((s) => Number(s.dataset.first) <= Number(e.dataset.event));
          if (!stretch) continue;
          const before = [...stretch.children].findLast((s) => index(s) < index(e) || (index(s) === index(e) && isUpTo(s, e)));
          // Where the page ends before the conversation does, it may be about what comes later.
          if (before && !before.nextElementSibling && !stretch.nextElementSibling && !('position' in main.dataset) && index(before) < index(e)) continue;
          if (before) before.after(e);
          else stretch.prepend(e);
          if (!old && 'new' in e.dataset) transcript.came(e);
        }
        refreshTimes(e);
      }
    });
    mark();
    read();
  }

  // What an agent told is read once it was seen.
  function read() {
    const all = entries.querySelectorAll('.told[data-new]');
    if (document.hidden || !all.length) return;
    reading ??= new IntersectionObserver((seen) => {
      const ids = seen.filter((s) => s.isIntersecting && 'new' in s.target.dataset).map((s) => s.target);
      if (document.hidden || !ids.length) return;
      for (const e of ids) delete e.dataset.new;
      fetch('/messages', { method: 'POST', body: new URLSearchParams(ids.map((e) => ['id', e.id])) }).catch(() => {});
    });
    for (const e of all) reading.observe(e);
  }

  // Words of an entry, as they are compared with what a comment quotes: white space does not count.
  function wordsOf(article) {
    const walker = document.createTreeWalker(article.querySelector('.body') ?? article, NodeFilter.SHOW_TEXT);
    const at = []; // where each character of words comes from
    let words = '';
    for (let node; (node = walker.nextNode()); ) {
      if (node.parentElement.localName === 'button') continue; // it is not selected either
      for (let i = 0; i < node.data.length; i++) {
        if (/\s/.test(node.data[i])) continue;
        words += node.data[i];
        at.push([node, i]);
      }
    }
    return { words, at };
  }

  // The words that comments quote are marked, where the browser can do so without touching the page.
  function mark() {
    if (!globalThis.Highlight) return;
    const ranges = [];
    const read = new Map();
    const wordsIn = (e) => read.get(e) ?? read.set(e, wordsOf(e)).get(e);
    for (const thread of entries.querySelectorAll('.thread:not([data-state=resolved])')) {
      const quote = bare(thread.querySelector('.quote')?.textContent ?? '');
      if (!quote) continue;
      // The entry before it, or another one of the same event.
      let event, i = -1, found;
      for (let e = thread; i < 0 && (e = e.previousElementSibling); ) {
        if (e.localName !== 'article' || e.hidden || e.dataset.event) continue;
        if (index(e) !== (event ??= index(e))) break;
        found = wordsIn(e);
        i = found.words.indexOf(quote);
        for (let n = Number(thread.dataset.nth); n > 0 && i >= 0; n--) i = found.words.indexOf(quote, i + 1);
      }
      if (i < 0) continue;
      const { at } = found, range = new Range();
      range.setStart(...at[i]);
      range.setEnd(at[i + quote.length - 1][0], at[i + quote.length - 1][1] + 1);
      ranges.push(range);
    }
    CSS.highlights.set('quoted', new Highlight(...ranges));
  }

  function converse() {
    addEventListener('said', ({ detail: m }) => m.event === 'notes' && apply(m.data));
    document.addEventListener('visibilitychange', read);
    mark();
    read();

    // What is selected in one entry can be commented on.
    const button = make('button', { type: 'button', id: 'remark', hidden: '' }, 'Comment');
    let chosen;
    function choose() {
      const s = getSelection();
      const range = !s.isCollapsed && s.rangeCount && s.getRangeAt(0);
      const inside = range && (range.commonAncestorContainer.parentElement ?? range.commonAncestorContainer);
      const article = inside ? inside.closest?.('#entries article .body')?.closest('article') : null;
      const quote = article && flat(s.toString()).match(/^.{0,300}/u)[0];
      const link = article?.querySelector('a.comment');
      chosen = quote && link && { article, quote, range: range.cloneRange(), link };
      button.hidden = !chosen;
      if (!chosen) return;
      if (!button.isConnected) document.body.append(button);
      const box = range.getBoundingClientRect();
      const bar = document.getElementById('bar').getBoundingClientRect().bottom;
      button.style.insetBlockStart = `${Math.min(innerHeight - 56, Math.max(bar + 8, box.bottom + 8))}px`;
      button.style.insetInlineStart = `${Math.min(innerWidth - 120, Math.max(8, box.left))}px`;
    }
    let timer;
    document.addEventListener('selectionchange', () => {
      clearTimeout(timer);
      timer = setTimeout(choose, 150);
    });
    addEventListener('scroll', () => chosen && choose(), { passive: true });
    button.onclick = () => {
      const { article, quote, range, link } = chosen;
      // Which of the occurrences it is: those that begin before the selection do not count.
      const { words, at } = wordsOf(article), looked = bare(quote);
      const start = at.findIndex(([node, i]) => range.comparePoint(node, i) >= 0);
      let nth = 0;
      for (let i = words.indexOf(looked); i >= 0 && i < start; i = words.indexOf(looked, i + 1)) nth++;
      const url = new URL(link.href);
      url.searchParams.set('quote', quote);
      url.searchParams.set('nth', nth);
      button.hidden = true;
      ask(url).catch(() => location.assign(url));
    };
  }
}
