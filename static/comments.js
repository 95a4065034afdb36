// Comments work without this module, which makes them live, and lets who reads comment on words that are
// selected, without leaving the page. It stands before app.js, which lends it its tools: nothing here makes
// markup of text.

addEventListener('served', ({ detail }) => serve(detail), { once: true });

function serve({ parse, make, morph, keepFocus, refreshTimes, announce, transcript }) {
  const main = document.querySelector('main');
  const entries = document.getElementById('entries');
  let reading; // what waits to be seen
  const flat = (s) => s.replace(/\s+/g, ' ').trim();

  // A dialog for the forms of other pages, there once it is asked for. What was typed is kept until it was taken.
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
    dialog.querySelector('textarea')?.focus();
  }
  dialog.addEventListener('submit', async (e) => {
    e.preventDefault();
    const form = e.target, buttons = form.querySelectorAll('button');
    const body = new URLSearchParams(new FormData(form, e.submitter));
    for (const b of buttons) b.disabled = true;
    try {
      const answer = await fetch(form.action, { method: 'POST', body });
      if (answer.ok) {
        dialog.close();
        announce.say('Kept');
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
          // What is being written stays: it is no part of the markup.
          keepFocus(() => morph(main, next));
          refreshTimes(main);
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
    // Some states end by themselves.
    function wait() {
      clearTimeout(timer);
      const until = Number(main.querySelector('[data-until]')?.dataset.until);
      if (until) timer = setTimeout(load, Math.max(0, until - Date.now()) + 250);
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

  // apply makes what stands beside the entries what the server says, and leaves alone what is not on the page.
  function apply(html) {
    const next = new Map([...parse(html).firstElementChild.children].map((e) => [e.id, e]));
    transcript.change(() => {
      for (const old of entries.querySelectorAll('[data-event]')) if (!next.has(old.id)) old.remove();
      for (const e of next.values()) {
        const old = document.getElementById(e.id);
        if (old?.dataset.event === e.dataset.event) morph(old, e);
        else {
          old?.remove();
          const stretch = [...entries.children].findLast((s) => Number(s.dataset.first) <= Number(e.dataset.event));
          if (!stretch) continue;
          const index = (s) => Number(s.dataset.event ?? s.id.match(/\d+/)?.[0]);
          const before = [...stretch.children].findLast((s) => index(s) <= Number(e.dataset.event));
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

  // Words of an entry, as they are kept with a comment: white space does not count.
  function wordsOf(article) {
    const walker = document.createTreeWalker(article.querySelector('.body') ?? article, NodeFilter.SHOW_TEXT);
    const at = []; // where each character of words comes from
    let words = '';
    for (let node; (node = walker.nextNode()); ) {
      for (let i = 0; i < node.data.length; i++) {
        const c = /\s/.test(node.data[i]) ? ' ' : node.data[i];
        if (c === ' ' && (!words || words.endsWith(' '))) continue;
        words += c;
        at.push([node, i]);
      }
    }
    return { words, at };
  }

  // The words that comments quote are marked, where the browser can do so without touching the page.
  function mark() {
    if (!globalThis.Highlight) return;
    const ranges = [];
    for (const thread of entries.querySelectorAll('.thread:not([data-state=resolved])')) {
      const quote = flat(thread.querySelector('.quote')?.textContent ?? '');
      let article = thread;
      while ((article = article.previousElementSibling) && !(article.localName === 'article' && !article.hidden && !article.dataset.event));
      if (!quote || !article) continue;
      const { words, at } = wordsOf(article);
      let i = words.indexOf(quote);
      for (let n = Number(thread.dataset.nth); n > 0 && i >= 0; n--) i = words.indexOf(quote, i + 1);
      if (i < 0 || i + quote.length > at.length) continue;
      const range = new Range();
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
      const quote = article && flat(s.toString()).slice(0, 300);
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
      const before = document.createRange();
      before.selectNodeContents(article.querySelector('.body'));
      before.setEnd(range.startContainer, range.startOffset);
      // Which of the occurrences it is: those that begin before the selection do not count.
      const start = flat(before.toString()).length, { words } = wordsOf(article);
      let nth = 0;
      for (let i = words.indexOf(quote); i >= 0 && i < start - 1; i = words.indexOf(quote, i + 1)) nth++;
      const url = new URL(link.href);
      url.searchParams.set('quote', quote);
      url.searchParams.set('nth', nth);
      button.hidden = true;
      ask(url).catch(() => location.assign(url));
    };
  }
}
