// Panels of shaded cells: heat maps with their numbers, and pictures of matrices.

function cellAt(u, count) {
  if (u.cursor.left < 0) return null;
  const column = Math.floor(u.posToVal(u.cursor.left, "x")), row = Math.floor(u.posToVal(u.cursor.top, "y"));
  return column >= 0 && column < count.columns && row >= 0 && row < count.rows ? {row, column} : null;
}

function paintCells(panel, look, count) {
  return u => clipped(u, ctx => {
    const ratio = devicePixelRatio * look.size;
    const across = [...Array(count.columns + 1).keys()].map(at => Math.round(u.valToPos(at, "x", true)));
    const down = [...Array(count.rows + 1).keys()].map(at => Math.round(u.valToPos(at, "y", true)));
    const framed = new Set((panel.framed ?? []).map(([row, column]) => `${row} ${column}`));
    ctx.font = look.font.replace(/[\d.]+px/, size => `${parseFloat(size) * devicePixelRatio}px`);
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    panel.shades.forEach((digits, row) => [...digits].forEach((digit, column) => {
      if (digit === " ") return;
      const left = across[column], top = down[row];
      const width = across[column + 1] - left, height = down[row + 1] - top, share = parseInt(digit, 16) / 15;
      ctx.fillStyle = look.colors.depth(panel.values ? 0.08 + 0.57 * share : share);
      ctx.fillRect(left, top, width, height);
      if (!panel.values) return;
      const text = written(panel.values[row][column]);
      ctx.fillStyle = look.colors.ink;
      if (ctx.measureText(text).width < width - 2) ctx.fillText(text, left + width / 2, top + height / 2);
      if (framed.has(`${row} ${column}`)) {
        ctx.strokeStyle = look.colors.ink;
        ctx.lineWidth = 1.5 * ratio;
        ctx.strokeRect(left + 1.5 * ratio, top + 1.5 * ratio, width - 3 * ratio, height - 3 * ratio);
      }
    }));
    if (!panel.values) {
      ctx.strokeStyle = look.colors.soft;
      ctx.lineWidth = ratio;
      ctx.strokeRect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    }
  });
}

// "5,120 to 5,375" of what a side of a picture stands for.
function part(at, count, extent) {
  const first = Math.floor(extent * at / count), last = Math.floor(extent * (at + 1) / count) - 1;
  return last > first ? `${grouped(first)} to ${grouped(last)}` : grouped(first);
}

function cellsPlot(panel, look, width) {
  const count = {rows: panel.shades.length, columns: panel.shades[0].length};
  const named = Boolean(panel.values);
  const widest = Math.max(0, ...(panel.rows ?? []).map(name => widthOf(name, look.font)));
  const room = Math.min(widest, 0.4 * width);
  const inside = width - (named ? room + 24 * look.size : 0) - 14 * look.size;
  const longest = Math.max(0, ...(panel.columns ?? []).map(name => widthOf(name, look.font)));
  const turned = longest > inside / count.columns - 6;
  const ends = {x: [0, count.columns], y: [0, count.rows]};
  const middles = names => (_, __, low, high) => names.map((_, at) => at + 0.5).filter(at => at > low && at < high);
  const rows = named ? axisOf(look, 3, "y", middles(panel.rows), at => panel.rows[at - 0.5], room + 1) : {show: false, scale: "y", side: 3};
  const columns = named ? axisOf(look, 2, "x", middles(panel.columns), at => panel.columns[at - 0.5], 140 * look.size)
    : {show: false, scale: "x", side: 2};
  const foot = turned ? Math.min(longest, 140 * look.size) * 0.72 + 18 * look.size : 22 * look.size;
  if (named) {
    columns.size = foot;
    if (turned) columns.rotate = -45;
  }
  const read = u => {
    const at = cellAt(u, count);
    if (!at) return null;
    if (named)
      return {head: `${panel.rows[at.row]}, ${panel.columns[at.column]}`, values: panel.values[at.row][at.column] === null ? []
        : [{name: panel.unit ?? "", color: 0, block: true, text: written(panel.values[at.row][at.column])}]};
    const shade = panel.shades[at.row][at.column];
    return {head: `rows ${part(at.row, count.rows, panel.extent ?? count.rows)}`, values: [
      {name: "columns", color: 0, block: true, text: part(at.column, count.columns, panel.extent ?? count.columns)},
      {name: "shade", color: 0, block: true, text: shade === " " ? "no arc" : `${parseInt(shade, 16)} of 15`}]};
  };
  const step = (u, right, down) => {
    const now = cellAt(u, count) ?? {row: down > 0 ? -1 : 0, column: right > 0 ? -1 : 0};
    const row = Math.max(0, Math.min(count.rows - 1, now.row + down));
    const column = Math.max(0, Math.min(count.columns - 1, now.column + right));
    return {left: u.valToPos(column + 0.5, "x"), top: u.valToPos(row + 0.5, "y")};
  };
  const side = key => ({time: false, auto: false, min: 0, max: ends[key][1], range: (_, low, high) => [low, high]});
  const tall = named ? count.rows * 26 * look.size + foot + 10 * look.size : inside + 8 * look.size;
  const none = {paths: () => null, points: {show: false}, auto: false};
  const made = options(look, width, tall, {x: side("x"), y: {...side("y"), dir: -1}}, [columns, rows], [{}, none],
    {draw: [paintCells(panel, look, count)]});
  made.cursor.points = {show: false};
  const middle = [...Array(count.columns).keys()].map(at => at + 0.5);
  return {options: made, data: [middle, middle.map(() => null)], ends, read, step, zooms: ["x", "y"],
    scales: {x: "linear", y: "linear"}, across: "", up: ""};
}
