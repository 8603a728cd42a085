// The board: what is shown, where it comes from, and how it is kept up to date.
// Names of arms, segments and experiments are anybody's words: they are set as text and never parsed.

import { Chart, bandGlyph, count, duration, html, niceStep, number, percent, shareGlyph } from "./charts.js";

const COLORS = 8; // arms that have one of their own
const OTHERS = "c8";
const PAGE = 25; // segments in the table
const BINS = 40; // bars
const FILLED = 2; // bands on top of each other; of more, the edges alone can be told apart
const SILENCE = 10000; // milliseconds without a tick after which a connection is given up
const MAX_POINTS = 1024;

/* A name as it is shown: marks that turn the direction of what follows, and other controls, are made visible. */
const legible = (name) => String(name).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

const $ = (id) => document.getElementById(id);
const charts = Object.fromEntries(["probabilities", "means", "pulls", "regret"].map((id) => [id, new Chart($(id))]));

const state = {
  experiments: new Map(), // by name
  moved: new Map(), // the last point of each bandit that the stream told of: experiment, then segment
  name: null,
  segment: "",
  bandit: null, // as it is now
  arms: [],
  points: [],
  page: [null], // where pages of segments begin; the last one is shown
  highlight: null,
  tick: null,
  behind: 0, // entries of the log that are still to be read, after a start
  reporters: [], // keys, what they decided and reported
};

// --- asking --------------------------------------------------------------------------------------------

class Denied extends Error {}
class Unanswered extends Error {}

async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters);
  const answer = await fetch(`${path}?${query}`).catch(() => { throw new Unanswered(); });
  if (answer.status === 401 || answer.status === 403) throw new Denied();
  if (!answer.ok) throw new Unanswered();
  return answer.json();
}

const send = (path, headers, body) => fetch(path, { method: "POST", headers, body });
const openSession = (link) => send("/v1/sessions", { "Content-Type": "application/json" }, JSON.stringify({ link }));
const pathOf = (name, what) => `/v1/experiments/${encodeURIComponent(name)}/${what}`;

/* Do it; what fails for want of a session asks for one, what fails otherwise is tried again by the stream. */
async function attempt(what) {
  try {
    return await what();
  } catch (error) {
    if (error instanceof Denied) showLogin();
    else if (error instanceof Unanswered) stream.lose();
    else throw error;
    return null;
  }
}

// --- the session ---------------------------------------------------------------------------------------

function showLogin(why = "") {
  stream.close();
  $("board").hidden = true;
  $("login").hidden = false;
  $("denied").textContent = why;
  setLight($("live"), "wait", "not signed in");
}

$("login").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = $("key").value.trim();
  $("key").value = "";
  const made = await send("/v1/links", { Authorization: `Bearer ${key}` }).catch(() => null);
  if (made?.ok && (await openSession((await made.json()).link)).ok) start();
  else $("denied").textContent = made ? "This key does not open the board: it is none, is over, or only decides." : "The service does not answer.";
});

async function enter() {
  let why = "";
  if (location.hash.startsWith("#link.")) {
    const link = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search); // not in the history, nor on the screen
    const answer = await openSession(link).catch(() => null);
    if (!answer?.ok) why = answer ? (await answer.json()).detail : "The service does not answer.";
  }
  await start(why);
}

async function start(why = "") {
  try {
    await loadExperiments();
  } catch (error) {
    if (error instanceof Denied) return showLogin(why);
    if (!(error instanceof Unanswered)) throw error;
    stream.lose();
    setTimeout(start, 2000);
    return null;
  }
  $("login").hidden = true;
  $("board").hidden = false;
  const wanted = new URLSearchParams(location.search);
  const first = state.experiments.keys().next().value ?? null;
  await choose(state.experiments.has(wanted.get("experiment")) ? wanted.get("experiment") : first, wanted.get("segment"));
  stream.open();
  document.documentElement.dataset.ready = "yes";
  return null;
}

