// Sorts a table by the column whose heading is pressed, and shows the rows that hold all words of its filter.
(() => {
  const value = text => {
    const number = parseFloat(text.replace(/,/g, ""));
    return Number.isNaN(number) ? null : number;
  };
  const order = (numeric, down) => (first, second) => {
    const [a, b] = numeric ? [value(first.text), value(second.text)] : [first.text || null, second.text || null];
    if (a === null || b === null) return (a === null) - (b === null);  // empty cells stay last
    const found = numeric ? a - b : a.localeCompare(b, "en", {numeric: true});
    return down ? -found : found;
  };
  document.addEventListener("click", event => {
    const button = event.target.closest("th button");
    if (!button) return;
    const heading = button.closest("th"), table = heading.closest("table"), body = table.tBodies[0];
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map(row => {
      const cell = row.cells[heading.cellIndex];
      return {row, text: cell.dataset.order ?? cell.textContent.trim()};
    });
    rows.sort(order(heading.classList.contains("number"), down));
    body.append(...rows.map(each => each.row));
  });
  document.addEventListener("input", event => {
    if (!event.target.matches("input[type=search]")) return;
    const holder = event.target.closest(".table"), rows = holder.querySelector("table").tBodies[0].rows;
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    holder.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
  });
})();
