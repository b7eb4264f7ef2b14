// What the three kinds of panels share: a plot of uPlot with axes, a cursor, and a hook to paint in.

const DASHES = {dashed: [6, 4], dotted: [2, 3]};
const ruler = document.createElement("canvas").getContext("2d");

function widthOf(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

function shortened(text, room, font) {
  if (widthOf(text, font) <= room) return text;
  const ends = length => `${text.slice(0, Math.ceil(length / 2))}…${text.slice(text.length - Math.floor(length / 2))}`;
  let length = text.length;
  while (length > 2 && widthOf(ends(length), font) > room) length -= 1;
  return ends(length);  // runs differ in either end
}

// `look` has the sizes and colours of this drawing: `size` is 2 for paper, else 1.
function axisOf(look, side, scale, splits, texts, room) {
  const font = `${11 * look.size}px system-ui, sans-serif`;
  const upright = side === 3;
  return {
    side,
    scale,
    font,
    stroke: look.colors.ink,
    grid: {stroke: look.colors.line, width: look.size, show: !room},
    ticks: {stroke: look.colors.line, width: look.size, size: 4 * look.size, show: !room},
    border: {show: !room, stroke: look.colors.soft, width: look.size},
    gap: 4 * look.size,
    size: (_, values) => upright
      ? (room ? 10 * look.size : 12 * look.size)
        + Math.max(0, ...(values ?? []).map(text => widthOf(text ?? "", font)))
      : 26 * look.size,
    splits,
    values: (_, found) => found.map(value => shortened(texts(value), room || 1e9, font)),
    filter: (_, found) => found,
    incrs: undefined,
  };
}

function numberAxis(look, side, scale, axis) {
  const space = (side === 3 ? 28 : 62) * look.size;
  return axisOf(look, side, scale, (u, _, low, high) => {
    const room = (side === 3 ? u.bbox.height : u.bbox.width) / devicePixelRatio || 300;
    return ticksOf(axis, low, high, room / space);
  }, value => tickText(value, axis));
}

// Paints within the plot alone.
function clipped(u, paint) {
  const {left, top, width, height} = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  paint(u.ctx);
  u.ctx.restore();
}

function options(look, width, height, scales, axes, series, hooks) {
  return {
    width,
    height,
    scales,
    axes,
    series,
    hooks,
    legend: {show: false},
    padding: [8 * look.size, 14 * look.size, 0, 0],
    cursor: {
      x: false,
      y: false,
      drag: {x: true, y: true, uni: 24, setScale: true},
      bind: {dblclick: () => () => null},
    },
  };
}