// --- the stream ----------------------------------------------------------------------------------------

/* Ticks, once a second. When it was lost and comes back, all that is shown is asked for again; the browser tells
   the service the id of the last event, so that it names every bandit that has moved meanwhile. */
const stream = {
  source: null,
  lost: false,
  heard: 0,
  open() {
    this.close();
    this.heard = Date.now();
    this.source = new EventSource("/v1/stream");
    this.source.addEventListener("tick", (event) => this.hear(JSON.parse(event.data)));
    this.source.addEventListener("error", () => this.lose());
  },
  lose() {
    this.lost = true;
    setLight($("live"), "wait", "reconnecting");
  },
  close() {
    this.source?.close();
    this.source = null;
  },
  async hear(tick) {
    this.heard = Date.now();
    if (tick.behind) setLight($("live"), "wait", `reading the log, ${count(tick.behind)} to go`);
    else setLight($("live"), "good", "live");
    const read = state.behind > 0 && tick.behind === 0;
    state.behind = tick.behind;
    if (this.lost || read) {
      this.lost = false;
      await attempt(refresh);
    }
    take(tick);
  },
  /* A browser gives up after an answer that is no stream, and never notices a peer that fell silent. */
  async watch() {
    if (this.source && (this.source.readyState === EventSource.CLOSED || Date.now() - this.heard > SILENCE)) {
      this.lose();
      if (await attempt(() => get("/v1/experiments", { limit: 1 }))) this.open();
    }
  },
};
setInterval(() => stream.watch(), 2000);

function take(tick) {
  state.tick = tick;
  const free = tick.free_bytes === null ? "" : ` · ${count(Math.round(tick.free_bytes / 1e8) / 10)} GB free`;
  $("storage").textContent = `storage ${tick.ready ? "ok" : "not ready"}${free}`;
  let here = false;
  for (const one of tick.moved) {
    if (!state.moved.has(one.experiment)) state.moved.set(one.experiment, new Map());
    state.moved.get(one.experiment).set(one.segment, one);
    if (!state.experiments.has(one.experiment)) due.experiments = 0;
    if (one.experiment !== state.name || one.segment !== state.segment) continue;
    here = true;
    append(one.point);
  }
  showAlerts();
  showExperiments();
  if (here || state.bandit) drawSoon();
  housekeep(here);
}

const due = { experiments: 0, bandit: 0, segments: 0, reporters: 0 };

/* What the stream does not tell is asked for, seldom. */
function housekeep(moved) {
  const now = Date.now();
  const often = (what, seconds, ask) => {
    if (now < due[what]) return;
    due[what] = now + 1000 * seconds;
    attempt(ask);
  };
  often("experiments", state.name === null ? 1 : 5, async () => {
    await loadExperiments();
    if (state.name === null && state.experiments.size) await choose(state.experiments.keys().next().value);
  });
  if (state.name === null) return;
  if (moved || !state.bandit) often("bandit", 2, state.bandit ? loadBandit : chooseAgain);
  if (state.experiments.get(state.name)?.segments > 1) often("segments", 5, loadSegments);
  const odd = state.reporters.filter((one) => one.odd).length;
  if (odd !== state.tick.odd_keys) due.reporters = 0;
  often("reporters", 10, loadReporters);
}

function append(point) {
  const made = read(point);
  const last = state.points.at(-1);
  if (last && made.at <= last.at) return;
  state.points.push(made);
  if (state.points.length > MAX_POINTS) state.points = state.points.filter((_, i) => i % 2 === 1 || i === state.points.length - 1);
}

const read = (point) => ({ ...point, at: Date.parse(point.at) / 1000 });

// --- loading -------------------------------------------------------------------------------------------

