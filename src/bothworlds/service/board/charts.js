// Charts as SVG: numbers in, marks out. Text is set as text, never parsed; styles are classes.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 236;
const MARGIN = { top: 10, right: 10, bottom: 24, left: 46 };
const ROWS = 24; // of the table under a chart
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000]; // seconds

export function html(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// --- numbers -------------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const three = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

export const count = (value) => (value >= 100000 ? compact.format(value) : whole.format(value));
export const percent = (value) => `${(100 * value).toFixed(value > 0 && value < 0.001 ? 2 : 1)} %`;
export const number = (value) => (value === null || value === undefined ? "–" : three.format(value));

export function duration(seconds) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${three.format(Math.round((10 * seconds) / size) / 10)} ${unit}`;
  }
  return `${three.format(seconds)} s`;
}

export function niceStep(span, parts, isTime) {
  const wanted = span / parts || 1;
  if (isTime) return STEPS.find((step) => step >= wanted) ?? wanted;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= 0.999 * wanted);
}

function ticks([low, high], parts, isTime) {
  const step = niceStep(high - low, parts, isTime);
  const shift = isTime ? new Date().getTimezoneOffset() * 60 : 0;
  const found = [];
  for (let i = Math.ceil((low - shift) / step - 1e-9); i * step + shift <= high + 1e-9 * step; i++) found.push(i * step + shift);
  return { step, values: found };
}

function formatX(isTime, step) {
  if (!isTime) return (value) => compact.format(value);
  const format = step < 60 ? clock : step < 86400 ? minute : day;
  return (value) => format.format(1000 * value);
}

// --- a chart -------------------------------------------------------------------------------------------

/* A chart in a section, to which it adds a figure, a caption and a table.
 *
 * show(model) draws: x, isTime, domain, y: [low, high], format (of y), areas: [{ color, low, high, solid, bare }],
 * bars: [{ color, low, high }] with width, lines: [{ color, values }], readings: [{ label, color, text(i) }],
 * highlight (a color, or null), caption, and nothing: what is said where there is nothing to draw. A null among
 * values is a gap.
 */
export class Chart {
  constructor(section) {
    this.section = section;
    this.title = section.querySelector("h2");
    this.title.id = `${section.id}-title`;
    this.svg = svg("svg", { "aria-hidden": "true", height: HEIGHT });
    this.tip = html("div", { className: "tip", hidden: true });
    this.said = html("p", { className: "unseen", role: "status" });
    this.figure = html("div", { className: "chart", tabIndex: 0, role: "group" }, this.svg, this.tip);
    this.figure.setAttribute("aria-roledescription", "chart");
    this.figure.setAttribute("aria-labelledby", this.title.id);
    this.caption = html("p", { className: "caption", id: `${section.id}-caption` });
    this.figure.setAttribute("aria-describedby", this.caption.id);
    this.table = html("table");
    const box = html("div", { className: "scroll", tabIndex: 0, role: "region" }, this.table);
    box.setAttribute("aria-labelledby", this.title.id);
    this.details = html("details", {}, html("summary", {}, "Table"), box);
    section.append(this.figure, this.said, this.caption, this.details);
    this.model = null;
    this.cursor = null;
    this.details.addEventListener("toggle", () => this.fillTable());
    this.figure.addEventListener("pointermove", (event) => this.point(event));
    this.figure.addEventListener("pointerleave", () => this.moveTo(null));
    this.figure.addEventListener("blur", () => this.moveTo(null));
    this.figure.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.model && this.draw()).observe(this.figure);
  }

  show(model) {
    this.model = model;
    this.draw();
    this.caption.textContent = model.caption;
    this.fillTable();
  }

  draw() {
    const model = this.model;
    const width = Math.max(200, Math.floor(this.figure.clientWidth));
    const [x0, x1] = model.domain;
    const [y0, y1] = model.y;
    const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
    this.xAt = (x) => MARGIN.left + (inner.width * (x - x0)) / (x1 - x0 || 1);
    this.yAt = (y) => MARGIN.top + inner.height * (1 - (y - y0) / (y1 - y0 || 1));
    this.inner = inner;
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    if (!model.x.length) {
      const text = svg("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle", class: "nothing" });
      text.textContent = model.nothing;
      this.svg.replaceChildren(text);
      return;
    }
    const clip = svg("clipPath", { id: `${this.section.id}-clip` },
      svg("rect", { x: MARGIN.left, y: MARGIN.top - 1, width: inner.width, height: inner.height + 2 }));
    const marks = svg("g", { "clip-path": `url(#${this.section.id}-clip)` });
    const looks = (color, kind) => `${color} ${kind}${[color, null].includes(model.highlight) ? "" : " faded"}`;
    for (const area of model.areas ?? []) {
      const kind = area.solid ? "solid" : area.bare ? "band bare" : "band";
      marks.append(svg("path", { d: this.areaPath(area), class: looks(area.color, kind) }));
    }
    for (const bar of model.bars ?? []) marks.append(svg("path", { d: this.barPath(bar), class: looks(bar.color, "bar") }));
    for (const line of model.lines ?? []) {
      const [d, last] = this.linePath(line.values);
      marks.append(svg("path", { d, class: looks(line.color, "line") }));
      if (last) marks.append(svg("circle", { cx: last[0], cy: last[1], r: 3.5, class: looks(line.color, "dot") }));
    }
    this.crosshair = svg("line", { class: "crosshair", y1: MARGIN.top, y2: MARGIN.top + inner.height });
    this.svg.replaceChildren(clip, this.grid(), marks, this.axis(), this.crosshair);
    this.moveTo(this.cursor);
  }

  grid() {
    const group = svg("g", { class: "grid" });
    const { values } = ticks(this.model.y, 5, false);
    for (const value of values) {
      const y = this.yAt(value);
      const zero = this.model.zero && value === 0;
      group.append(svg("line", { x1: MARGIN.left, x2: MARGIN.left + this.inner.width, y1: y, y2: y, class: zero ? "zero" : "" }));
      const text = svg("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" });
      text.textContent = this.model.format(value);
      group.append(text);
    }
    return group;
  }

  axis() {
    const group = svg("g", { class: "axis" });
    const { step, values } = ticks(this.model.domain, Math.max(2, Math.floor(this.inner.width / 80)), this.model.isTime);
    const format = formatX(this.model.isTime, step);
    const bottom = MARGIN.top + this.inner.height;
    group.append(svg("line", { x1: MARGIN.left, x2: MARGIN.left + this.inner.width, y1: bottom, y2: bottom }));
    for (const value of values) {
      const x = this.xAt(value);
      group.append(svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
      if (x > MARGIN.left + this.inner.width - 18) continue; // no room for its text
      const text = svg("text", { x, y: bottom + 17, "text-anchor": "middle" });
      text.textContent = format(value);
      group.append(text);
    }
    return group;
  }

  linePath(values) {
    let d = "", pen = "M", last = null;
    this.model.x.forEach((x, i) => {
      if (values[i] === null) { pen = "M"; return; }
      last = [this.xAt(x).toFixed(1), this.yAt(values[i]).toFixed(1)];
      d += `${pen}${last}`;
      pen = "L";
    });
    return [d, last];
  }

  areaPath({ low, high }) {
    let d = "", upper = [], lower = [];
    const close = () => {
      if (upper.length) d += `M${upper.join("L")}L${lower.reverse().join("L")}Z`;
      upper = []; lower = [];
    };
    this.model.x.forEach((x, i) => {
      if (low[i] === null || high[i] === null) { close(); return; }
      const alone = this.model.x.length === 1; // a point has no width: it is drawn as what holds all the time
      for (const at of (alone ? this.model.domain : [x]).map((one) => this.xAt(one).toFixed(1))) {
        upper.push(`${at},${this.yAt(high[i]).toFixed(1)}`);
        lower.push(`${at},${this.yAt(low[i]).toFixed(1)}`);
      }
    });
    close();
    return d;
  }

  barPath({ low, high }) {
    const { x, width } = this.model;
    let d = "";
    x.forEach((left, i) => {
      if (high[i] <= low[i]) return;
      const from = this.xAt(left) + 0.75, to = this.xAt(left + width) - 0.75;
      const top = this.yAt(high[i]);
      d += `M${from.toFixed(1)},${top.toFixed(1)}h${Math.max(0.5, to - from).toFixed(1)}v${(this.yAt(low[i]) - top).toFixed(1)}H${from.toFixed(1)}Z`;
    });
    return d;
  }

  // --- reading values ----------------------------------------------------------------------------------

  middle(i) {
    return this.model.x[i] + (this.model.width ?? 0) / 2;
  }

  point(event) {
    if (!this.model?.x.length) return;
    const box = this.figure.getBoundingClientRect();
    const [x0, x1] = this.model.domain;
    const x = x0 + ((event.clientX - box.left - MARGIN.left) / this.inner.width) * (x1 - x0);
    this.moveTo(this.middle(this.nearest(x)));
  }

  key(event) {
    const n = this.model?.x.length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.moveTo(null);
    if (!n || !(event.key in steps)) return;
    event.preventDefault();
    const now = this.cursor === null ? n : this.nearest(this.cursor); // from nowhere, one step back is the last point
    const next = Math.min(n - 1, Math.max(0, now + steps[event.key]));
    this.moveTo(this.middle(next));
    this.said.textContent = this.texts(next).join(", ");
  }

  nearest(x) {
    let found = 0;
    this.model.x.forEach((_, i) => {
      if (Math.abs(this.middle(i) - x) < Math.abs(this.middle(found) - x)) found = i;
    });
    return found;
  }

  head(i) {
    const value = this.model.x[i];
    if (!this.model.isTime) return `decision ${whole.format(Math.round(value))}`;
    return `${day.format(1000 * value)} ${clock.format(1000 * value)}`;
  }

  texts(i) {
    return [this.head(i), ...this.model.readings.map((reading) => `${reading.label}: ${reading.text(i)}`)];
  }

  /* Show the values at an x, which stays where it is while points come in; null: nowhere. */
  moveTo(x) {
    this.cursor = x;
    this.tip.hidden = x === null || !this.model?.x.length;
    if (!this.crosshair) return;
    this.crosshair.classList.toggle("on", !this.tip.hidden);
    if (this.tip.hidden) return;
    const i = this.nearest(this.cursor);
    const at = this.xAt(this.middle(i));
    this.crosshair.setAttribute("x1", at);
    this.crosshair.setAttribute("x2", at);
    const lines = this.model.readings.map((reading) => html("li", {},
      html("i", { className: `swatch ${reading.color}` }), html("b", {}, reading.label), html("span", {}, reading.text(i))));
    this.tip.replaceChildren(html("p", {}, this.head(i)), html("ul", {}, ...lines));
    const right = at > MARGIN.left + this.inner.width / 2;
    this.tip.style.left = right ? "auto" : `${at + 10}px`;
    this.tip.style.right = right ? `${this.figure.clientWidth - at + 10}px` : "auto";
  }

  fillTable() {
    if (!this.details.open || !this.model) return;
    const { x, readings, isTime } = this.model;
    const heads = [isTime ? "time" : "decision", ...readings.map((reading) => reading.label)];
    const head = html("tr", {}, ...heads.map((text) => html("th", { scope: "col" }, text)));
    const step = Math.max(1, Math.ceil(x.length / ROWS));
    const rows = [];
    for (let i = x.length - 1; i >= 0; i -= step) {
      const cells = readings.map((reading) => html("td", {}, reading.text(i)));
      rows.push(html("tr", {}, html("th", { scope: "row" }, this.head(i)), ...cells));
    }
    this.table.replaceChildren(html("thead", {}, head), html("tbody", {}, ...rows));
  }
}

/* A bar of a share, or a dot with whiskers in a range: a glyph in a cell. */
export function shareGlyph(share, color) {
  const width = 64;
  return svg("svg", { class: "glyph", width, height: 10, "aria-hidden": "true" },
    svg("rect", { class: "track", width, height: 10, rx: 3 }),
    svg("rect", { class: `${color} fill`, width: Math.max(1, width * share), height: 10, rx: 3 }));
}

export function bandGlyph({ low, mean, high }, [from, to], color) {
  const width = 110;
  const at = (value) => 5 + ((width - 10) * (value - from)) / (to - from || 1);
  const parts = [svg("line", { class: "track", x1: 2, x2: width - 2, y1: 7, y2: 7 })];
  if (low !== null && high !== null) {
    parts.push(svg("line", { class: `${color} whisker`, x1: at(low), x2: Math.max(at(low) + 1, at(high)), y1: 7, y2: 7 }));
  }
  if (mean !== null) parts.push(svg("circle", { class: `${color} dot`, cx: at(mean), cy: 7, r: 4 }));
  return svg("svg", { class: "glyph", width, height: 14, "aria-hidden": "true" }, ...parts);
}
