// Search, filters and sorting of ranked tables, whose state is kept in the address. Markup comes only from the server's templates.
window.Touchstone = (() => {
  "use strict";
  const CHUNK = 100;                      // rows that are added at once
  const FILTERS = ["q", "kind", "input", "cost", "only", "hide"];
  const HIDEABLE = ["lifted", "baselines", "ensembles"];
  const tables = new Map();               // by track
  const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";
  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

  function remember(values) {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(values)) {
      if (value === "" || value === null || value === undefined) address.searchParams.delete(name);
      else address.searchParams.set(name, value);
    }
    history.replaceState(history.state, "", address);
  }

  class RankedTable {
    constructor(element) {
      this.element = element;
      this.state = {};
      this.observer = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) this.append(); });
      element.addEventListener("click", (event) => {
        const index = event.target.closest?.("[data-sort]")?.dataset.sort;
        if (index !== undefined) this.sort(Number(index));
      });
      this.load();
    }

    // Read rows that the server has rendered: the first are in the document, the others are strings.
    load() {
      this.section = this.element.querySelector(".ranking");
      this.body = this.section.querySelector("tbody");
      const elements = [...this.body.rows];
      this.rows = JSON.parse(this.section.querySelector("[data-rows]").textContent).map(([name, text, tags, cost, keys, html], index) =>
        ({ name, text, tags: tags.split(" "), cost, keys, html, element: elements[index] }));
      this.tags = new Set(this.rows.flatMap((row) => row.tags));      // an address may name others
      tables.set(this.section.dataset.track, this);
      const track = parameter("track") || tables.keys().next().value;
      if (track === this.section.dataset.track) {
        for (const name of [...FILTERS, "sort"]) this.state[name] = parameter(name);
        if (parameter("without") === "lifted") this.state.hide = "lifted";      // in addresses of earlier versions
      }
      this.apply();
    }

    sort(index) {
      const name = String(index), ascending = index < 2;
      const up = this.state.sort === name || this.state.sort === "-" + name ? this.state.sort.startsWith("-") : ascending;
      this.state.sort = (up ? "" : "-") + name;
      remember({ track: this.section.dataset.track, sort: this.state.sort });
      this.apply();
    }

    matches({ text, tags, cost }) {
      const { q = "", kind, input, only = "", hide = "" } = this.state, most = Number(this.state.cost) || Infinity;
      const hidden = hide.split(","), baseline = tags.includes("baseline");
      return fold(q).split(/[\s;]+/).slice(0, 20).every((word) => text.includes(word))
        && [kind && `kind-${kind}`, input && `input-${input}`, ...only.split(",")].every((tag) => !this.tags.has(tag) || tags.includes(tag))
        && !(hidden.includes("lifted") && tags.includes("lifted")) && !(hidden.includes("baselines") && baseline)
        && (most === Infinity || (cost !== null && cost <= most));
    }

    apply() {
      const sort = this.state.sort ?? "", index = Number(sort.replace("-", "")), sign = sort.startsWith("-") ? -1 : 1;
      let rows = this.rows.filter((row) => this.matches(row));
      if (sort && rows.length && index < rows[0].keys.length) {
        const known = rows.filter((row) => row.keys[index] !== null), missing = rows.filter((row) => row.keys[index] === null);
        known.sort(({ keys: a }, { keys: b }) => sign * (a[index] < b[index] ? -1 : a[index] > b[index] ? 1 : 0));
        rows = [...known, ...missing];
      }
      const ranked = (row) => !row.tags.includes("baseline"), all = this.rows.filter(ranked).length, count = rows.filter(ranked).length;
      this.section.classList.toggle("reordered", Boolean(sort) || count < all);      // dividing lines belong to the whole order
      const untimed = Number(this.state.cost) ? this.rows.filter((row) => row.cost === null && ranked(row)).length : 0;
      this.section.querySelector("[role=status]").textContent = (count < all ? `${count} of ${all} ranked metrics.` : `${all} ranked metrics.`)
        + (untimed ? ` ${untimed} were not timed and are hidden.` : "") + (rows.length ? "" : " No ranked metric matches.");
      this.section.querySelectorAll("th:has([data-sort])").forEach((head) => {
        const sorted = sort && head.querySelector("button").dataset.sort === String(index);
        if (sorted) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending"); else head.removeAttribute("aria-sort");
      });
      const ensembles = this.section.querySelector(".ensembles");
      if (ensembles) ensembles.hidden = (this.state.hide ?? "").includes("ensembles");
      for (const link of this.section.querySelectorAll("[data-download]")) this.address(link, sort || count < all ? rows.filter(ranked) : null);
      this.left = rows;
      this.body.replaceChildren();
      this.append();
    }

    append() {
      this.observer.disconnect();
      const rows = this.left.slice(0, CHUNK);
      this.left = this.left.slice(CHUNK);
      for (const row of rows) {
        if (!row.element) {
          const template = document.createElement("template");
          template.innerHTML = row.html;
          row.element = template.content.firstElementChild;
        }
      }
      this.body.append(...rows.map((row) => row.element));
      if (this.left.length) this.observer.observe(this.body.lastElementChild);
    }

    address(link, rows) {
      if (!link.getAttribute("href").startsWith("api/")) return;
      const address = new URL(link.href), parameters = new URLSearchParams(location.search);
      address.searchParams.set("track", this.section.dataset.track);
      if (rows) address.searchParams.set("names", rows.map((row) => row.name).join(","));
      else address.searchParams.delete("names");
      const weights = [...parameters].filter(([name]) => name.startsWith("w.")).map(([name, value]) => `${name.slice(2)}:${value}`);
      const values = { order: parameters.get("order"), columns: parameters.get("columns"), weights: weights.join(",") };
      for (const [name, value] of Object.entries(values)) if (value) address.searchParams.set(name, value);
      link.setAttribute("href", `api/${address.href.split("/api/")[1]}`);
    }
  }

  const title = document.querySelector('meta[property="og:title"]')?.content;      // Gradio gives all pages the same
  const keepTitle = () => { if (title && document.title !== title) document.title = title; };
  new MutationObserver(keepTitle).observe(document.head, { childList: true, subtree: true, characterData: true });
  document.addEventListener("click", (event) => {
    const tab = event.target.closest?.("[role=tab]")?.id.match(/^tab-(\w+)-button$/), link = event.target.closest?.(".nav-holder a");
    if (tab) remember({ track: tab[1] });
    const kept = ["release", "suite"].filter((name) => parameter(name)).map((name) => `${name}=${encodeURIComponent(parameter(name))}`);
    if (link && kept.length) link.href = `${link.href.split("?")[0]}?${kept.join("&")}`;
  }, true);
  function applyTheme() {
    const theme = localStorage.getItem("touchstone-theme");
    if (theme) document.body.classList.toggle("dark", theme === "dark");
  }
  applyTheme();
  for (const holder of document.querySelectorAll("[data-static-table]")) {        // a static copy
    const table = new RankedTable(holder);
    holder.querySelector("[type=search]").addEventListener("input", (event) => { table.state.q = event.target.value; table.apply(); });
  }

  return {
    attach: (element, watch) => {
      const table = new RankedTable(element);
      watch("value", () => setTimeout(() => table.load()));         // called before the document has changed
    },
    filter: (track, values) => {
      const table = tables.get(track);
      if (Object.keys(values).every((name) => (table.state[name] ?? "") === values[name])) return;
      Object.assign(table.state, values);
      remember({ track, ...values });
      table.apply();
    },
    // `shown` lists what of HIDEABLE is not hidden.
    choices: (kind, input, cost, only, shown) => ({ kind, input, cost: cost ? String(cost) : "", only: only.join(","),
      hide: HIDEABLE.filter((name) => !shown.includes(name)).join(",") }),
    remember,
    open: () => { applyTheme(); return location.search; },          // Gradio has applied the theme of the system
    select: (query) => { location.search = query; },
    toggleTheme: () => localStorage.setItem("touchstone-theme", document.body.classList.toggle("dark") ? "dark" : "light"),
  };
})();
