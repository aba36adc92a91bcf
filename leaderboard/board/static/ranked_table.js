// The ranked table in the browser: searched, sorted, filtered, weighed, its columns picked.  All of that stands in the address.
const Touchstone = (() => {
  "use strict";
  const served = !document.documentElement.hasAttribute("data-static");
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const query = () => new URL(location.href).searchParams;
  const OTHER = ["release", "suite"];           // what is shown instead of what is shown first
  const AT_ONCE = 100;                          // rows: more than a screen holds

  const written = (value) => value === null || value === undefined ? "–"
    : Math.abs(value) < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
  const plain = (words) => words.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

  class RankedTable {
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
      this.lists = all("[data-narrow]", holder);
      this.scored = new Map(this.data.tasks.map(([name], place) => [name, place]));
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
      for (const list of this.lists) {
        const wanted = asked.get(list.dataset.narrow) ?? "";
        if ([...list.options].some((option) => option.value === wanted)) list.value = wanted;
      }
      for (const input of this.weights) input.value = asked.get("w." + input.dataset.weight) ?? input.value;
      const sort = asked.get("sort") ?? "", key = sort.replace(/^-/, "");
      if (["rank", "name", "overall"].includes(key) || this.place.has(key)) this.sort = { key, up: !sort.startsWith("-") };
      const columns = asked.get("columns"), wanted = (columns ?? "").split(",").filter((one) => this.place.has(one));
      if (columns === "none" || wanted.length) for (const box of this.boxes) box.checked = wanted.includes(box.dataset.column);
      this.showColumns();
    }

    listen() {
      const scroller = this.table.parentElement;        // asked only where somebody scrolls: the answer costs a layout
      scroller.addEventListener("scroll", () => { this.scrolled = scroller.scrollTop > 0; }, { passive: true });
      this.search.addEventListener("input", () => this.update());
      this.order.addEventListener("change", () => { this.sort = null; this.update(); });
      for (const one of [...this.filters, ...this.lists]) one.addEventListener("change", () => this.update());
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
        for (const key of wanted) this.fill(row.insertCell(), row.dataset.name, key);
      }
      for (const line of this.children) if (line.dataset.name === undefined) line.cells[0].colSpan = 3 + wanted.length;
    }

    // As the server writes it: a score with the one above chance beside it, or a property.
    fill(cell, name, key) {
      cell.dataset.key = key;
      cell.textContent = written(this.value(name, key));
      if (!this.scored.has(key)) { cell.className = "property"; return; }
      const above = this.data.rows[name].above[this.scored.get(key)] ?? null;
      cell.className = "h" + Math.ceil(5 * Math.min(1, Math.max(0, above ?? 0)));
      if (this.data.beside.includes(key)) {
        const small = document.createElement("small");
        small.textContent = written(above);
        cell.append(" ", small);
      }
    }

    head(key) {
      const column = this.columns[this.place.get(key)], cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      cell.dataset.key = key;
      if (!this.scored.has(key)) cell.className = "property";
      button.type = "button";
      button.dataset.sort = key;
      button.title = column.words;
      button.textContent = column.title;
      cell.append(button);
      if (this.data.marked.includes(key)) {
        const mark = document.createElement("span");
        mark.className = "mark";
        mark.title = "gameable: a control does well here";
        mark.textContent = "●";
        button.append(" ", mark);
      }
      return cell;
    }

    // By what the table is ranked now: the score of a metric's name, or null for the order it came in.
    score() {
      const by = this.order.value;
      const asked = this.weights.map((input) => input.value.trim() === "" ? NaN : Number(input.value));
      const sound = asked.every((weight) => weight >= 0 && weight < Infinity) && asked.some((weight) => weight > 0);
      one("#ts-weights", this.holder).hidden = by !== "weights";
      one("#ts-weights [role=alert]", this.holder).hidden = sound;
      this.weighed = by === "weights" && sound;
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
      if (key === "rank") return Number(one(".rank b", row).textContent);
      if (key === "overall") return this.weighed ? Number(one(".value", row).textContent) : this.data.rows[row.dataset.name].overall;
      return this.value(row.dataset.name, key);
    }

    update(remember = true) {
      const words = plain(this.search.value).replaceAll(";", " ").split(/\s+/).filter(Boolean).slice(0, 20);
      const on = this.filters.filter((box) => box.checked && box.dataset.filter !== "lifted").map((box) => box.dataset.filter);
      const lifted = this.filters.every((box) => box.dataset.filter !== "lifted" || box.checked);
      const fits = (row) => words.every((word) => row.dataset.find.includes(word));
      const narrow = Object.fromEntries(this.lists.map((list) => [list.dataset.narrow, list.value]));
      for (const name of ["kind", "input"]) if (narrow[name]) on.push(`${name}-${narrow[name]}`);
      const dearest = narrow.cost ? Number(narrow.cost) : Infinity;
      const kept = this.rows.filter((row) => {
        const tags = row.dataset.tags.split(" ");
        return fits(row) && on.every((tag) => tags.includes(tag)) && (lifted || !tags.includes("lifted"))
          && (dearest === Infinity || (this.value(row.dataset.name, "timing.cost_in_chi") ?? Infinity) <= dearest);
      });
      const score = this.score();
      this.rank(score);
      let ordered = score === null ? [...kept] : sorted(kept, score, false);
      if (this.sort) ordered = sorted(kept, (row) => this.key(row, this.sort.key), this.sort.up);
      const whole = kept.length === this.rows.length;
      this.show(whole && score === null && !this.sort ? this.children : ordered.length ? ordered : [nothing(this.table)]);
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
      if (remember) this.remember(lifted);
    }

    // What is in sight first, the rest of a long table once that is drawn; all of it where somebody has scrolled down.
    show(rows) {
      this.shown = rows;
      const first = this.scrolled ? rows.length : AT_ONCE;
      this.body.replaceChildren(...rows.slice(0, first));
      if (rows.length <= first) return;
      requestAnimationFrame(() => setTimeout(() => { if (this.shown === rows) this.body.append(...rows.slice(first)); }));
    }

    // The place of each metric by another score; by its own again for none.
    rank(score) {
      if (score === null && !this.ranked) return;
      this.ranked = score !== null;
      const values = score === null ? null : this.rows.map((row) => score(row) ?? -Infinity);
      const places = new Map();
      if (values) [...values].sort((a, b) => b - a).forEach((value, place) => { if (!places.has(value)) places.set(value, place + 1); });
      this.rows.forEach((row, number) => {
        const [place, between] = [one(".rank b", row), one(".rank small", row)];
        if (between) between.hidden = values !== null;
        place.textContent = values === null ? row.dataset.rank : places.get(values[number]);
        this.rescore(row, this.weighed ? values[number] : null);
      });
      one("th[data-key=overall] button", this.table).textContent = this.weighed ? "By my weights" : "Above chance, 95%";
    }

    // The bar of a weighted score, which has no interval; its own again for none.
    rescore(row, score) {
      const bar = one("i.bar", row), value = one(".value", row);
      if (!bar || (score === null && bar.own === undefined)) return;
      bar.own ??= { style: bar.getAttribute("style"), label: bar.getAttribute("aria-label"), value: value.textContent };
      value.textContent = score === null ? bar.own.value : written(score);
      bar.setAttribute("style", score === null ? bar.own.style : `--value:${100 * Math.min(1, Math.max(0, score))}%`);
      bar.setAttribute("aria-label", score === null ? bar.own.label : written(score));
    }

    remember(lifted) {
      const there = new URL(location.href), asked = there.searchParams;
      const put = (name, value) => value ? asked.set(name, value) : asked.delete(name);
      put("q", this.search.value.trim());
      put("order", this.order.value === "overall" ? "" : this.order.value);
      put("only", this.filters.filter((box) => box.checked && box.dataset.filter !== "lifted").map((box) => box.dataset.filter).join(","));
      for (const list of this.lists) put(list.dataset.narrow, list.value);
      put("without", lifted ? "" : "lifted");
      put("sort", this.sort ? (this.sort.up ? "" : "-") + this.sort.key : "");
      put("columns", this.chosen.join(",") === this.usual ? "" : this.chosen.join(",") || "none");
      for (const input of this.weights) put("w." + input.dataset.weight, this.order.value === "weights" ? input.value : "");
      history.replaceState(history.state, "", there);
    }

    download(link) {
      if (!served) return;
      const wanted = new URLSearchParams({ track: this.data.track, columns: this.chosen.join(",") });
      if (!this.plain) wanted.set("names", this.names.join(","));
      if (this.weighed) {
        wanted.set("weights", this.weights.map((input) => `${input.dataset.weight}:${input.value}`).join(","));
      } else if (!["overall", "weights"].includes(this.order.value)) wanted.set("order", this.order.value);
      for (const name of OTHER) if (query().has(name)) wanted.set(name, query().get(name));
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

  return { RankedTable, served, one, all, query, OTHER };
})();
