// What a page does in the browser: it goes from page to page without loading everything again.  All state stands in the address.
// Text of submissions is set as text, never as HTML; HTML comes from the server alone, which has escaped it.
(() => {
  "use strict";
  const { RankedTable, served, one, all, query, OTHER } = Touchstone;

  // ---- from page to page ------------------------------------------------------------------------------------------------

  const ask = async (search) => {
    const answer = await fetch("/page" + search, { headers: { accept: "application/json" } });
    return answer.json();
  };

  let newest = 0;
  async function show(search, asked = ask(search), moved = true) {
    const mine = ++newest;
    const [page, holder] = await Promise.all([asked.catch(() => null), holderThere()]);
    if (mine !== newest) return;
    if (page === null) {
      holder.textContent = "The server does not answer. Reload the page to try again.";
    } else {
      holder.innerHTML = page.html;
      document.title = page.title;
      dress(holder);
    }
    holder.setAttribute("aria-busy", "false");
    if (moved) { scrollTo(0, 0); one("#ts-main", holder)?.focus({ preventScroll: true }); }
  }

  function holderThere() {
    return new Promise((resolve) => {
      const there = one("#touchstone");
      if (there) { resolve(there); return; }
      const watch = new MutationObserver(() => {
        const found = one("#touchstone");
        if (found) { watch.disconnect(); resolve(found); }
      });
      watch.observe(document, { childList: true, subtree: true });
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

  function dress(holder) {
    if (one("#ts-table", holder)) new RankedTable(holder);
    one("#ts-shown", holder)?.addEventListener("change", (event) => {
      const wanted = query();
      for (const name of OTHER) wanted.delete(name);
      const [name, value] = event.target.value.split("=");
      if (name) wanted.set(name, value);
      go("?" + wanted);
    });
    one("#ts-against", holder)?.addEventListener("change", (event) => {
      const wanted = query();
      wanted.set("metric", event.target.dataset.metric);
      wanted.set("against", event.target.value);
      go("?" + wanted);
    });
    one("form[data-try]", holder)?.addEventListener("submit", (event) => {
      event.preventDefault();
      tryOut(event.target, one("#ts-tried", holder));
    });
    for (const form of all("form[data-go]", holder)) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const wanted = new URLSearchParams({ view: form.dataset.go });
        const filled = new FormData(form);
        for (const name of new Set(filled.keys())) {
          const values = filled.getAll(name).map((value) => value.trim()).filter(Boolean);
          if (values.length) wanted.set(name, values.join(","));
        }
        for (const name of OTHER) if (query().has(name)) wanted.set(name, query().get(name));
        go("?" + wanted);
      });
    }
  }

  // What metrics say of texts that somebody brings.
  async function tryOut(form, shown) {
    const button = one("button", form);
    button.disabled = true;
    shown.textContent = "The metrics are asked …";
    try {
      const answer = await fetch("/try" + location.search, {
        method: "POST", headers: { "content-type": "application/json" }, signal: AbortSignal.timeout(60_000),
        body: JSON.stringify({ kind: form.dataset.try, a: form.elements.a.value, b: form.elements.b.value }),
      });
      const said = await answer.json();
      if (answer.ok) shown.innerHTML = said.html;
      else shown.replaceChildren(failure(said.error));
    } catch {
      shown.replaceChildren(failure("The server gave no answer. Try again, with less text if it was much."));
    }
    button.disabled = false;
  }

  function failure(words) {
    const line = document.createElement("p");
    line.className = "failed";
    line.textContent = words;
    return line;
  }

  // ---- where it starts --------------------------------------------------------------------------------------------------

  if (served) {
    show(location.search, ask(location.search), false);
    addEventListener("popstate", () => show(location.search));
    document.addEventListener("click", follow);
  } else {
    document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
    addEventListener("DOMContentLoaded", () => dress(document));
  }
})();
