// The link that the server prints has the token behind a #, which browsers send to nobody. This puts
// it into the form and sends that; without it, a person does. It leaves nothing in the address bar.

const token = location.hash.slice(1);

// Any other fragment names a place on a page.
if (location.pathname === '/enter' && /^[\w-]{43}$/.test(token)) {
  history.replaceState(null, '', location.pathname);
  const form = document.querySelector('form');
  form.elements.token.value = token;
  form.requestSubmit();
}
