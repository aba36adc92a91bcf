// Navigation in the browser: pages are replaced without a reload, and the address holds all state.
// Text of submissions is inserted as text, never as HTML; HTML comes only from the server's templates, which escape it.
(() => {
  "use strict";
  const { RankedTable, served, find, findAll, query, SELECTION } = Touchstone;

  // ---- navigation -------------------------------------------------------------------------------------------------------

  const fetchPage = async (search) => {
    const response = await fetch("/page" + search, { headers: { accept: "application/json" } });
    return response.json();
  };

  let newest = 0;
  async function show(search, request = fetchPage(search), moved = true) {
    const number = ++newest;
    const [page, holder] = await Promise.all([request.catch(() => null), findHolder()]);
    if (number !== newest) return;
    if (page === null) {
      holder.textContent = "The server does not respond. Reload the page to try again.";
    } else {
      holder.innerHTML = page.html;
      document.title = page.title;
      initialise(holder);
    }
    holder.setAttribute("aria-busy", "false");
    if (moved) { scrollTo(0, 0); find("#ts-main", holder)?.focus({ preventScroll: true }); }
  }

  function findHolder() {
    return new Promise((resolve) => {
      const holder = find("#touchstone");
      if (holder) { resolve(holder); return; }
      const observer = new MutationObserver(() => {
        const added = find("#touchstone");
        if (added) { observer.disconnect(); resolve(added); }
      });
      observer.observe(document, { childList: true, subtree: true });
    });
  }

  function go(search) {
    history.pushState(null, "", search === "?" ? location.pathname : search);
    return show(location.search);
  }

  function follow(event) {
    const link = event.target.closest?.('a[href^="?"]');
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  }

  function initialise(holder) {
    if (find("#ts-table", holder)) new RankedTable(holder);
    find("#ts-shown", holder)?.addEventListener("change", (event) => {
      const parameters = query();
      for (const name of SELECTION) parameters.delete(name);
      const [name, value] = event.target.value.split("=");
      if (name) parameters.set(name, value);
      go("?" + parameters);
    });
    find("#ts-against", holder)?.addEventListener("change", (event) => {
      const parameters = query();
      parameters.set("metric", event.target.dataset.metric);
      parameters.set("against", event.target.value);
      go("?" + parameters);
    });
    find("form[data-try]", holder)?.addEventListener("submit", (event) => {
      event.preventDefault();
      tryOut(event.target, find("#ts-tried", holder));
    });
    for (const form of findAll("form[data-go]", holder)) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const parameters = new URLSearchParams({ view: form.dataset.go });
        const filled = new FormData(form);
        for (const name of new Set(filled.keys())) {
          const values = filled.getAll(name).map((value) => value.trim()).filter(Boolean);
          if (values.length) parameters.set(name, values.join(","));
        }
        for (const name of SELECTION) if (query().has(name)) parameters.set(name, query().get(name));
        go("?" + parameters);
      });
    }
  }

  // Run metrics on the texts of the form.
  async function tryOut(form, output) {
    const button = find("button", form);
    button.disabled = true;
    output.textContent = "Running metrics …";
    try {
      const response = await fetch("/try" + location.search, {
        method: "POST", headers: { "content-type": "application/json" }, signal: AbortSignal.timeout(60_000),
        body: JSON.stringify({ kind: form.dataset.try, a: form.elements.a.value, b: form.elements.b.value }),
      });
      const result = await response.json();
      if (response.ok) output.innerHTML = result.html;
      else output.replaceChildren(failure(result.error));
    } catch {
      output.replaceChildren(failure("The server did not respond. Try again, with less text if it was long."));
    }
    button.disabled = false;
  }

  function failure(words) {
    const line = document.createElement("p");
    line.className = "failed";
    line.textContent = words;
    return line;
  }

  // ---- start ------------------------------------------------------------------------------------------------------------

  if (served) {
    show(location.search, fetchPage(location.search), false);
    addEventListener("popstate", () => show(location.search));
    document.addEventListener("click", follow);
  } else {
    document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
    addEventListener("DOMContentLoaded", () => initialise(document));
  }
})();