async function loadExperiments() {
  const found = new Map();
  let after = null;
  do {
    const answer = await get("/v1/experiments", { limit: 500, ...(after === null ? {} : { after }) });
    for (const one of answer.experiments) found.set(one.name, one);
    after = answer.after;
  } while (after !== null);
  state.experiments = found;
  showAlerts();
  showExperiments();
}

async function loadBandit() {
  const { name, segment } = state;
  const { bandits, behind } = await get(pathOf(name, "bandits"), { segment });
  if (name !== state.name || segment !== state.segment) return;
  state.behind = behind;
  state.bandit = bandits[0] ?? null;
  drawSoon();
}

async function loadCurve() {
  const { name, segment } = state;
  const curve = await get(pathOf(name, "curves"), { segment, points: 512 });
  if (name !== state.name || segment !== state.segment) return;
  state.arms = curve.arms.map(String);
  state.points = curve.points.map(read);
}

async function loadSegments() {
  const { name } = state;
  const after = state.page.at(-1);
  const answer = await get(pathOf(name, "bandits"), { limit: PAGE, ...(after === null ? {} : { after }) });
  if (name === state.name && after === state.page.at(-1)) showSegments(answer); // another page may be wanted by now
}

async function loadReporters() {
  state.reporters = (await get("/v1/reporters")).reporters;
  showAlerts();
  showReporters();
}

/* Everything about the bandit that is shown. */
async function refresh() {
  if (state.name === null) return;
  await Promise.all([loadBandit(), loadCurve()]);
  if (state.experiments.get(state.name)?.segments > 1) await loadSegments();
  draw();
}

/* What has no decisions yet may have some by now; what is being chosen is left alone. */
const chooseAgain = async () => (turns.done === turns.begun ? choose(state.name, state.segment || null) : null);
const turns = { begun: 0, done: 0 };

async function choose(name, segment = null) {
  const turn = ++turns.begun;
  Object.assign(state, { name, segment: segment ?? "", bandit: null, points: [], arms: [], page: [null], highlight: null });
  showExperiments();
  if (name === null) {
    turns.done = turn;
    return draw();
  }
  await attempt(async () => {
    if (segment === null) { // the one without a name, if it is in use; else the first
      const { bandits } = await get(pathOf(name, "bandits"), { limit: 1 });
      if (turn !== turns.begun) return; // another choice was made meanwhile
      state.segment = bandits[0]?.segment ?? "";
    }
    const query = new URLSearchParams({ experiment: name, ...(state.segment ? { segment: state.segment } : {}) });
    history.replaceState(null, "", `?${query}`);
    $("segment").value = state.segment;
    $("segment").setCustomValidity("");
    await refresh();
  });
  if (turn === turns.begun) turns.done = turn;
  return null;
}

// --- showing -------------------------------------------------------------------------------------------

function setLight(element, light, text) {
  element.dataset.light = light;
  if (element.textContent !== text) element.textContent = text;
}

