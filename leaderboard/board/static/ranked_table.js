// The ranked table in the browser: search, sorting, filters, weights and columns.  The address holds all of this state.
const Touchstone = (() => {
  "use strict";
  const served = !document.documentElement.hasAttribute("data-static");
  const find = (selector, within = document) => within.querySelector(selector);
  const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];
  const query = () => new URL(location.href).searchParams;
  const SELECTION = ["release", "suite"];       // parameters that every address keeps
  const FIRST_ROWS = 100;                       // more than a screen shows

  const formatCell = (value) => value === null || value === undefined ? "–"
    : Math.abs(value) < 100 ? value.toFixed(2) : Math.round(value).toLocaleString("en");
  const fold = (words) => words.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

  class RankedTable {
    constructor(holder) {
      this.holder = holder;
      this.data = JSON.parse(find("#ts-data", holder).textContent);
      this.table = find("#ts-table", holder);
      this.body = this.table.tBodies[0];
      this.children = [...this.body.children];
      this.rows = this.children.filter((row) => row.dataset.name !== undefined);
      this.rest = findAll("#ts-rest tbody tr", holder);
      this.columns = this.data.columns.map(([key, title, description, initial]) => ({ key, title, description, initial }));
      this.positions = new Map(this.columns.map((column, index) => [column.key, index]));
      this.search = find("#ts-search", holder);
      this.order = find("#ts-order", holder);
      this.filters = findAll("[data-filter]", holder);
      this.lists = findAll("[data-narrow]", holder);
      this.scored = new Map(this.data.tasks.map(([name], index) => [name, index]));
      this.weights = findAll("[data-weight]", holder);
      this.sort = null;
      this.menu();
      this.read();
      this.listen();
      this.update(false);
    }

    menu() {
      const menu = find("#ts-columns", this.holder);
      for (const column of this.columns) {
        const label = document.createElement("label"), box = document.createElement("input");
        box.type = "checkbox";
        box.checked = column.initial;
        box.dataset.column = column.key;
        label.title = column.description;
        label.append(box, " " + column.title);
        menu.append(label);
      }
      this.boxes = findAll("[data-column]", menu);
    }

    read() {
      const parameters = query();
      this.search.value = parameters.get("q") ?? "";
      const order = parameters.get("order") ?? "overall";
      if ([...this.order.options].some((option) => option.value === order)) this.order.value = order;
      const off = (parameters.get("without") ?? "").split(","), on = (parameters.get("only") ?? "").split(",");
      for (const box of this.filters) {
        box.checked = box.dataset.filter === "lifted" ? !off.includes("lifted") : on.includes(box.dataset.filter);
      }
      for (const list of this.lists) {
        const value = parameters.get(list.dataset.narrow) ?? "";
        if ([...list.options].some((option) => option.value === value)) list.value = value;
      }
      for (const input of this.weights) input.value = parameters.get("w." + input.dataset.weight) ?? input.value;
      const sort = parameters.get("sort") ?? "", key = sort.replace(/^-/, "");
      if (["rank", "name", "overall"].includes(key) || this.positions.has(key)) this.sort = { key, up: !sort.startsWith("-") };
      const columns = parameters.get("columns"), keys = (columns ?? "").split(",").filter((key) => this.positions.has(key));
      if (columns === "none" || keys.length) for (const box of this.boxes) box.checked = keys.includes(box.dataset.column);
      this.showColumns();
    }

    listen() {
      const scroller = this.table.parentElement;        // read on scrolling only, because reading forces a layout
      scroller.addEventListener("scroll", () => { this.scrolled = scroller.scrollTop > 0; }, { passive: true });
      this.search.addEventListener("input", () => this.update());
      this.order.addEventListener("change", () => { this.sort = null; this.update(); });
      for (const control of [...this.filters, ...this.lists]) control.addEventListener("change", () => this.update());
      for (const input of this.weights) input.addEventListener("input", () => this.update());
      for (const box of this.boxes) box.addEventListener("change", () => { this.showColumns(); this.update(); });
      this.table.tHead.addEventListener("click", (event) => {
        const key = event.target.closest("[data-sort]")?.dataset.sort;
        if (!key) return;
        const down = key !== "name" && key !== "rank";
        this.sort = this.sort?.key === key ? { key, up: !this.sort.up } : { key, up: !down };
        this.update();
      });
      for (const link of findAll("[data-download]", this.holder)) link.addEventListener("click", () => this.download(link));
      find("#ts-copy", this.holder).addEventListener("click", async (event) => {
        try { await navigator.clipboard.writeText(location.href); event.target.textContent = "Copied"; }
        catch { event.target.textContent = "Copy the address above"; }
      });
    }

    get defaults() { return this.columns.filter((column) => column.initial).map((column) => column.key).join(","); }
    get chosen() { return this.boxes.filter((box) => box.checked).map((box) => box.dataset.column); }
    value(name, key) { return this.data.rows[name]?.values[this.positions.get(key)] ?? null; }

    showColumns() {
      const keys = this.chosen, head = this.table.tHead.rows[0];
      const current = findAll("th[data-key]", head).map((cell) => cell.dataset.key).slice(3);
      if (current.join() === keys.join()) return;
      const cells = new Map(findAll("th[data-key]", head).map((cell) => [cell.dataset.key, cell]));
      for (const cell of [...head.cells].slice(3)) cell.remove();
      for (const key of keys) head.append(cells.get(key) ?? this.head(key));
      for (const row of this.rows) {
        for (const cell of [...row.cells].slice(3)) cell.remove();
        for (const key of keys) this.fill(row.insertCell(), row.dataset.name, key);
      }
      for (const line of this.children) if (line.dataset.name === undefined) line.cells[0].colSpan = 3 + keys.length;
    }

    // Fill a cell as the template does: a score, with the score above chance where they differ, or a property.
    fill(cell, name, key) {
      cell.dataset.key = key;
      cell.textContent = formatCell(this.value(name, key));
      if (!this.scored.has(key)) { cell.className = "property"; return; }
      const above = this.data.rows[name].above[this.scored.get(key)] ?? null;
      cell.className = "h" + Math.ceil(5 * Math.min(1, Math.max(0, above ?? 0)));
      if (this.data.beside.includes(key)) {
        const small = document.createElement("small");
        small.textContent = formatCell(above);
        cell.append(" ", small);
      }
    }

    head(key) {
      const column = this.columns[this.positions.get(key)], cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      cell.dataset.key = key;
      if (!this.scored.has(key)) cell.className = "property";
      button.type = "button";
      button.dataset.sort = key;
      button.title = column.description;
      button.textContent = column.title;
      cell.append(button);
      if (this.data.marked.includes(key)) {
        const mark = document.createElement("span");
        mark.className = "mark";
        mark.title = "A trivial baseline scores high on this task";
        mark.textContent = "●";
        button.append(" ", mark);
      }
      return cell;
    }

    // Return the function of a row by which the table is ranked, or null for the overall score.
    score() {
      const by = this.order.value;
      const weights = this.weights.map((input) => input.value.trim() === "" ? NaN : Number(input.value));
      const valid = weights.every((weight) => weight >= 0 && weight < Infinity) && weights.some((weight) => weight > 0);
      find("#ts-weights", this.holder).hidden = by !== "weights";
      find("#ts-weights [role=alert]", this.holder).hidden = valid;
      this.weighed = by === "weights" && valid;
      if (by === "weights") {
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        return valid ? (row) => this.data.rows[row.dataset.name].above.reduce((sum, above, i) => sum + weights[i] * (above ?? 0), 0) / total
          : null;
      }
      if (by === "borda") return (row) => row.dataset.borda === "" ? null : Number(row.dataset.borda);
      if (by.startsWith("task.")) {
        const index = this.data.tasks.findIndex(([name]) => "task." + name === by);
        return (row) => this.data.rows[row.dataset.name].above[index];
      }
      return null;
    }

    key(row, key) {
      if (key === "name") return row.dataset.name;
      if (key === "rank") return Number(find(".rank b", row).textContent);
      if (key === "overall") return this.weighed ? Number(find(".value", row).textContent) : this.data.rows[row.dataset.name].overall;
      return this.value(row.dataset.name, key);
    }

    update(remember = true) {
      const words = fold(this.search.value).replaceAll(";", " ").split(/\s+/).filter(Boolean).slice(0, 20);
      const on = this.filters.filter((box) => box.checked && box.dataset.filter !== "lifted").map((box) => box.dataset.filter);
      const lifted = this.filters.every((box) => box.dataset.filter !== "lifted" || box.checked);
      const matches = (row) => words.every((word) => row.dataset.find.includes(word));
      const narrow = Object.fromEntries(this.lists.map((list) => [list.dataset.narrow, list.value]));
      for (const name of ["kind", "input"]) if (narrow[name]) on.push(`${name}-${narrow[name]}`);
      const maximum = narrow.cost && this.data.cost ? Number(narrow.cost) : Infinity;
      const kept = this.rows.filter((row) => {
        const tags = row.dataset.tags.split(" ");
        return matches(row) && on.every((tag) => tags.includes(tag)) && (lifted || !tags.includes("lifted"))
          && (maximum === Infinity || (this.value(row.dataset.name, this.data.cost) ?? Infinity) <= maximum);
      });
      const score = this.score();
      this.rank(score);
      let ordered = score === null ? [...kept] : sorted(kept, score, false);
      if (this.sort) ordered = sorted(kept, (row) => this.key(row, this.sort.key), this.sort.up);
      const complete = kept.length === this.rows.length;
      this.show(complete && score === null && !this.sort ? this.children : ordered.length ? ordered : [emptyRow(this.table)]);
      for (const cell of findAll("th[data-key]", this.table.tHead)) {
        if (this.sort?.key === cell.dataset.key) cell.setAttribute("aria-sort", this.sort.up ? "ascending" : "descending");
        else cell.removeAttribute("aria-sort");
      }
      find("#ts-count", this.holder).textContent = complete ? `${kept.length} ranked metrics.` : `${kept.length} of ${this.rows.length} ranked metrics.`;
      let visible = 0;
      for (const row of this.rest) { row.hidden = !matches(row); visible += !row.hidden; }
      find("#ts-rest", this.holder).open = words.length > 0 && visible > 0;
      this.names = ordered.map((row) => row.dataset.name);
      this.unchanged = complete && !this.sort && score === null;
      if (remember) this.remember(lifted);
    }

    // Show the first screen of a long table at once and the rest after it is drawn; all of it after scrolling.
    show(rows) {
      this.current = rows;
      const first = this.scrolled ? rows.length : FIRST_ROWS;
      this.body.replaceChildren(...rows.slice(0, first));
      if (rows.length <= first) return;
      requestAnimationFrame(() => setTimeout(() => { if (this.current === rows) this.body.append(...rows.slice(first)); }));
    }

    // Number the rows by another score, or as the server did for none.
    rank(score) {
      if (score === null && !this.ranked) return;
      this.ranked = score !== null;
      const values = score === null ? null : this.rows.map((row) => score(row) ?? -Infinity);
      const ranks = new Map();
      if (values) [...values].sort((a, b) => b - a).forEach((value, index) => { if (!ranks.has(value)) ranks.set(value, index + 1); });
      this.rows.forEach((row, number) => {
        const [rank, range] = [find(".rank b", row), find(".rank small", row)];
        if (range) range.hidden = values !== null;
        rank.textContent = values === null ? row.dataset.rank : ranks.get(values[number]);
        this.rescore(row, this.weighed ? values[number] : null);
      });
      find("th[data-key=overall] button", this.table).textContent = this.weighed ? "By my weights" : `${this.order.options[0].text}, 95% CI`;
    }

    // Draw the bar of a weighted score, which has no interval, or the original bar for none.
    rescore(row, score) {
      const bar = find("i.bar", row), value = find(".value", row);
      if (!bar || (score === null && bar.original === undefined)) return;
      bar.original ??= { style: bar.getAttribute("style"), label: bar.getAttribute("aria-label"), value: value.textContent };
      value.textContent = score === null ? bar.original.value : formatCell(score);
      bar.setAttribute("style", score === null ? bar.original.style : `--value:${100 * Math.min(1, Math.max(0, score))}%`);
      bar.setAttribute("aria-label", score === null ? bar.original.label : formatCell(score));
    }

    remember(lifted) {
      const address = new URL(location.href), parameters = address.searchParams;
      const put = (name, value) => value ? parameters.set(name, value) : parameters.delete(name);
      put("q", this.search.value.trim());
      put("order", this.order.value === "overall" ? "" : this.order.value);
      put("only", this.filters.filter((box) => box.checked && box.dataset.filter !== "lifted").map((box) => box.dataset.filter).join(","));
      for (const list of this.lists) put(list.dataset.narrow, list.value);
      put("without", lifted ? "" : "lifted");
      put("sort", this.sort ? (this.sort.up ? "" : "-") + this.sort.key : "");
      put("columns", this.chosen.join(",") === this.defaults ? "" : this.chosen.join(",") || "none");
      for (const input of this.weights) put("w." + input.dataset.weight, this.order.value === "weights" ? input.value : "");
      history.replaceState(history.state, "", address);
    }

    download(link) {
      if (!served) return;
      const parameters = new URLSearchParams({ track: this.data.track, columns: this.chosen.join(",") });
      if (!this.unchanged) parameters.set("names", this.names.join(","));
      if (this.weighed) {
        parameters.set("weights", this.weights.map((input) => `${input.dataset.weight}:${input.value}`).join(","));
      } else if (!["overall", "weights"].includes(this.order.value)) parameters.set("order", this.order.value);
      for (const name of SELECTION) if (query().has(name)) parameters.set(name, query().get(name));
      link.href = `/api/board.${link.dataset.download}?${parameters}`;
    }
  }

  // Sort rows by a key; missing values come last in both directions.
  function sorted(rows, key, up) {
    const keyed = rows.map((row) => [row, key(row)]);
    const defined = keyed.filter(([, value]) => value !== null), missing = keyed.filter(([, value]) => value === null);
    defined.sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    return [...defined, ...missing].map(([row]) => row);
  }

  function emptyRow(table) {
    const row = document.createElement("tr"), cell = row.insertCell();
    cell.colSpan = table.tHead.rows[0].cells.length;
    cell.textContent = "No ranked metric matches.";
    return row;
  }

  return { RankedTable, served, find, findAll, query, SELECTION };
})();
