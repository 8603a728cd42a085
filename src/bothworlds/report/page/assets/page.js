// The script of the report: reads the embedded numbers, draws them with Vega-Lite, follows the controls.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const BAND = { mean: ["low", "high"], spread: ["q05", "q95"] };
  const state = {
    world: byId("world") ? byId("world").value : "all",
    x: "log", y: "log", band: "mean", bounds: true,
    shown: new Set(data.shown),
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
  // A chart of the page with its scales set. Rounds are positive; regret is not always, so that its log scale
  // is linear between -1 and 1. A log scale is named at zero and at powers of ten, within the rows' fields.
  function scaled(name, scales) {
    const spec = structuredClone(data.specs[name]);
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
      if (found.length > 2) break;
    }
    return found;
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
      } catch (error) {
        errors.push(String(error));
        console.error(error);
      } finally {
        if (turn === this.turn) busy.delete(this);
      }
    }
  }

  // A figure with its caption and a button that saves the drawing, colors resolved.
  function figure(title, description) {
    const box = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    name.textContent = title;
    caption.append(name, saveButton(box, title));
    const place = document.createElement("div");
    place.className = "chart";
    box.append(caption, place);
    return { box, chart: new Chart(place, description) };
  }
  function saveButton(box, title) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "SVG";
    button.setAttribute("aria-label", "Save as SVG: " + title);
    button.addEventListener("click", () => {
      const svg = box.querySelector("svg");
      if (!svg) return;
      const style = getComputedStyle(document.documentElement);
      const text = new XMLSerializer().serializeToString(svg)
        .replace(/var\((--[\w-]+)\)/g, (_, variable) => style.getPropertyValue(variable).trim());
      const link = document.createElement("a");
      link.href = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
      link.download = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() + ".svg";
      link.click();
    });
    return button;
  }

  // Regret over time and its distribution: one figure per visible panel.
  let drawn = [];
  function visible() {
    return state.world === "all" ? data.overview : [Number(state.world)];
  }
  function layOut() {
    drawn.forEach(({ curves, finals }) => [curves, finals].forEach((c) => c.view && c.view.finalize()));
    const panels = visible();
    const [curvesBox, finalsBox] = [byId("curves"), byId("finals")];
    for (const box of [curvesBox, finalsBox]) {
      box.replaceChildren();
      box.classList.toggle("one", panels.length === 1);
    }
    drawn = panels.map((panel) => {
      const { title } = data.panels[panel];
      const above = figure(title, `Mean regret over rounds of each policy, with bands, in ${title}`);
      const below = figure(title, `Distribution of final regret over replications, by policy, in ${title}`);
      curvesBox.append(above.box);
      finalsBox.append(below.box);
      return { panel, curves: above.chart, finals: below.chart, rows: rowsOf(data.curves[panel]),
        bounds: rowsOf(data.bounds[panel]), ends: rowsOf(data.finals[panel]) };
    });
  }
  async function drawFinals(item) {
    const rows = visibleRows(item.ends);
    const spec = scaled("finals", { x: { type: state.y, signed: true, rows, fields: ["regret"] } });
    spec.height = data.steps.finals * Math.max(1, state.shown.size);
    await item.finals.draw(spec, { rows }, { shown: labels() });
  }
  async function drawCurves(item) {
    const rows = visibleRows(item.rows);
    const bounds = state.bounds ? visibleRows(item.bounds) : [];
    const spec = withIntervals(scaled("curves", {
      x: { type: state.x, signed: false, rows, fields: ["round"] },
      y: { type: state.y, signed: true, rows: rows.concat(bounds), fields: ["mean", "bound", ...BAND[state.band]] },
    }), rows, BAND[state.band][0]);
    if (drawn.length === 1) spec.height = 420;
    await item.curves.draw(spec, { rows, bounds }, { shown: labels(), band: state.band });
  }
  async function drawPanels() {
    for (const item of drawn) await drawCurves(item);
    for (const item of drawn) await drawFinals(item);
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
    for (const button of document.querySelectorAll("#legend button[data-policy]"))
      button.setAttribute("aria-pressed", String(state.shown.has(Number(button.dataset.policy))));
  }
  function followLegend() {
    const legend = byId("legend");
    legend.addEventListener("click", (event) => {
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
    });
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
  const digits = (x) => x === null ? "–" : x.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
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
      const chance = row.p_value === null ? "–" : row.p_value < 0.0001 ? "< 0.0001" : digits(row.p_value);
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
      y: { type: state.y, signed: true, rows: values, fields: ["mean", "low", "high"], zero: false },
    }), values, "low");
    const looks = sweep.series.map((_, i) => data.looks[i % data.looks.length]);
    for (const { encoding } of spec.layer) {
      encoding.x.title = sweep.setting.replace(/^[a-z]+\./, "");
      ["color", "strokeDash", "shape"].forEach((channel, k) => {
        if (encoding[channel]) encoding[channel].scale = { domain: sweep.series, range: looks.map((look) => look[k]) };
      });
    }
    await sweepChart.draw(spec, { rows: values });
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
  follow("world", "change", (select) => { state.world = select.value; layOut(); drawPanels(); });
  follow("run-world", "change", drawRun);
  follow("run-policy", "change", drawRun);
  follow("pairs-world", "change", drawPairs);
  follow("pairs-reference", "change", drawPairs);
  follow("sweep-setting", "change", () => { fillViews(); drawSweep(); });
  follow("sweep-view", "change", drawSweep);
  fillViews();
  if (byId("curves")) {
    followLegend();
    layOut();
    drawPanels().then(drawRun).then(drawSweep).then(drawPairs).then(drawExtra)
      .then(() => { document.documentElement.dataset.ready = "yes"; });
  } else document.documentElement.dataset.ready = "yes";
})();
