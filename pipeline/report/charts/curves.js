// Panels of lines and bars over numbers.

// All x in ascending order, and for each line its value there or null.
function joined(lines) {
  const rows = new Map();
  lines.forEach((line, place) => {
    const seen = new Map();
    line.x.forEach((x, at) => {
      const times = seen.get(x) ?? 0, key = `${x} ${times}`;
      seen.set(x, times + 1);
      if (!rows.has(key)) rows.set(key, {x, times, values: lines.map(() => null), places: lines.map(() => null)});
      rows.get(key).values[place] = line.y[at];
      rows.get(key).places[place] = at;
    });
  });
  return [...rows.values()].sort((a, b) => a.x - b.x || a.times - b.times);
}

function drawnValues(panel) {
  if (!panel.stacked) return panel.lines.map(line => line.y);
  const sums = [];
  return panel.lines.map(line => line.y.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))));
}

function seriesOf(line, panel, look, logarithmic) {
  const color = look.colors.of(line.color), draw = line.draw ?? "line";
  const area = panel.stacked && draw !== "bars";
  const points = draw === "points" || (draw === "marked" && line.x.length <= 60) || (draw === "steps" && line.x.length <= 40);
  return {
    stroke: line.broad ? look.colors.pale(line.color) : color,
    width: (line.broad ? 5 : 1.5) * look.size,
    dash: DASHES[line.dash]?.map(each => each * look.size),
    fill: area ? color : undefined,
    spanGaps: true,
    paths: draw === "points" || draw === "bars" ? () => null
      : draw === "steps" ? uPlot.paths.stepped({align: 1}) : uPlot.paths.linear(),
    points: {show: points, size: (draw === "points" ? 6 : 5) * look.size, fill: color, stroke: color, space: 0},
    auto: false,
    logarithmic,
  };
}

function paintBars(ctx, u, line, values, color) {
  const zero = u.bbox.top + u.bbox.height;
  const base = u.scales.y.min > 0 || u.scales.y.distr === 3 ? zero : u.valToPos(0, "y", true);
  ctx.fillStyle = color;
  line.x.forEach((x, at) => {
    if (values[at] === null || (u.scales.y.distr === 3 && values[at] <= 0)) return;
    const [first, last] = line.until ? [x, line.until[at]] : [x - 0.4, x + 0.4];
    const left = u.valToPos(first, "x", true), right = u.valToPos(last, "x", true);
    const top = u.valToPos(values[at], "y", true), gap = line.until ? 1 : 0;
    ctx.fillRect(left + gap, Math.min(top, base), Math.max(1, right - left - 2 * gap), Math.abs(base - top));
  });
}

function paintBehind(panel, drawn, look) {
  return u => clipped(u, ctx => {
    const {left, top, width, height} = u.bbox;
    for (const span of panel.spans ?? []) {
      ctx.fillStyle = look.colors.shade(span.color ?? "grey");
      const first = u.valToPos(span.first, "x", true), last = u.valToPos(span.last, "x", true);
      ctx.fillRect(first, top, Math.max(1, last - first), height);
    }
    // Those that stand on others first, so that each covers what is not its own.
    panel.lines.map((line, place) => [line, place]).reverse().forEach(([line, place]) => {
      if (line.draw === "bars") paintBars(ctx, u, line, drawn[place], look.colors.of(line.color));
    });
    for (const rule of panel.rules ?? []) {
      ctx.strokeStyle = look.colors.of(rule.color ?? "grey");
      ctx.lineWidth = 1.2 * look.size * devicePixelRatio;
      ctx.setLineDash((DASHES[rule.dash ?? "dashed"] ?? []).map(each => each * look.size * devicePixelRatio));
      ctx.beginPath();
      const at = u.valToPos(rule.at, rule.axis, true);
      if (rule.axis === "x") { ctx.moveTo(at, top); ctx.lineTo(at, top + height); }
      else { ctx.moveTo(left, at); ctx.lineTo(left + width, at); }
      ctx.stroke();
    }
  });
}

