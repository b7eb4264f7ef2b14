// Draws every chart of the page from the data beside it: at the width that it has, in the colours of the reader's
// setting, again when one of these changes, and in daylight for paper.

const PLOTS = {curves: curvesPlot, rows: rowsPlot, cells: cellsPlot};
const PAPER_WIDTH = 640;

const state = new WeakMap();

function colorsOf(figure) {
  const style = getComputedStyle(figure), get = name => style.getPropertyValue(name).trim();
  const of = color => color === "ink" ? get("--ink") : color === "grey" ? get("--grey") : get(`--color-${color ?? 0}`);
  const faint = (color, share) => `color-mix(in srgb, ${of(color)} ${share}%, transparent)`;
  return {
    ink: get("--ink"), soft: get("--soft"), line: get("--line"), of,
    pale: color => faint(color, 40), shade: color => faint(color, 18), depth: share => faint(0, Math.round(100 * share)),
  };
}

// Pixels that a panel needs to be read.
function leastWidth(panel) {
  if (panel.kind !== "cells") return panel.kind === "rows" ? 270 : 250;
  return panel.values ? 90 + 36 * panel.columns.length : 150;
}

// What the legend names: each name once, over all panels.
function entries(chart) {
  const found = new Map();
  const add = each => { if (each.name && !found.has(each.name)) found.set(each.name, each); };
  for (const panel of chart.panels) {
    for (const line of panel.lines ?? [])
      add({name: line.name, color: line.color ?? 0, dash: line.dash, block: line.draw === "bars" || line.draw === "points" || panel.stacked, line: true});
    for (const each of panel.series ?? [])
      if (each.in_legend ?? true) add({name: each.name, color: each.color ?? 0, block: true, line: true});
    for (const span of panel.spans ?? []) add({name: span.name, color: span.color ?? "grey", block: true});
    for (const rule of panel.rules ?? []) add({name: rule.name, color: rule.color ?? "grey", dash: rule.dash ?? "dashed"});
  }
  return [...found.values()];
}

function without(panel, hidden) {
  const kept = {...panel};
  if (panel.lines) kept.lines = panel.lines.filter(line => !hidden.has(line.name));
  if (panel.series) kept.series = panel.series.filter(each => !hidden.has(each.name));
  return kept;
}

function legendOf(figure, own, colors) {
  const found = entries(own.chart);
  const list = element("ul", {class: "legend"});
  if (found.length < 2) return list;
  for (const each of found) {
    const words = [swatch(each, colors), each.name];
    if (!each.line) { list.append(element("li", {}, element("span", {}, ...words))); continue; }
    const button = element("button", {type: "button", "aria-pressed": String(!own.hidden.has(each.name))}, ...words);
    button.addEventListener("click", () => {
      if (!own.hidden.delete(each.name)) own.hidden.add(each.name);
      draw(figure);
      [...figure.querySelectorAll(".legend button")].find(other => other.textContent === each.name)?.focus();
    });
    list.append(element("li", {}, button));
  }
  return list;
}

function drawPanel(figure, own, panel, look, width, reset, voice) {
  const title = panel.title ? [element("p", {class: "panel-title"}, panel.title)] : [];
  const plot = PLOTS[panel.kind](without(panel, own.hidden), look, width);
  const up = plot.up ? [element("p", {class: "unit"}, plot.up)] : [];
  const label = [figure.dataset.title, panel.title, own.chart.about, KEYS].filter(Boolean).join(". ");
  const holder = element("div", {class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart",
    "aria-label": label});
  const box = element("div", {class: "values", hidden: ""});
  plot.colors = look.colors;
  plot.line = element("div", {class: "at", hidden: ""});
  plot.options.hooks.setCursor = [() => showReading(plot, box)];
  plot.options.hooks.setScale = [() => { reset.hidden = !own.plots.some(each => each.u.status && isZoomed(each)); }];
  plot.options.cursor.bind.dblclick = () => () => { showAll(plot); return null; };
  own.plots.push(plot);
  plot.u = new uPlot(plot.options, plot.data, (u, start) => { plot.u = u; holder.append(u.root); start(); });
  plot.u.over.append(plot.line, box);
  listen(plot, holder, box, voice);
  const across = plot.across ? [element("p", {class: "unit across"}, plot.across)] : [];
  return element("div", {class: "panel"}, ...title, ...up, holder, ...across);
}

function draw(figure, paper = false) {
  const own = state.get(figure);
  const small = Boolean(figure.closest("section.small"));
  const room = paper ? (small ? PAPER_WIDTH / 2 - 10 : PAPER_WIDTH) : Math.floor(figure.clientWidth);
  if (room < 40) return;
  for (const plot of own.plots) plot.u.destroy();
  own.plots = [];
  own.width = paper ? 0 : room;
  const least = Math.max(...own.chart.panels.map(leastWidth));
  const columns = Math.max(1, Math.min(own.chart.columns ?? 3, own.chart.panels.length, Math.floor((room + 16) / (least + 16))));
  const size = paper ? 2 : 1, colors = colorsOf(figure);
  const largest = Math.min(...own.chart.panels.map(panel => panel.kind !== "cells" ? 720 : panel.values ? 560 : 330));
  const width = Math.min(Math.floor((room - 16 * (columns - 1)) / columns), largest) * size;
  const look = {size, colors, font: `${11 * size}px system-ui, sans-serif`,
    height: Math.round(Math.max(150 * size, Math.min(250 * size, width * 0.62)))};
  const reset = element("button", {type: "button", class: "reset", hidden: ""}, "Show all");
  reset.addEventListener("click", () => own.plots.forEach(showAll));
  const voice = element("output", {class: "voice", "aria-live": "polite"});
  const panels = element("div", {class: "panels"});
  panels.style.gridTemplateColumns = `repeat(${columns}, ${width / size}px)`;
  const holder = element("div", {class: "drawn"}, element("div", {class: "over"}, legendOf(figure, own, colors), reset),
    panels, voice);
  if (paper) holder.classList.add("paper");
  figure.querySelector(".drawn")?.remove();
  figure.prepend(holder);
  for (const panel of own.chart.panels) panels.append(drawPanel(figure, own, panel, look, width, reset, voice));
  figure.dataset.drawn = String(own.plots.length);
}

const resized = new ResizeObserver(changes => {
  for (const {target} of changes)
    if (Math.abs(target.clientWidth - state.get(target).width) > 1 && !printing) draw(target);
});

function begin() {
  for (const figure of document.querySelectorAll("figure.chart")) {
    if (state.has(figure)) continue;
    const chart = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    state.set(figure, {chart, hidden: new Set(), plots: [], width: 0});
    draw(figure);
    resized.observe(figure);
  }
}

let printing = false;
const all = paper => document.querySelectorAll("figure.chart").forEach(figure => draw(figure, paper));
addEventListener("beforeprint", () => {
  printing = true;
  document.documentElement.classList.add("daylight");
  all(true);
});
addEventListener("afterprint", () => {
  printing = false;
  document.documentElement.classList.remove("daylight");
  all(false);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all(false));
document.addEventListener("gravel:replaced", begin);
begin();