function showAlerts() {
  const texts = [];
  if (state.tick && !state.tick.ready) texts.push("The service is not ready: its storage is full, behind, or it is being stopped.");
  for (const one of state.experiments.values()) {
    if (one.frozen) texts.push(`${legible(one.name)}: ${one.frozen === 1 ? "a bandit is" : `${one.frozen} bandits are`} frozen. Decisions go on from the last good state; outcomes are kept, and not learned.`);
  }
  for (const one of state.reporters.filter((reporter) => reporter.odd)) {
    texts.push(`Key ${keyName(one)}: its rewards are ${one.difference < 0 ? "lower" : "higher"} than those of other keys on the same arms (see Keys). Look at what it reports, or revoke it.`);
  }
  const shown = [...$("alerts").children].map((one) => one.textContent);
  if (shown.join("\n") !== texts.join("\n")) $("alerts").replaceChildren(...texts.map((text) => html("p", {}, text)));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function showExperiments() {
  const items = [...state.experiments.values()].map((one) => {
    const bandits = [...(state.moved.get(one.name)?.values() ?? [])];
    const drifts = bandits.some(({ point }) => point.drift);
    const [light, text] = one.frozen ? ["bad", "frozen"] : one.archived ? ["", "archived"] : drifts ? ["wait", "drift"]
      : ["", bandits.length ? count(sum(bandits.map(({ point }) => point.decisions))) : ""];
    return { name: one.name, light, text, current: one.name === state.name };
  });
  const said = JSON.stringify(items);
  if (showExperiments.said === said) return; // the focus stays where it is
  showExperiments.said = said;
  const focused = document.activeElement?.dataset?.name;
  $("experiments").replaceChildren(...items.map(({ name, light, text, current }) => {
    const link = html("a", { href: `?${new URLSearchParams({ experiment: name })}`, title: legible(name) }, html("b", {}, legible(name)));
    const small = html("small", {}, text);
    small.dataset.light = light;
    link.append(small);
    link.dataset.name = name;
    if (current) link.setAttribute("aria-current", "page");
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose(name);
    });
    return html("li", {}, link);
  }));
  if (focused !== undefined) [...$("experiments").querySelectorAll("a")].find((link) => link.dataset.name === focused)?.focus();
}

let drawing = false;
function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; draw(); });
}

function showEmpty(title, text, command) {
  $("empty").hidden = false;
  $("experiment").hidden = true;
  $("empty-title").textContent = title;
  $("empty-text").textContent = text;
  $("empty-command").textContent = command;
  $("empty-command").hidden = !command;
}

const curl = (path, body) => `curl ${location.origin}${path} \\\n  -H 'Authorization: Bearer bw_…' \\\n  --json '${JSON.stringify(body)}'`;

function draw() {
  const experiment = state.experiments.get(state.name);
  document.title = experiment ? `${legible(experiment.name)} · bothworlds` : "bothworlds";
  if (!experiment) {
    return showEmpty("No experiments yet", "An experiment is a choice among arms that is made again and again. This makes one; it is shown here at once:",
      curl("/v1/experiments", { name: "button", arms: ["blue", "green"] }));
  }
  if (!state.bandit && state.behind) {
    return showEmpty(legible(experiment.name), "The service was started a moment ago and reads its log. Decisions are made all the while; they are shown here as soon as they are counted.", "");
  }
  if (!state.bandit) {
    return showEmpty(legible(experiment.name), "No decisions yet. This makes one; it is shown here within seconds:", curl(pathOf(experiment.name, "decisions"), {}));
  }
  $("empty").hidden = true;
  $("experiment").hidden = false;
  showTitle(experiment);
  const arms = colored();
  showLegend(arms);
  showArms(arms, experiment);
  const window = visible();
  charts.probabilities.show(probabilityModel(arms, window));
  charts.means.show(meanModel(arms, window, experiment));
  charts.pulls.show(pullModel(arms, window));
  charts.regret.show(regretModel(window));
  $("segments-card").hidden = $("segment").parentElement.hidden = experiment.segments < 2;
  return null;
}

