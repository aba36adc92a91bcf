// What a page does in the browser: it goes from page to page without loading everything again, and it searches, sorts, filters
// and weighs the table.  All state stands in the address.  Text of submissions is set as text, never as HTML; HTML comes from
// the server alone, which has escaped it.
(() => {
  "use strict";
  const served = !document.documentElement.hasAttribute("data-static");
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const query = () => new URL(location.href).searchParams;

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
    if (one("#ts-table", holder)) new Board(holder);
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
        for (const [name, value] of new FormData(form)) if (value) wanted.set(name, value);
        const release = query().get("release");
        if (release) wanted.set("release", release);
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

  // ---- the table --------------------------------------------------------------------------------------------------------

  const written = (value) => value === null || value === undefined ? "–"
    : Math.abs(value) < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");

  class Board {
    constructor(holder) {
      this.holder = holder;
      this.data = JSON.parse(one("#ts-data", holder).textContent);
      this.table = one("#ts-table", holder);
      this.body = this.table.tBodies[0];
      this.children = [...this.body.children];
      this.rows = this.children.filter((row) => row.dataset.name !== undefined);
      this.rest = all("#ts-rest tbody tr", holder);
      this.columns = this.data.columns.map(([key, title, words, shown]) => ({ key, title, words, shown }));
      this.place = new Map(this.columns.map((column, place) => [column.key, place]));
      this.search = one("#ts-search", holder);
      this.order = one("#ts-order", holder);
      this.filters = all("[data-filter]", holder);
      this.weights = all("[data-weight]", holder);
      this.sort = null;
      this.menu();
      this.read();
      this.listen();
      this.update(false);
    }

    menu() {
      const menu = one("#ts-columns", this.holder);
      for (const column of this.columns) {
        const label = document.createElement("label"), box = document.createElement("input");
        box.type = "checkbox";
        box.checked = column.shown;
        box.dataset.column = column.key;
        label.title = column.words;
        label.append(box, " " + column.title);
        menu.append(label);
      }
      this.boxes = all("[data-column]", menu);
    }

    read() {
      const asked = query();
      this.search.value = asked.get("q") ?? "";
      const order = asked.get("order") ?? "overall";
      if ([...this.order.options].some((option) => option.value === order)) this.order.value = order;
      const off = (asked.get("without") ?? "").split(","), on = (asked.get("only") ?? "").split(",");
      for (const box of this.filters) {
        box.checked = box.dataset.filter === "lifted" ? !off.includes("lifted") : on.includes(box.dataset.filter);
      }
      for (const input of this.weights) input.value = asked.get("w." + input.dataset.weight) ?? input.value;
      const sort = asked.get("sort");
      if (sort) this.sort = { key: sort.replace(/^-/, ""), up: !sort.startsWith("-") };
      const columns = asked.get("columns");
      if (columns !== null) {
        const wanted = columns.split(",");
        for (const box of this.boxes) box.checked = wanted.includes(box.dataset.column);
      }
      this.showColumns();
    }

    listen() {
      this.search.addEventListener("input", () => this.update());
      this.order.addEventListener("change", () => { this.sort = null; this.update(); });
      for (const box of this.filters) box.addEventListener("change", () => this.update());
      for (const input of this.weights) input.addEventListener("input", () => this.update());
      for (const box of this.boxes) box.addEventListener("change", () => { this.showColumns(); this.update(); });
      this.table.tHead.addEventListener("click", (event) => {
        const key = event.target.closest("[data-sort]")?.dataset.sort;
        if (!key) return;
        const down = key !== "name" && key !== "rank";
        this.sort = this.sort?.key === key ? { key, up: !this.sort.up } : { key, up: !down };
        this.update();
      });
      for (const link of all("[data-download]", this.holder)) link.addEventListener("click", () => this.download(link));
      one("#ts-copy", this.holder).addEventListener("click", async (event) => {
        try { await navigator.clipboard.writeText(location.href); event.target.textContent = "Copied"; }
        catch { event.target.textContent = "Copy the address above"; }
      });
    }

    get usual() { return this.columns.filter((column) => column.shown).map((column) => column.key).join(","); }
    get chosen() { return this.boxes.filter((box) => box.checked).map((box) => box.dataset.column); }
    value(name, key) { return this.data.rows[name]?.values[this.place.get(key)] ?? null; }

    showColumns() {
      const wanted = this.chosen, head = this.table.tHead.rows[0];
      const there = all("th[data-key]", head).map((cell) => cell.dataset.key).slice(3);
      if (there.join() === wanted.join()) return;
      const marks = new Map(all("th[data-key]", head).map((cell) => [cell.dataset.key, cell]));
      for (const cell of [...head.cells].slice(3)) cell.remove();
      for (const key of wanted) head.append(marks.get(key) ?? this.head(key));
      for (const row of this.rows) {
        for (const cell of [...row.cells].slice(3)) cell.remove();
        for (const key of wanted) {
          const cell = row.insertCell();
          cell.dataset.key = key;
          cell.textContent = written(this.value(row.dataset.name, key));
        }
      }
      for (const line of this.children) if (line.dataset.name === undefined) line.cells[0].colSpan = 3 + wanted.length;
    }

    head(key) {
      const column = this.columns[this.place.get(key)], cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      cell.dataset.key = key;
      button.type = "button";
      button.dataset.sort = key;
      button.title = column.words;
      button.textContent = column.title;
      cell.append(button);
      return cell;
    }

    // By what the table is ranked now: the score of a metric's name, or null for the order it came in.
    score() {
      const by = this.order.value;
      const asked = this.weights.map((input) => Number(input.value));
      const sound = asked.every((weight) => weight >= 0 && weight < Infinity) && asked.some((weight) => weight > 0);
      one("#ts-weights", this.holder).hidden = by !== "weights";
      one("#ts-weights [role=alert]", this.holder).hidden = sound;
      if (by === "weights") {
        const whole = asked.reduce((sum, weight) => sum + weight, 0);
        return sound ? (row) => this.data.rows[row.dataset.name].above.reduce((sum, above, i) => sum + asked[i] * (above ?? 0), 0) / whole
          : null;
      }
      if (by === "borda") return (row) => row.dataset.borda === "" ? null : Number(row.dataset.borda);
      if (by.startsWith("task.")) {
        const place = this.data.tasks.findIndex(([name]) => "task." + name === by);
        return (row) => this.data.rows[row.dataset.name].above[place];
      }
      return null;
    }

    key(row, key) {
      if (key === "name") return row.dataset.name;
      if (key === "rank" || key === "overall") return this.data.rows[row.dataset.name].overall * (key === "rank" ? -1 : 1);
      return this.value(row.dataset.name, key);
    }

    update(remember = true) {
      const words = this.search.value.toLowerCase().replaceAll(";", " ").split(/\s+/).filter(Boolean).slice(0, 20);
      const on = this.filters.filter((box) => box.checked && box.dataset.filter !== "lifted").map((box) => box.dataset.filter);
      const lifted = this.filters.every((box) => box.dataset.filter !== "lifted" || box.checked);
      const fits = (row) => words.every((word) => row.dataset.find.includes(word));
      const kept = this.rows.filter((row) => {
        const tags = row.dataset.tags.split(" ");
        return fits(row) && on.every((tag) => tags.includes(tag)) && (lifted || !tags.includes("lifted"));
      });
      const score = this.score();
      this.rank(score);
      let ordered = score === null ? [...kept] : sorted(kept, score, false);
      if (this.sort) ordered = sorted(kept, (row) => this.key(row, this.sort.key), this.sort.up);
      const whole = kept.length === this.rows.length;
      this.body.replaceChildren(...(whole && score === null && !this.sort ? this.children : ordered.length ? ordered : [nothing(this.table)]));
      for (const cell of all("th[data-key]", this.table.tHead)) {
        if (this.sort?.key === cell.dataset.key) cell.setAttribute("aria-sort", this.sort.up ? "ascending" : "descending");
        else cell.removeAttribute("aria-sort");
      }
      one("#ts-count", this.holder).textContent = whole ? `${kept.length} ranked metrics.` : `${kept.length} of ${this.rows.length} ranked metrics.`;
      let found = 0;
      for (const row of this.rest) { row.hidden = !fits(row); found += !row.hidden; }
      one("#ts-rest", this.holder).open = words.length > 0 && found > 0;
      this.names = ordered.map((row) => row.dataset.name);
      this.plain = whole && !this.sort && score === null;
      if (remember) this.remember(on, lifted);
    }

    // The place of each metric by another score; by its own again for none.
    rank(score) {
      const values = score === null ? null : new Map(this.rows.map((row) => [row, score(row)]));
      const ordered = values && [...values.values()].map((value) => value ?? -Infinity).sort((a, b) => b - a);
      for (const row of this.rows) {
        const [place, between] = [one(".rank b", row), one(".rank small", row)];
        if (between) between.hidden = values !== null;
        place.textContent = values === null ? row.dataset.rank : 1 + ordered.indexOf(values.get(row) ?? -Infinity);
      }
    }

    remember(on, lifted) {
      const there = new URL(location.href), asked = there.searchParams;
      const put = (name, value) => value ? asked.set(name, value) : asked.delete(name);
      put("q", this.search.value.trim());
      put("order", this.order.value === "overall" ? "" : this.order.value);
      put("only", on.join(","));
      put("without", lifted ? "" : "lifted");
      put("sort", this.sort ? (this.sort.up ? "" : "-") + this.sort.key : "");
      put("columns", this.chosen.join(",") === this.usual ? "" : this.chosen.join(","));
      for (const input of this.weights) put("w." + input.dataset.weight, this.order.value === "weights" ? input.value : "");
      history.replaceState(history.state, "", there);
    }

    download(link) {
      if (!served) return;
      const wanted = new URLSearchParams({ track: this.data.track, columns: this.chosen.join(",") });
      if (!this.plain) wanted.set("names", this.names.join(","));
      if (this.order.value === "weights") {
        wanted.set("weights", this.weights.map((input) => `${input.dataset.weight}:${input.value}`).join(","));
      }
      const release = query().get("release");
      if (release) wanted.set("release", release);
      link.href = `/api/board.${link.dataset.download}?${wanted}`;
    }
  }

  // Unknown values come last, whichever way.
  function sorted(rows, key, up) {
    const keyed = rows.map((row) => [row, key(row)]);
    const known = keyed.filter(([, value]) => value !== null), unknown = keyed.filter(([, value]) => value === null);
    known.sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    return [...known, ...unknown].map(([row]) => row);
  }

  function nothing(table) {
    const row = document.createElement("tr"), cell = row.insertCell();
    cell.colSpan = table.tHead.rows[0].cells.length;
    cell.textContent = "No ranked metric matches.";
    return row;
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
