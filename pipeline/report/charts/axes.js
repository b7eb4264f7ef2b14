// Axes of numbers: where they begin and end, which values they name, and how values are written.

const BASES = {log2: 2, log10: 10};
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const grouped = value => value.toLocaleString("en", {maximumFractionDigits: 0});

// As tables have it: whole numbers whole, others with three digits.
function written(value, unit) {
  if (value === null || value === undefined) return "";
  if (unit === "bytes") {
    for (const [name, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
      if (value >= size) return `${+(value / size).toPrecision(3)} ${name}`;
    return `${+value.toPrecision(3)} B`;
  }
  if (Number.isInteger(value)) return Math.abs(value) < 1e15 ? grouped(value) : value.toPrecision(3);
  const size = Math.abs(value);
  if (size >= 999.5) return grouped(value);
  return size < 1e-4 ? value.toExponential(2) : `${+value.toPrecision(3)}`;
}

// Beside an axis there is less room.
function tickText(value, axis) {
  if (axis.unit) return written(value, axis.unit);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-4)) {
    const power = Math.floor(Math.log10(size) + 1e-9), share = +(value / 10 ** power).toPrecision(3);
    const raised = [...`${Math.abs(power)}`].map(digit => RAISED[digit]).join("");
    return `${share === 1 ? "" : `${share}·`}10${power < 0 ? "⁻" : ""}${raised}`;
  }
  return Number.isInteger(value) ? grouped(value) : `${+value.toPrecision(3)}`;
}

// What makes equal distances of an axis equal steps, and its inverse.
function measureOf(scale) {
  if (scale in BASES) return [Math.log10, value => 10 ** value];
  if (scale === "symlog") return [Math.asinh, Math.sinh];
  return [value => value, value => value];
}

// A little more than the values span; what an axis states goes first.
function endsOf(axis, values, margin) {
  const scale = axis.scale ?? "linear", logarithmic = scale in BASES;
  const [to, from] = measureOf(scale);
  const usable = values.filter(value => value !== null && Number.isFinite(value) && (!logarithmic || value > 0));
  let low = Math.min(...usable.map(to)), high = Math.max(...usable.map(to));
  if (!usable.length) [low, high] = [to(1), to(10)];
  const some = high > low ? (high - low) * margin : logarithmic ? 0.2 : Math.abs(high) * 0.1 || 1;
  low -= some;
  high += some;
  const given = value => value !== null && value !== undefined && (!logarithmic || value > 0);
  if (given(axis.low)) low = Math.min(to(axis.low), high - 1e-9);
  if (given(axis.high)) high = to(axis.high);
  return high > low ? [from(low), from(high)] : [from(low), from(low + 1)];
}

function evenTicks(low, high, most, whole) {
  const rough = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough * 0.999);
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place <= high / step + 1e-9; place += 1)
    found.push(+(place * step).toPrecision(12));
  return found;
}

function powerTicks(low, high, most, base) {
  const scale = Math.log(base), first = Math.ceil(Math.log(low) / scale - 1e-9);
  const last = Math.floor(Math.log(high) / scale + 1e-9);
  const steps = base === 10 && Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1];
  const skip = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first - 1; power <= last; power += 1)
    if (power % skip === 0 || skip === 1)
      for (const step of steps) found.push(+(step * base ** power).toPrecision(12));
  const within = found.filter(value => value >= low * 0.9999 && value <= high * 1.0001);
  return within.length > 1 ? within : evenTicks(low, high, most, false);
}

// Values that an axis names between two ends, at most so many.
function ticksOf(axis, low, high, most) {
  const room = Math.max(2, Math.floor(most));
  if (axis.ticks) {
    const within = axis.ticks.filter(value => value >= low && value <= high);
    const skip = Math.ceil(within.length / room);
    return within.filter((_, place) => place % skip === 0);
  }
  if (axis.scale in BASES) return powerTicks(low, high, room, BASES[axis.scale]);
  if (axis.scale === "symlog") {
    const powers = high > 1 ? powerTicks(1, high, room - 1, 10).filter(value => value <= high) : [];
    return [0, ...powers].filter(value => value >= low);
  }
  return evenTicks(low, high, room, axis.whole);
}

// The scale of uPlot that an axis is.
function scaleOf(axis, ends) {
  const scale = axis.scale ?? "linear";
  return {
    time: false,
    distr: scale in BASES ? 3 : scale === "symlog" ? 4 : 1,
    log: BASES[scale] ?? 10,
    asinh: 1,
    auto: false,
    min: ends[0],
    max: ends[1],
    range: (_, low, high) => (low === null || low === undefined ? ends : [low, high]),
  };
}