function showTitle(experiment) {
  const bandit = state.bandit;
  $("name").textContent = legible(state.segment ? `${experiment.name} / ${state.segment}` : experiment.name);
  $("policy").textContent = kindOf(experiment.policy);
  if (bandit.frozen) setLight($("state"), "bad", "frozen");
  else if (experiment.archived) setLight($("state"), "", "archived");
  else setLight($("state"), "good", "running");
  $("drift").hidden = !bandit.drift;
  if (bandit.drift?.raised) setLight($("drift"), "wait", `drift: the rewards of ${legible(bandit.drift.arm)} have moved`);
  else setLight($("drift"), "good", "no drift seen");
  const now = Date.parse(state.tick?.at ?? 0) / 1000;
  const last = state.points.at(-1);
  const before = state.points.findLast((point) => point.at <= now - 10) ?? state.points[0];
  const rate = last && last.at > now - 20 && last.at > before.at ? (last.decisions - before.decisions) / (last.at - before.at) : 0;
  const share = (value) => (value > 0 ? percent(value / bandit.decisions) : "\u00a0");
  const figures = [
    ["decisions", count(bandit.decisions), `${number(rate)} per second`],
    ["open", count(bandit.open), share(bandit.open)],
    ["reported", count(bandit.reported), share(bandit.reported)],
    ["defaulted", count(bandit.defaulted), share(bandit.defaulted)],
    ["dropped", count(bandit.dropped), share(bandit.dropped)],
    ["withdrawn", count(bandit.withdrawn), share(bandit.withdrawn)],
    ["late", count(bandit.late), share(bandit.late)],
    ["last outcome", bandit.last ? ago(now - Date.parse(bandit.last) / 1000) : "none", `log ${count(bandit.position)}`],
  ];
  $("figures").replaceChildren(...figures.map(([term, value, more]) =>
    html("div", {}, html("dt", {}, term), html("dd", {}, value, html("small", {}, more)))));
}

const kindOf = (policy) => (policy.policy ? `${policy.kind} ${kindOf(policy.policy)}` : policy.kind);
const ago = (seconds) => (seconds < 2 ? "now" : `${duration(Math.round(seconds))} ago`);

/* Arms with their colors; of many, those with most pulls have one, and the others share one. */
function colored() {
  const arms = state.bandit.arms.map((arm, index) => ({ ...arm, index, label: legible(arm.arm) }));
  const ranked = arms.length <= COLORS ? arms : [...arms].sort((a, b) => b.pulls - a.pulls).slice(0, COLORS - 1);
  const own = new Set(ranked.map((arm) => arm.index));
  let next = 0;
  for (const arm of arms) arm.color = own.has(arm.index) ? `c${next++}` : OTHERS;
  return arms;
}

/* Arms, or several as one: what charts of shares show. */
function groups(arms) {
  const others = arms.filter((arm) => arm.color === OTHERS);
  const own = arms.filter((arm) => arm.color !== OTHERS).map((arm) => ({ label: arm.label, color: arm.color, indices: [arm.index] }));
  return others.length ? [...own, { label: `${others.length} others`, color: OTHERS, indices: others.map((arm) => arm.index) }] : own;
}

function showLegend(arms) {
  const shown = groups(arms);
  const said = JSON.stringify([shown, state.highlight]);
  if (showLegend.said === said) return;
  showLegend.said = said;
  const focused = document.activeElement?.dataset?.color;
  $("legend").replaceChildren(...shown.map(({ label, color }) => {
    const button = html("button", { type: "button", className: color, title: "Highlight" }, html("i", { className: "swatch" }), html("span", {}, label));
    button.dataset.color = color;
    button.setAttribute("aria-pressed", String(state.highlight === color));
    button.addEventListener("click", () => {
      state.highlight = state.highlight === color ? null : color;
      draw();
    });
    return html("li", {}, button);
  }));
  if (focused) $("legend").querySelector(`[data-color=${focused}]`)?.focus();
}

function rangeOf(arms, experiment) {
  const ends = arms.flatMap((arm) => [arm.low, arm.high, arm.mean]).filter((value) => value !== null && value !== undefined);
  return [experiment.low ?? Math.min(0, ...ends), experiment.high ?? Math.max(1, ...ends)];
}

function showArms(arms, experiment) {
  const range = rangeOf(arms, experiment);
  $("arms").tBodies[0].replaceChildren(...arms.map((arm) => {
    const band = { low: arm.low ?? null, mean: arm.mean ?? null, high: arm.high ?? null };
    const text = band.low === null ? number(band.mean) : `${number(band.mean)} [${number(band.low)}, ${number(band.high)}]`;
    return html("tr", { className: arm.status === "awake" ? "" : "asleep" },
      html("th", { scope: "row", className: "name" }, html("i", { className: `swatch ${arm.color}` }), html("span", { title: arm.label }, arm.label)),
      html("td", {}, shareGlyph(arm.probability, arm.color), percent(arm.probability)),
      html("td", { className: "number" }, count(arm.pulls)),
      html("td", { className: "number answers" }, count(arm.answers)),
      html("td", {}, bandGlyph(band, range, arm.color), text),
      html("td", {}, arm.status));
  }));
}

