// The script of the report: reads the embedded numbers, draws them with Vega-Lite, follows the controls.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const BAND = { mean: ["low", "high"], spread: ["q05", "q95"] };
  const MOST_NAMES = 10; // lines that are named at their ends, where there is room
  const state = {
    world: byId("world") ? byId("world").value : "all",
    x: "linear", y: "linear", band: "mean", bounds: false, equal: false, color: data.color,
    shown: new Set(data.shown),
  };
  // What regret is divided by: under its own law a curve is level. The name of the axis; the unit at round t.
  const LAWS = {
    "per-log": { title: "regret / log t", unit: (t) => t > 1 ? Math.log(t) : NaN },
    "per-root": { title: "regret / √(Kt)", unit: (t, arms) => Math.sqrt(arms * t) },
  };
  const errors = [];
  const busy = new Set();
  window.report = { state, errors, settled: () => busy.size === 0 };

  // Columns → rows; policies by label.
  function rowsOf(columns) {
    const keys = Object.keys(columns);
    if (!keys.length) return [];
    return columns[keys[0]].map((_, i) => {
      const row = {};
      for (const key of keys) {
        const value = columns[key][i];
        row[key] = key === "policy" || key === "reference" ? data.policies[value] : value;
      }
      return row;
    });
  }
  // The color of each policy: its own, or a shade by the value of a swept setting.
  function colors() {
    const values = data.swept[state.color];
    if (!values) return data.policies.map((_, i) => data.styles[i % data.styles.length][0]);
    const known = values.filter((value) => value !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const place = low > 0 && high > 20 * low ? Math.log : (value) => value;
    const shade = (value) => Math.round(8 * (place(value) - place(low)) / ((place(high) - place(low)) || 1));
    return values.map((value) => value === null ? "var(--muted)" : `var(--s${shade(value)})`);
  }
  // A chart of the page with its scales set. Rounds are positive; regret is not always, so that its log scale
  // is linear between -1 and 1. A log scale is named at zero and at powers of ten, within the rows' fields.
  function scaled(name, scales) {
    const spec = structuredClone(data.specs[name]);
    if (name !== "sweeps")
      for (const { encoding } of spec.layer || [])
        if (encoding && encoding.color && encoding.color.scale && encoding.color.field === "policy")
          encoding.color.scale.range = colors();
    for (const [channel, { type, signed, rows, fields, zero }] of Object.entries(scales)) {
      if (type !== "log") continue;
      let [low, high] = [Infinity, -Infinity];
      for (const row of rows)
        for (const field of fields)
          if (typeof row[field] === "number") { low = Math.min(low, row[field]); high = Math.max(high, row[field]); }
      const first = (spec.layer || [spec])[0].encoding[channel];
      const based = signed && zero !== false && first.scale.zero; // whether zero is in sight
      if (based) { low = Math.min(low, 0); high = Math.max(high, 0); }
      const values = powers(low, high, signed);
      for (const layer of spec.layer || [spec]) {
        const axis = layer.encoding[channel];
        if (!axis || axis.type !== "quantitative") continue;
        axis.scale = { ...axis.scale, ...(signed ? { type: "symlog", constant: 1 } : { type: "log" }), nice: false };
        if (signed) axis.scale.zero = Boolean(based);
        else delete axis.scale.zero;
        if (axis.axis && values.length) Object.assign(axis.axis, { values, labelOverlap: false });
      }
    }
    return spec;
  }
  // Without the layer of intervals where there are none, as of a single replication: a scale needs numbers.
  function withIntervals(spec, rows, field) {
    if (!rows.some((row) => typeof row[field] === "number"))
      spec.layer = spec.layer.filter((layer) => layer.name !== "intervals");
    return spec;
  }
  function powers(low, high, signed) {
    let found = [];
    const first = !signed ? -15 : Math.max(-low, high) > 100 ? 1 : 0;
    for (const digits of [[1], [1, 2, 5]]) {
      const ladder = [];
      for (let k = first; k < 16; k++) for (const digit of digits) ladder.push(Number(`${digit}e${k}`));
      const both = signed ? [...ladder.map((value) => -value).reverse(), 0, ...ladder] : ladder;
      found = both.filter((value) => low <= value && value <= high);
      if (found.length > 2) return found;
    }
    if (!(low > 0 && low < high)) return found;
    const rough = (high - low) / 5; // within a decade: round steps
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * size).find((length) => length >= 0.999 * rough);
    const steps = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) steps.push(Number((k * step).toPrecision(12)));
    return steps;
  }
  // Places at least so far apart, in their order, as close to the wanted ones as can be (isotonic regression).
  function spread(wanted, least) {
    const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
    const groups = [];
    order.forEach((which, i) => {
      let [total, count] = [wanted[which] - least * i, 1];
      while (groups.length && groups.at(-1)[0] / groups.at(-1)[1] > total / count) {
        const before = groups.pop();
        total += before[0];
        count += before[1];
      }
      groups.push([total, count]);
    });
    const fitted = groups.flatMap(([total, count]) => Array(count).fill(total / count));
    const places = [];
    order.forEach((which, i) => { places[which] = fitted[i] + least * i; });
    return places;
  }
  const visibleRows = (rows) => rows.filter((row) => state.shown.has(data.policies.indexOf(row.policy)));
  const labels = () => data.policies.filter((_, i) => state.shown.has(i));

  // The cells of a Voronoi diagram wrap the points they stand for; Vega-Lite forgets that for texts in tooltips.
  function nearestTooltip(spec) {
    return JSON.parse(JSON.stringify(spec), (key, value) => {
      if (!value || typeof value.name !== "string" || !value.name.endsWith("voronoi")) return value;
      return JSON.parse(JSON.stringify(value).replace(/(?<![.\w])datum\[/g, "datum.datum["));
    });
  }

  // One chart of the page: an element, a specification, its data, and the view that stands there now.
  class Chart {
    constructor(element, description, mode = "vega-lite") {
      this.mode = mode;
      this.element = element;
      this.description = description;
      this.view = null;
      this.turn = 0;
      this.rows = [];
      addTools(this);
    }
    clear(message) {
      if (this.view) this.view.finalize();
      this.view = null;
      busy.delete(this);
      const note = document.createElement("p");
      note.className = "empty";
      note.textContent = message;
      this.element.replaceChildren(note);
    }
    async draw(spec, datasets, signals = {}) {
      const turn = ++this.turn;
      if (datasets.rows && !datasets.rows.length) { this.clear("Nothing to show here."); return; }
      if (datasets.bounds && !datasets.bounds.length)
        spec.layer = spec.layer.filter((layer) => !layer.data || layer.data.name !== "bounds");
      busy.add(this);
      try {
        for (const param of spec.params || []) if (param.name in signals) param.value = signals[param.name];
        const full = { ...spec, description: this.description };
        if (this.mode === "vega-lite") full.datasets = { ...(spec.datasets || {}), ...datasets };
        const result = await vegaEmbed(this.element, full, {
          actions: false, renderer: "svg", config: data.config, mode: this.mode, patch: nearestTooltip,
        });
        if (turn !== this.turn) { result.finalize(); return; }
        if (this.view) this.view.finalize();
        this.view = result.view;
        this.rows = datasets.rows || [];
      } catch (error) {
        errors.push(String(error));
        console.error(error);
      } finally {
        if (turn === this.turn) busy.delete(this);
      }
    }
  }

  // A figure with its caption and a place for a chart.
  function figure(title, description) {
    const box = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    name.textContent = title;
    caption.append(name);
    const place = document.createElement("div");
    place.className = "chart";
    box.append(caption, place);
    return { box, chart: new Chart(place, description) };
  }
  // Saving: a drawing as SVG with its colors resolved, the same as PNG, and the numbers behind it as CSV.
  function save(name, ending, href) {
    const link = document.createElement("a");
    link.href = href;
    link.download = name.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() + ending;
    link.click();
  }
  function svgOf(element) {
    const svg = element.querySelector("svg");
    if (!svg) return null;
    const style = getComputedStyle(document.documentElement);
    const text = new XMLSerializer().serializeToString(svg)
      .replace(/var\((--[\w-]+)\)/g, (_, variable) => style.getPropertyValue(variable).trim());
    const { width, height } = svg.viewBox.baseVal;
    return { href: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text), width, height, style };
  }
  const PNG_SCALE = 3; // dots per pixel: 300 dpi at the size of the page
  function savePng(name, drawing) {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [PNG_SCALE * drawing.width, PNG_SCALE * drawing.height];
      const pen = canvas.getContext("2d");
      pen.fillStyle = drawing.style.getPropertyValue("--paper").trim();
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      save(name, ".png", canvas.toDataURL("image/png"));
    };
    image.src = drawing.href;
  }
  function csv(lines) {
    const field = (value) => /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
    const text = lines.map((line) => line.map((value) => field(String(value ?? ""))).join(",")).join("\r\n");
    return "data:text/csv;charset=utf-8," + encodeURIComponent("\ufeff" + text + "\r\n"); // spreadsheets look for the mark
  }
  function toolButton(text, label, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", action);
    return button;
  }
  function addTools(chart) {
    const caption = chart.element.closest("figure").querySelector("figcaption");
    const name = () => caption.textContent.replace(/SVGPNG(CSV)?$/, "") || chart.description;
    const tools = document.createElement("span");
    tools.className = "tools";
    const drawn = (action) => () => { const drawing = svgOf(chart.element); if (drawing) action(drawing); };
    tools.append(
      toolButton("SVG", `Save as SVG: ${name()}`, drawn(({ href }) => save(name(), ".svg", href))),
      toolButton("PNG", `Save as PNG: ${name()}`, drawn((drawing) => savePng(name(), drawing))));
    if (chart.mode === "vega-lite") {
      const columns = () => Object.keys(chart.rows[0] || {});
      tools.append(toolButton("CSV", `Save the numbers: ${name()}`, () =>
        save(name(), ".csv", csv([columns(), ...chart.rows.map((row) => columns().map((key) => row[key]))]))));
    }
    caption.append(tools);
  }

  // Tables sort by a click on a heading (up, down, as they were) and can be saved as they are shown.
  const shownIn = (cell) => (cell ? cell.innerText.split("\n")[0].trim() : "");
  function numberIn(text) {
    const found = /^[<≥\[]?\s*(−?[\d,]+(\.\d+)?(e[−-]?\d+)?)/.exec(text);
    return found ? Number(found[1].replaceAll(",", "").replaceAll("−", "-")) : null;
  }
  function sortRows(body, column, way) {
    const rows = [...body.rows];
    rows.forEach((row, i) => { row.dataset.place ??= i; });
    const key = (row) => shownIn(row.cells[column]);
    const numeric = rows.some((row) => numberIn(key(row)) !== null) && column > 0;
    rows.sort((a, b) => {
      if (!way) return a.dataset.place - b.dataset.place;
      if (!numeric) return way * key(a).localeCompare(key(b), "en", { numeric: true });
      const [x, y] = [numberIn(key(a)), numberIn(key(b))];
      if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last
      return way * (x - y);
    });
    body.append(...rows);
  }
  function equip(table) {
    const [head, body] = [table.tHead.rows[0], table.tBodies[0]];
    [...head.cells].forEach((cell, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        const next = !cell.ariaSort ? "ascending" : cell.ariaSort === "ascending" ? "descending" : null;
        for (const other of head.cells) other.ariaSort = null;
        cell.ariaSort = next;
        sortRows(body, column, { ascending: 1, descending: -1 }[next] || 0);
      });
    });
    const title = () => table.closest("section").querySelector("h2").textContent;
    const tools = document.createElement("span");
    tools.className = "tools";
    tools.append(toolButton("CSV", "Save the table: " + title(), () =>
      save(title(), ".csv", csv([...table.rows].map((row) => [...row.cells].map(shownIn))))));
    table.caption.append(" ", tools);
  }

  // Regret over time and its distribution: one figure per visible panel.
  let drawn = [];
  function visible() {
    return state.world === "all" ? data.overview : [Number(state.world)];
  }
  function layOut() {
    drawn.forEach((item) => [item.curves, item.finals, item.tails].forEach((c) => c.view && c.view.finalize()));
    const panels = visible();
    const [curvesBox, finalsBox] = [byId("curves"), byId("finals")];
    for (const box of [curvesBox, finalsBox, byId("tails")]) {
      box.replaceChildren();
      box.classList.toggle("few", panels.length < 3);
    }
    drawn = panels.map((panel) => {
      const { title } = data.panels[panel];
      const above = figure(title, `Mean regret over rounds of each policy, with bands, in ${title}`);
      const below = figure(title, `Distribution of final regret over replications, by policy, in ${title}`);
      curvesBox.append(above.box);
      finalsBox.append(below.box);
      const tail = figure(title, `Share of replications whose final regret is larger than x, by policy, in ${title}`);
      byId("tails").append(tail.box);
      return { panel, curves: above.chart, finals: below.chart, tails: tail.chart, rows: rowsOf(data.curves[panel]),
        bounds: rowsOf(data.bounds[panel]), ends: rowsOf(data.finals[panel]) };
    });
  }
  async function drawFinals(item) {
    const rows = visibleRows(item.ends);
    const spec = scaled("finals", { x: { type: state.y === "log" ? "log" : "linear", signed: true, rows, fields: ["regret"] } });
    spec.height = data.steps.finals * Math.max(1, state.shown.size);
    await item.finals.draw(spec, { rows }, { shown: labels() });
  }
  // P(R > x): a step down at every replication, from all of them on the left.
  async function drawTails(item) {
    const rows = [];
    for (const policy of labels()) {
      const ends = item.ends.filter((row) => row.policy === policy && typeof row.regret === "number")
        .map((row) => row.regret).sort((a, b) => a - b);
      ends.forEach((regret, i) => rows.push({ policy, regret, share: 1 - i / ends.length }));
      if (ends.length) rows.push({ policy, regret: ends.at(-1), share: 0.5 / ends.length });
    }
    const spec = scaled("tails", { x: { type: state.y === "log" ? "log" : "linear", signed: true, rows, fields: ["regret"], zero: false } });
    if (drawn.length === 1) spec.height = 320;
    await item.tails.draw(spec, { rows }, { shown: labels() });
  }
  // The rows of a panel as they are drawn: regret as it is, or divided by a law.
  const NUMBERS = ["mean", "low", "high", "q05", "q95", "bound"];
  function underLaw(rows, panel) {
    const law = LAWS[state.y];
    if (!law) return rows;
    return rows.map((row) => {
      const unit = law.unit(row.round, data.panels[panel].arms);
      const divided = { ...row };
      for (const name of NUMBERS) if (typeof row[name] === "number") divided[name] = row[name] / unit;
      return divided;
    }).filter((row) => Number.isFinite(row.mean ?? row.bound));
  }
  // Markers are sparse on either scale of rounds, and staggered from policy to policy.
  function marked(rows, horizon) {
    if (state.x === "log") return rows;
    const places = new Map();
    return rows.map((row) => {
      const place = Math.floor(5 * row.round / horizon + 0.25 * (data.policies.indexOf(row.policy) % 4));
      const mark = Number(place > (places.get(row.policy) ?? 0));
      places.set(row.policy, Math.max(place, places.get(row.policy) ?? 0));
      return { ...row, mark };
    });
  }
  const curveRows = (item) => marked(underLaw(visibleRows(item.rows), item.panel), data.panels[item.panel].horizon);
  const boundRows = (item) => state.bounds ? underLaw(visibleRows(item.bounds), item.panel) : [];
  // The ends of the axis of regret: round numbers, zero among them.
  function reach(items) {
    let [low, high] = [0, 0];
    for (const item of items)
      for (const row of [...curveRows(item), ...boundRows(item)])
        for (const name of ["mean", "bound", ...BAND[state.band]])
          if (typeof row[name] === "number") { low = Math.min(low, row[name]); high = Math.max(high, row[name]); }
    return [low * 1.04, high * 1.04 || 1];
  }
  // Where a value stands on the axis of regret, in pixels from the top.
  function heightOf(value, [low, high], height) {
    const at = state.y === "log" ? (x) => Math.sign(x) * Math.log1p(Math.abs(x)) : (x) => x;
    return height * (1 - (at(value) - at(low)) / (at(high) - at(low)));
  }
  // A name at the end of every line, moved where they would meet.
  function endNames(rows, bounds, domain, height) {
    const last = new Map();
    for (const row of rows) last.set(row.policy, { policy: row.policy, text: data.short[data.policies.indexOf(row.policy)], value: row.mean, round: row.round });
    for (const row of bounds) last.set(row.policy + row.name, { policy: row.policy, text: `${data.short[data.policies.indexOf(row.policy)]}: ${row.name.split(":")[0].replace(" with constant 1", "")}`, value: row.bound, round: row.round });
    const names = [...last.values()];
    const places = spread(names.map(({ value }) => heightOf(value, domain, height)), 13);
    const over = Math.max(0, Math.max(...places) - height - 6);
    return names.map((name, i) => ({ ...name, pixel: places[i] - over }));
  }
  async function drawCurves(item, domain) {
    const [rows, bounds] = [curveRows(item), boundRows(item)];
    const spec = withIntervals(scaled("curves", {
      x: { type: state.x, signed: false, rows, fields: ["round"] },
      y: { type: state.y === "log" ? "log" : "linear", signed: true, rows: rows.concat(bounds), fields: ["mean", "bound", ...BAND[state.band]] },
    }), rows, BAND[state.band][0]);
    if (drawn.length === 1) spec.height = 420;
    const ends = domain || reach([item]);
    for (const layer of spec.layer) {
      const axis = layer.encoding.y;
      if (!axis || axis.scale === null) continue;
      axis.scale = { ...axis.scale, domain: ends, nice: false };
      axis.title = LAWS[state.y] ? LAWS[state.y].title : "regret";
      for (const line of layer.encoding.tooltip || []) if (line.field === "mean") line.title = `mean ${axis.title}`;
    }
    if (state.x === "linear") for (const layer of spec.layer) if (layer.encoding.x.scale) layer.encoding.x.scale.zero = true;
    const room = item.curves.element.clientWidth;
    const named = labels().length <= MOST_NAMES && room >= 420 && rows.length;
    const names = named ? endNames(rows, bounds, ends, spec.height) : [];
    if (!named) spec.layer = spec.layer.filter((layer) => layer.name !== "names");
    await item.curves.draw(spec, { rows, bounds, names }, { shown: labels(), band: state.band });
  }
  async function drawPanels() {
    const domain = state.equal ? reach(drawn) : null;
    for (const item of drawn) await drawCurves(item, domain);
    for (const item of drawn) await drawFinals(item);
    for (const item of drawn) await drawTails(item);
  }
  // Controls.
  function pressed(group, value) {
    for (const button of group.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.value === value));
  }
  function followSwitch(id, key, redraw) {
    const group = byId(id);
    if (!group) return;
    pressed(group, state[key]);
    group.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      state[key] = button.value;
      pressed(group, button.value);
      redraw();
    });
  }
  function showLegend() {
    const shades = colors();
    for (const path of document.querySelectorAll(".policies button[data-policy] svg path")) {
      const shade = shades[Number(path.closest("button").dataset.policy)];
      path.setAttribute(path.hasAttribute("stroke") ? "stroke" : "fill", shade);
    }
    for (const button of document.querySelectorAll(".policies button[data-policy]"))
      button.setAttribute("aria-pressed", String(state.shown.has(Number(button.dataset.policy))));
  }
  function followLegend() {
    const follow = (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.policy !== undefined) {
        const policy = Number(button.dataset.policy);
        if (event.shiftKey || event.altKey) state.shown = new Set([policy]);
        else if (!state.shown.delete(policy)) state.shown.add(policy);
      } else {
        const all = data.policies.map((_, i) => i);
        state.shown = new Set({ all, none: [], best: data.order.slice(0, data.best) }[button.value]);
      }
      showLegend();
      drawPanels();
    };
    for (const legend of document.querySelectorAll(".policies")) legend.addEventListener("click", follow);
    showLegend();
  }
  function follow(id, event, action) {
    const element = byId(id);
    if (element) element.addEventListener(event, () => action(element));
  }

  // Arm probabilities of one run.
  const runChart = byId("run-chart") && new Chart(byId("run-chart"), "Arm probabilities over time in one run, stacked");
  async function drawRun() {
    if (!runChart) return;
    const key = `${byId("run-world").value}-${byId("run-policy").value}`;
    const run = data.probabilities[key];
    byId("run-empty").hidden = Boolean(run);
    byId("run-chart").hidden = !run;
    const list = byId("run-arms");
    list.replaceChildren();
    if (!run) return;
    const rows = run.arms.flatMap((arm, order) =>
      run.p[order].map((p, i) => ({ round: run.rounds[i], arm, order, p: p / 1000 })));
    const spec = scaled("probabilities", { x: { type: state.x, signed: false, rows, fields: ["round"] } });
    spec.encoding.color.scale = { domain: run.arms.map((_, i) => i), range: run.colors };
    run.arms.forEach((arm, i) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = run.colors[i];
      item.append(swatch, document.createTextNode(arm));
      list.append(item);
    });
    await runChart.draw(spec, { rows });
  }

  // Pairwise comparison with a reference policy.
  const pairsChart = byId("pairs-chart") && new Chart(byId("pairs-chart"), "Differences of regret to the reference, with 95% intervals");
  // Three digits, whole numbers in full, as in the other tables.
  function digits(x) {
    if (x === null) return "–";
    const decimals = x === 0 ? 0 : Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(Number(x.toPrecision(3)))))));
    return x.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace("-", "−");
  }
  const chanceOf = (p) => p === null ? "–" : p < 0.0001 ? "< 0.0001" : String(Number(p.toPrecision(2)));
  async function drawPairs() {
    if (!pairsChart) return;
    const all = rowsOf(data.pairs[Number(byId("pairs-world").value)]);
    const choice = data.policies[Number(byId("pairs-reference").value)];
    const found = all.filter((row) => row.reference === choice);
    const rows = found.length ? found : all;
    byId("pairs-note").textContent = rows.length
      ? `Reference: ${rows[0].reference}. Left of zero: less regret than the reference.` +
        (rows.some((row) => row.low !== null) ? "" : " A single replication has no interval.")
      : "No pairs in this world.";
    const body = byId("pairs-rows");
    body.replaceChildren();
    for (const row of rows) {
      const line = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = row.policy;
      line.append(head);
      const chance = chanceOf(row.p_value);
      const wins = row.wins === null ? "–" : Math.round(100 * row.wins) + "%";
      const between = row.low === null ? "–" : `[${digits(row.low)}, ${digits(row.high)}]`;
      for (const text of [digits(row.difference), between, wins, chance]) {
        const cell = document.createElement("td");
        cell.textContent = text;
        line.append(cell);
      }
      body.append(line);
    }
    const spec = withIntervals(scaled("pairs", {}), rows, "low");
    spec.height = data.steps.pairs * Math.max(1, rows.length);
    await pairsChart.draw(spec, { rows });
  }

  // Sweeps: the setting and the world are chosen.
  const sweepChart = byId("sweep-chart") && new Chart(byId("sweep-chart"), "Final regret against a swept setting");
  function fillViews() {
    if (!sweepChart) return;
    const select = byId("sweep-view");
    select.replaceChildren(...data.sweeps[Number(byId("sweep-setting").value)].views.map((view, i) => new Option(view.title, i)));
  }
  async function drawSweep() {
    if (!sweepChart) return;
    const which = Number(byId("sweep-setting").value);
    const sweep = data.sweeps[which];
    const { rows } = sweep.views[Number(byId("sweep-view").value)];
    const values = rows.series.map((series, i) => ({
      series: sweep.series[series], value: rows.value[i], mean: rows.mean[i], low: rows.low[i], high: rows.high[i] }));
    for (const list of document.querySelectorAll("[data-sweep-legend]"))
      list.hidden = Number(list.dataset.sweepLegend) !== which;
    const spec = withIntervals(scaled("sweeps", {
      x: { type: sweep.scale, signed: false, rows: values, fields: ["value"] },
      y: { type: state.y === "log" ? "log" : "linear", signed: true, rows: values, fields: ["mean", "low", "high"], zero: false },
    }), values, "low");
    const swept = [...new Set(values.map((row) => row.value))].sort((a, b) => a - b);
    for (const { encoding } of spec.layer) if (encoding.x.axis) Object.assign(encoding.x.axis, { values: swept, labelOverlap: "greedy" });
    const styles = sweep.series.map((_, i) => data.styles[i % data.styles.length]);
    for (const { encoding } of spec.layer) {
      encoding.x.title = sweep.symbol;
      ["color", "strokeDash", "shape"].forEach((channel, k) => {
        if (encoding[channel]) encoding[channel].scale = { domain: sweep.series, range: styles.map((style) => style[k]) };
      });
    }
    await sweepChart.draw(spec, { rows: values });
  }

  // Two swept settings at once: a place per pair, darker where regret is larger.
  const heatChart = byId("heat-chart") && new Chart(byId("heat-chart"), "Final regret by two swept settings");
  async function drawHeat() {
    if (!heatChart) return;
    const heat = data.heats[Number(byId("heat-view").value)];
    const spec = structuredClone(data.specs.heat);
    spec.height = 34 * heat.rows.length + 10;
    for (const layer of spec.layer) {
      Object.assign(layer.encoding.x, { title: heat.x, sort: heat.columns });
      Object.assign(layer.encoding.y, { title: heat.y, sort: heat.rows });
    }
    const rows = heat.values.flatMap((line, i) => line.map((value, j) =>
      ({ x: heat.columns[j], y: heat.rows[i], mean: value, step: heat.shades[i][j] }))).filter((row) => row.mean !== null);
    await heatChart.draw(spec, { rows });
  }

  // Sections that others added bring whole specifications.
  async function drawExtra() {
    for (const place of document.querySelectorAll("[data-spec]")) {
      const chart = new Chart(place, place.dataset.title, "vega");
      await chart.draw(data.extra[Number(place.dataset.spec)], {});
    }
  }

  const everything = async () => { await drawPanels(); await drawRun(); await drawSweep(); };
  followSwitch("scale-x", "x", everything);
  followSwitch("scale-y", "y", everything);
  follow("band", "change", (select) => {
    state.band = select.value;
    drawPanels();
  });
  follow("show-bounds", "change", (box) => { state.bounds = box.checked; drawPanels(); });
  follow("equal", "change", (box) => { state.equal = box.checked; drawPanels(); });
  follow("color", "change", (select) => { state.color = select.value; showLegend(); drawPanels().then(drawPairs); });
  follow("world", "change", (select) => { state.world = select.value; layOut(); drawPanels(); });
  follow("run-world", "change", drawRun);
  follow("run-policy", "change", drawRun);
  follow("pairs-world", "change", drawPairs);
  follow("pairs-reference", "change", drawPairs);
  follow("sweep-setting", "change", () => { fillViews(); drawSweep(); });
  follow("sweep-view", "change", drawSweep);
  follow("heat-view", "change", drawHeat);
  follow("statistic", "change", (select) => { document.querySelector(".statistics").className = "statistics " + select.value; });
  for (const table of document.querySelectorAll("main table")) equip(table);
  // The section in sight, marked in the navigation.
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = document.querySelector(`nav a[href="#${target.id}"]`);
      if (link) link.ariaCurrent = isIntersecting ? "true" : null;
    }
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) sight.observe(section);
  fillViews();
  if (byId("curves")) {
    followLegend();
    layOut();
    drawPanels().then(drawRun).then(drawSweep).then(drawHeat).then(drawPairs).then(drawExtra)
      .then(() => { document.documentElement.dataset.ready = "yes"; });
  } else document.documentElement.dataset.ready = "yes";
})();