function curvesEnds(panel, drawn) {
  const x = panel.x ?? {}, y = panel.y ?? {};
  const across = panel.lines.flatMap(line => line.draw !== "bars" ? line.x
    : line.until ? [...line.x, ...line.until] : line.x.flatMap(value => [value - 0.5, value + 0.5]));
  const up = drawn.flat();
  for (const rule of panel.rules ?? []) (rule.axis === "x" ? across : up).push(rule.at);
  if (panel.spans?.length) across.push(panel.spans[0].first, panel.spans.at(-1).last);
  const bars = panel.lines.some(line => line.draw === "bars");
  const ends = {x: endsOf(x, across, bars ? 0.01 : 0.02), y: endsOf(y, up, 0.06)};
  if (bars && y.scale in BASES) ends.y[0] /= 2;  // the least bar has a height too
  return ends;
}

function curvesPlot(panel, look, width) {
  const x = panel.x ?? {}, y = panel.y ?? {};
  const drawn = drawnValues(panel), ends = curvesEnds(panel, drawn);
  const rows = joined(panel.lines.map((line, place) => ({...line, y: drawn[place]})));
  const logarithmic = y.scale in BASES;
  // Stacked areas cover what lies below them, so the highest is drawn first.
  const order = panel.lines.map((_, place) => place);
  if (panel.stacked) order.reverse();
  const data = [rows.map(row => row.x),
    ...order.map(place => rows.map(row => (logarithmic && row.values[place] <= 0 ? null : row.values[place])))];
  // The nearest by distance on the axis, or the bar that the pointer is over.
  const nearest = u => {
    const [to] = measureOf(x.scale), value = u.posToVal(u.cursor.left, "x");
    const inside = rows.findIndex(row => panel.lines.some((line, place) => line.until
      && row.places[place] !== null && value >= row.x && value < line.until[row.places[place]]));
    if (inside >= 0) return inside;
    let found = null, least = Infinity;
    rows.forEach((row, at) => {
      const far = Math.abs(to(row.x) - to(value));
      if (row.x >= u.scales.x.min && row.x <= u.scales.x.max && far < least) [found, least] = [at, far];
    });
    return found;
  };
  const read = u => {
    const at = nearest(u);
    if (at === null) return null;
    const line = panel.lines.find((each, place) => each.until && rows[at].places[place] !== null);
    const until = line ? ` to ${written(line.until[line.x.indexOf(rows[at].x)] - 1, x.unit)}` : "";
    const values = panel.lines.flatMap((each, place) => {
      const found = rows[at].places[place];
      return found === null || each.y[found] === null ? []
        : [{name: each.name, color: each.color ?? 0, dash: each.dash, block: each.draw === "bars" || each.draw === "points" || panel.stacked,
          text: written(each.y[found], y.unit)}];
    });
    return {at: u.valToPos(rows[at].x, "x"), head: `${x.label ?? ""} ${written(rows[at].x, x.unit)}${until}`.trim(), values};
  };
  const step = (u, right, down) => {
    const inside = rows.map((row, at) => [row.x, at]).filter(([value]) => value >= u.scales.x.min && value <= u.scales.x.max);
    if (!inside.length) return null;
    const now = inside.findIndex(([, at]) => at === (u.cursor.left >= 0 ? nearest(u) : null)), by = right || -down;
    const next = now < 0 ? (by > 0 ? 0 : inside.length - 1) : Math.max(0, Math.min(inside.length - 1, now + by));
    return {left: u.valToPos(inside[next][0], "x"), top: u.over.clientHeight / 3};
  };
  const series = [{}, ...order.map(place => seriesOf(panel.lines[place], panel, look, logarithmic))];
  const made = options(look, width, look.height, {x: scaleOf(x, ends.x), y: scaleOf(y, ends.y)},
    [numberAxis(look, 2, "x", x), numberAxis(look, 3, "y", y)], series, {drawAxes: [paintBehind(panel, drawn, look)]});
  made.cursor.dataIdx = (u, place, closest) => (u.cursor.left >= 0 ? nearest(u) : closest);
  made.cursor.points = {one: false, size: (u, place) => (panel.lines[order[place - 1]]?.draw === "bars" ? 0 : 7)};
  return {options: made, data, ends, read, step, zooms: ["x"], scales: {x: x.scale, y: y.scale}, across: x.label,
    up: y.label};
}