function showSegments({ bandits, after }) {
  const said = JSON.stringify([bandits, after, state.name, state.segment, state.page.length, state.experiments.get(state.name).segments]);
  if (showSegments.said === said) return; // nobody's click or focus is lost
  showSegments.said = said;
  const focused = document.activeElement?.dataset?.segment;
  $("segment-table").tBodies[0].replaceChildren(...bandits.map((one) => {
    const link = html("a", { href: `?${new URLSearchParams({ experiment: state.name, segment: one.segment })}` }, legible(one.segment) || "(no segment)");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      choose(state.name, one.segment).then(() => $("main").focus());
    });
    link.dataset.segment = one.segment;
    if (one.segment === state.segment) link.setAttribute("aria-current", "true");
    const likely = one.arms.reduce((best, arm) => (arm.probability > best.probability ? arm : best));
    return html("tr", {},
      html("th", { scope: "row", className: "name" }, link),
      html("td", { className: "number" }, count(one.decisions)),
      html("td", { className: "number" }, count(one.open)),
      html("td", { className: "number" }, count(one.late)),
      html("td", {}, `${legible(likely.arm)}, ${percent(likely.probability)}`),
      html("td", {}, one.drift?.raised ? "seen" : "none seen"),
      html("td", {}, one.frozen ? "frozen" : "running"));
  }));
  if (focused !== undefined) [...$("segment-table").querySelectorAll("a")].find((link) => link.dataset.segment === focused)?.focus();
  $("first").disabled = state.page.length === 1;
  $("next").disabled = after === null;
  $("next").dataset.after = after ?? "";
  const begin = (state.page.length - 1) * PAGE;
  $("page").textContent = `${begin + 1} to ${begin + bandits.length} of ${count(state.experiments.get(state.name).segments)}`;
  $("segments").replaceChildren(...bandits.map((one) => html("option", { value: one.segment })));
}

const keyName = (one) => (one.key === null ? "(without a key)" : one.label ? `${legible(one.label)} (${one.key.slice(0, 6)}…)` : one.key);

function showReporters() {
  $("keys-card").hidden = state.reporters.length === 0;
  $("keys").tBodies[0].replaceChildren(...state.reporters.map((one) => {
    const status = html("span", { className: "light" });
    if (one.odd) setLight(status, "bad", `odd: differs from ${one.differs_from} of ${one.compared_with}`);
    else if (one.compared_with) setLight(status, "good", "no clear difference");
    else setLight(status, "", "not compared yet");
    const sign = one.difference > 0 ? "+" : one.difference < 0 ? "\u2212" : "";
    return html("tr", {},
      html("th", { scope: "row", className: "name" }, html("span", { title: one.key ?? "" }, keyName(one))),
      html("td", { className: "number" }, count(one.decisions)),
      html("td", { className: "number" }, one.decisions ? percent(one.answered / one.decisions) : "\u2013"),
      html("td", { className: "number" }, count(one.reports)),
      html("td", {}, one.difference === null ? "\u2013" : `${sign}${percent(Math.abs(one.difference))}, ${count(one.compared)} compared`),
      html("td", {}, status));
  }));
}

// --- models of the charts ------------------------------------------------------------------------------

