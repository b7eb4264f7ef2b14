// Reading a chart: words beside the pointer, keys, and a voice for those who do not see it.

const KEYS = "Arrow keys read values, plus and minus zoom, 0 shows all.";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A line or a block of the colour of what it stands for.
function swatch(each, colors) {
  const made = element("i", {class: each.block ? "block" : "stroke", "aria-hidden": "true"});
  made.style.setProperty(each.block ? "background" : "border-top-color", colors.of(each.color));
  if (!each.block) made.style.borderTopStyle = each.dash ?? "solid";
  return made;
}

// `plot.read` gives a heading and the values at the cursor.
function showReading(plot, box) {
  const told = plot.u.cursor.left >= 0 ? plot.read(plot.u) : null;
  box.hidden = told === null;
  plot.line.hidden = told?.at === undefined;
  if (told?.at !== undefined) plot.line.style.left = `${Math.round(told.at)}px`;
  if (told === null) return "";
  const rows = told.values.map(each => element("div", {}, swatch(each, plot.colors),
    element("span", {}, each.name), element("b", {}, each.text)));
  box.replaceChildren(...(told.head ? [element("strong", {}, told.head)] : []), ...rows);
  const {left, top} = plot.u.cursor, over = plot.u.over;
  const beside = left + 14 + box.offsetWidth <= over.clientWidth ? left + 14 : left - 14 - box.offsetWidth;
  box.style.left = `${Math.max(-8, Math.min(beside, over.clientWidth + 8 - box.offsetWidth))}px`;
  box.style.top = `${Math.max(-8, Math.min(top - box.offsetHeight / 2, over.clientHeight - box.offsetHeight))}px`;
  return `${told.head}: ${told.values.map(each => `${each.name} ${each.text}`).join(", ")}`;
}

// Zooms by a factor around the cursor, or the middle; never beyond what there is.
function zoom(plot, factor) {
  const u = plot.u;
  u.batch(() => {
    for (const key of plot.zooms) {
      const scale = u.scales[key], [to, from] = measureOf(plot.scales[key]);
      const across = scale.ori === 0, at = across ? u.cursor.left : u.cursor.top;
      const [low, high] = [to(scale.min), to(scale.max)];
      const middle = at >= 0 ? to(u.posToVal(at, key)) : (low + high) / 2;
      const [first, last] = plot.ends[key].map(to);
      const next = [middle - (middle - low) / factor, middle + (high - middle) / factor];
      u.setScale(key, {min: from(Math.max(first, next[0])), max: from(Math.min(last, next[1]))});
    }
  });
}

function showAll(plot) {
  plot.u.batch(() => {
    for (const [key, [min, max]] of Object.entries(plot.ends)) plot.u.setScale(key, {min, max});
  });
}

function isZoomed(plot) {
  return Object.entries(plot.ends).some(([key, [low, high]]) => {
    const [to] = measureOf(plot.scales[key]), scale = plot.u.scales[key];
    const some = (to(high) - to(low)) * 1e-6;
    return to(scale.min) > to(low) + some || to(scale.max) < to(high) - some;
  });
}

// Moves the cursor from value to value; `plot.step` knows where the next one is.
function moveCursor(plot, right, down) {
  const place = plot.step(plot.u, right, down);
  if (place) plot.u.setCursor(place);
}

const MOVES = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-1e9, 0],
  End: [1e9, 0]};

function listen(plot, holder, box, voice) {
  holder.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MOVES) {
      moveCursor(plot, ...MOVES[event.key]);
      voice.textContent = showReading(plot, box);
    } else if (event.key === "+" || event.key === "=") zoom(plot, 1.6);
    else if (event.key === "-") zoom(plot, 1 / 1.6);
    else if (event.key === "0") showAll(plot);
    else if (event.key === "Escape") plot.u.setCursor({left: -10, top: -10});
    else return;
    event.preventDefault();
  });
  holder.addEventListener("blur", () => plot.u.setCursor({left: -10, top: -10}));
}
