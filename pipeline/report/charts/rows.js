// Panels of named rows with bars, points and ranges.

const ROW = 20;

function rowEnds(panel, room, look) {
  const axis = panel.axis ?? {}, values = panel.names.map(() => 0);
  let reached = panel.series.flatMap(each => [...each.values, ...(each.low ?? []), ...(each.high ?? [])]);
  if (panel.stacked) {
    for (const each of panel.series)
      if ((each.draw ?? "bar") === "bar") each.values.forEach((value, at) => { values[at] += value ?? 0; });
    reached = [...reached, ...values];
  }
  const ends = endsOf(axis, reached, 0.05);
  const bars = panel.series.some(each => (each.draw ?? "bar") === "bar");
  if (bars && axis.scale in BASES) ends[0] /= 2;
  // Room for the words beside the longest.
  const words = panel.series.flatMap(each => each.words ?? []);
  const longest = Math.max(0, ...words.map(text => widthOf(text, look.font))) + (words.length ? 12 * look.size : 0);
  const [to, from] = measureOf(axis.scale);
  const share = Math.min(0.7, longest / room);
  ends[1] = from(to(ends[0]) + (to(ends[1]) - to(ends[0])) / (1 - share));
  return ends;
}

function paintRows(panel, look) {
  const bars = panel.series.filter(each => (each.draw ?? "bar") === "bar");
  return u => clipped(u, ctx => {
    const ratio = devicePixelRatio * look.size;
    const place = value => u.valToPos(value, "y", true);
    const height = Math.abs(u.valToPos(1, "x", true) - u.valToPos(0, "x", true));
    const base = u.scales.y.distr === 3 || u.scales.y.min > 0 ? u.bbox.left : place(0);
    panel.names.forEach((_, row) => {
      const middle = u.valToPos(row, "x", true);
      let sum = 0;
      panel.series.forEach(each => {
        const value = each.values[row];
        if (value === null || (u.scales.y.distr === 3 && value <= 0)) return;
        const color = look.colors.of(each.colors?.[row] ?? each.color ?? 0), draw = each.draw ?? "bar";
        if (each.low && each.low[row] !== null && each.high[row] !== null) {
          ctx.strokeStyle = look.colors.soft;
          ctx.lineWidth = 1.3 * ratio;
          ctx.beginPath();
          ctx.moveTo(place(each.low[row]), middle);
          ctx.lineTo(place(each.high[row]), middle);
          ctx.stroke();
        }
        ctx.fillStyle = ctx.strokeStyle = color;
        let end = place(value);
        if (draw === "bar" && panel.stacked) {
          const left = place(sum);
          sum += value;
          end = place(sum);
          ctx.fillRect(left, middle - height * 0.35, end - left, height * 0.7);
        } else if (draw === "bar") {
          const thick = 0.8 * height / bars.length, at = bars.indexOf(each);
          const top = middle - 0.4 * height + at * thick;
          ctx.fillRect(Math.min(base, end), top, Math.max(1, Math.abs(end - base)), Math.max(1, thick - ratio));
        } else if (draw === "point") {
          ctx.beginPath();
          ctx.arc(end, middle, 3.6 * ratio, 0, 2 * Math.PI);
          ctx.fill();
        } else {
          ctx.fillRect(end - ratio, middle - height * 0.4, 2 * ratio, height * 0.8);
        }
        if (each.words?.[row]) {
          const furthest = each.high?.[row] ? Math.max(place(each.high[row]), end) : end;
          ctx.font = look.font.replace(/[\d.]+px/, size => `${parseFloat(size) * devicePixelRatio}px`);
          ctx.fillStyle = look.colors.ink;
          ctx.textBaseline = "middle";
          ctx.textAlign = "left";
          // Where a narrow panel has no room after the mark, the words stand before it or end at the edge.
          const gap = 7 * ratio, wide = ctx.measureText(each.words[row]).width, right = u.bbox.left + u.bbox.width;
          const before = (each.low?.[row] ? Math.min(place(each.low[row]), end) : end) - gap - wide;
          const after = furthest + gap;
          const at = after + wide <= right ? after : before >= u.bbox.left ? before : right - wide;
          ctx.fillText(each.words[row], at, middle);
        }
      });
    });
  });
}

function rowsPlot(panel, look, width) {
  const axis = panel.axis ?? {}, count = panel.names.length;
  const bars = panel.stacked ? 1 : panel.series.filter(each => (each.draw ?? "bar") === "bar").length;
  const names = Math.max(...panel.names.map(name => widthOf(name, look.font)));
  const room = Math.min(names, 0.42 * width);
  const inside = Math.max(60, width - room - 40 * look.size);
  const ends = {x: [-0.5, count - 0.5], y: rowEnds(panel, inside, look)};
  const named = axisOf(look, 3, "x", (_, __, low, high) => panel.names.map((_, at) => at).filter(at => at >= low && at <= high),
    at => panel.names[at], room + 1);
  const scales = {
    x: {time: false, ori: 1, dir: -1, auto: false, min: -0.5, max: count - 0.5, range: (_, low, high) => [low, high]},
    y: {...scaleOf(axis, ends.y), ori: 0},
  };
  const read = u => {
    const at = u.cursor.idx;
    if (at === null || at === undefined) return null;
    const values = panel.series.flatMap(each => {
      if (each.values[at] === null) return [];
      const range = each.low ? ` (${written(each.low[at])} to ${written(each.high[at])})` : "";
      return [{name: each.name, color: each.colors?.[at] ?? each.color ?? 0, block: true,
        text: `${written(each.values[at], axis.unit)}${range}`}];
    });
    return {head: panel.names[at], values};
  };
  const step = (u, right, down) => {
    const by = down || right, now = u.cursor.idx;
    const low = Math.max(0, Math.ceil(u.scales.x.min)), high = Math.min(count - 1, Math.floor(u.scales.x.max));
    const next = now === null || now === undefined ? (by > 0 ? low : high) : Math.max(low, Math.min(high, now + by));
    return {left: u.over.clientWidth / 2, top: u.valToPos(next, "x")};
  };
  const tall = count * Math.max(ROW, 8 * bars + 6) * look.size + 36 * look.size;
  const none = {paths: () => null, points: {show: false}, auto: false};
  const made = options(look, width, tall, scales, [named, numberAxis(look, 2, "y", axis)], [{}, none],
    {draw: [paintRows(panel, look)]});
  made.cursor.points = {show: false};
  return {options: made, data: [panel.names.map((_, at) => at), panel.names.map(() => null)], ends, read, step,
    zooms: ["y"], scales: {x: "linear", y: axis.scale}, across: axis.label, up: ""};
}