/* The points in the chosen range, and their x. */
function visible() {
  const isTime = $("axis").value === "at";
  const seconds = Number($("range").value);
  const now = Date.parse(state.tick?.at ?? 0) / 1000 || state.points.at(-1)?.at || 0;
  const points = state.points.filter((point) => point.at >= now - seconds);
  const x = points.map((point) => (isTime ? point.at : point.decisions));
  const domain = x.length > 1 && x.at(-1) > x[0] ? [x[0], x.at(-1)] : [(x[0] ?? 0) - 1, (x[0] ?? 0) + 1];
  return { points, x, isTime, domain, highlight: state.highlight, nothing: "Nothing in this range of time" };
}

function stack(shares, n) {
  const floor = new Array(n).fill(0);
  return shares.map(({ color, values }) => {
    const low = [...floor];
    values.forEach((value, i) => { floor[i] += value; });
    return { color, low, high: [...floor], solid: true };
  });
}

function probabilityModel(arms, window) {
  const shares = groups(arms).map(({ label, color, indices }) =>
    ({ label, color, values: window.points.map((point) => sum(indices.map((index) => point.probabilities[index] ?? 0))) }));
  const likely = arms.reduce((best, arm) => (arm.probability > best.probability ? arm : best));
  return {
    ...window, y: [0, 1], format: (value) => `${Math.round(100 * value)} %`,
    areas: stack(shares, window.x.length),
    readings: shares.map(({ label, color, values }) => ({ label, color, text: (i) => percent(values[i]) })).reverse(),
    caption: `With which each arm is drawn. Likeliest now: ${likely.label}, ${percent(likely.probability)}.`,
  };
}

const valuesOf = (window, what, index) => window.points.map((point) => point[what][index] ?? null);

function meanModel(arms, window, experiment) {
  const own = arms.filter((arm) => arm.color !== OTHERS).map((arm) => ({
    label: arm.label, color: arm.color,
    values: valuesOf(window, "means", arm.index), low: valuesOf(window, "lows", arm.index), high: valuesOf(window, "highs", arm.index),
  }));
  const said = own.some(({ values }) => values.some((value) => value !== null));
  const world = { stationary: "Rewards are taken to be drawn alike.", any: "Rewards may move: bands cover their average over all rounds.", played: "Rewards may move: bands cover the average of the rounds in which an arm was played." }[state.bandit.world] ?? "";
  // bands begin as wide as the range, and means of few rewards jump: the view is that of bands of the later half, and of
  // means from a tenth on
  const since = (values, share) => values.slice(Math.floor(share * values.length)).filter((value) => value !== null);
  const later = own.flatMap(({ values, low, high }) => [...since(values, 0.1), ...since(low, 0.5), ...since(high, 0.5)]);
  const isCut = own.some(({ values, low, high }) => [values, low, high].some((one) => one.some((value) => value !== null && (value < Math.min(...later) || value > Math.max(...later)))));
  const isMany = own.length > FILLED && !state.highlight;
  const y = later.length ? padded(Math.min(...later), Math.max(...later)) : [experiment.low ?? 0, experiment.high ?? 1];
  return {
    ...window, x: said ? window.x : [], y, format: number,
    areas: own.map((one) => ({ ...one, bare: isMany })), lines: own,
    readings: own.map(({ label, color, values, low, high }) => ({ label, color, text: (i) => `${number(values[i])} [${number(low[i])}, ${number(high[i])}]` })),
    nothing: state.bandit.regret ? "No mature decisions yet" : "No bands: the range of rewards is not known, or another arm is observed than shown",
    caption: `Over mature decisions, with bands that hold at all times together, with probability 95 % for each arm. ${world}${isCut ? " Early values beyond the view are cut off." : ""}${isMany ? " Choose an arm above to fill its band." : ""}`,
  };
}

function padded(low, high) {
  const pad = 0.05 * (high - low) || 0.5;
  return [low - pad, high + pad];
}

function pullModel(arms, window) {
  const { points, x, isTime, domain } = window;
  const width = niceStep(domain[1] - domain[0], BINS, isTime);
  const edges = [];
  if (points.length > 1) {
    const first = Math.floor(domain[0] / width);
    for (let i = first; i * width < domain[1]; i++) edges.push(i * width);
  }
  const shares = groups(arms).map(({ label, color, indices }) => {
    const totals = points.map((point) => sum(indices.map((index) => point.pulls[index] ?? 0)));
    const values = edges.map((left) => Math.max(0, between(x, totals, left + width) - between(x, totals, left)));
    return { label, color, values };
  });
  const bars = stack(shares, edges.length);
  const unit = isTime ? duration(width) : `${count(width)} decisions`;
  charts.pulls.title.textContent = `Pulls per ${unit}`;
  return {
    ...window, x: edges, width, bars, format: count, y: [0, Math.max(1, ...(bars.at(-1)?.high ?? [])) * 1.05],
    domain: edges.length ? [edges[0], edges.at(-1) + width] : domain,
    readings: shares.map(({ label, color, values }) => ({ label, color, text: (i) => count(Math.round(values[i])) })).reverse(),
    nothing: "Nothing yet",
    caption: `Of mature decisions${state.bandit.arms.length ? `: ${count(sum(state.bandit.arms.map((arm) => arm.pulls)))} so far` : ""}.`,
  };
}

/* A total at x, on straight lines between those that are known. */
function between(xs, totals, x) {
  if (x <= xs[0]) return totals[0];
  const i = xs.findIndex((one) => one >= x);
  if (i < 0) return totals.at(-1);
  const span = xs[i] - xs[i - 1];
  return span > 0 ? totals[i - 1] + ((totals[i] - totals[i - 1]) * (x - xs[i - 1])) / span : totals[i];
}

function regretModel(window) {
  const [low, values, high] = [0, 1, 2].map((part) => valuesOf(window, "regret", part));
  const known = [low, values, high].flat().filter((value) => value !== null);
  const now = state.bandit.regret;
  const lost = now && now.low > 0 ? `At least ${number(now.low)} of reward lost so far, with probability 95 %.` : "Not yet distinguishable from 0.";
  return {
    ...window, highlight: null, x: known.length ? window.x : [], y: padded(Math.min(0, ...known), Math.max(0, ...known)), zero: true, format: (value) => count(Number(number(value).replaceAll(",", ""))),
    areas: [{ color: "c0", low, high }], lines: [{ color: "c0", values }],
    readings: [{ label: "regret", color: "c0", text: (i) => `${number(values[i])} [${number(low[i])}, ${number(high[i])}]` }],
    nothing: now ? "No mature decisions yet" : "No estimate: the range of rewards is not known, or another arm is observed than shown",
    caption: now ? `What the best arm alone would have earned more, estimated, with its band. ${lost}` : "",
  };
}

// --- controls ------------------------------------------------------------------------------------------

for (const id of ["range", "axis"]) $(id).addEventListener("change", draw);
$("choices").addEventListener("submit", (event) => { event.preventDefault(); enterSegment(); });
$("segment").addEventListener("change", () => enterSegment());

const enterSegment = () => attempt(async () => {
  const segment = $("segment").value;
  if (segment === state.segment) return;
  const { bandits } = await get(pathOf(state.name, "bandits"), { segment });
  $("segment").setCustomValidity(bandits.length ? "" : "No decision was made in a segment of this name");
  $("segment").reportValidity();
  if (bandits.length) await choose(state.name, segment);
});

$("segment").addEventListener("input", () => attempt(async () => { // names in order: what follows what was typed
  $("segment").setCustomValidity("");
  const { bandits } = await get(pathOf(state.name, "bandits"), { limit: 10, after: $("segment").value });
  $("segments").replaceChildren(...bandits.map((one) => html("option", { value: one.segment })));
}));

$("first").addEventListener("click", () => { state.page = [null]; attempt(loadSegments); });
$("next").addEventListener("click", () => { state.page.push($("next").dataset.after); attempt(loadSegments); });

enter();
