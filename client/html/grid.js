// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";

// A table that is sorted by its headers and walked with the keys, of any number of rows: only those in
// sight are elements, between two empty rows as high as the ones that are not.
//
// A column: {title, hint, number, width (characters; 0: the rest), cell(row) -> text or element,
//   order(row): what to sort by, null comes last; without, the text of the cell, family(row): rows of
//   different families are not compared, but kept apart}

const ROW_PIXELS = 22;
const ROWS_WITHOUT_SCROLLING = 60;
const ROWS_ON_PAPER = 1000;
const ROWS_MEASURED = 400;
// Browsers do not lay out elements that are higher than about this.
const MAX_PIXELS = 15e6;

// Texts that are integers of any size are compared as such.
function compareOrders(a, b) {
  const isWord = (order) => typeof order === "string" && !/^-?\d+$/.test(order);
  return isWord(a) || isWord(b) ? (a < b ? -1 : a > b ? 1 : 0) : compareNumbers(a, b);
}

class Grid {
  constructor(label, columns, {onSelect = null, rowKey = null} = {}) {
    this.columns = columns;
    this.onSelect = onSelect;
    this.rowKey = rowKey;
    this.all = this.rows = [];
    this.sorted = null;
    this.selected = -1;
    this.first = this.last = 0;
    this.head = make("tr", {}, columns.map((column, i) => this.headerOf(column, i)));
    this.body = make("tbody");
    this.sizes = make("colgroup", {}, columns.map(() => make("col")));
    this.table = make("table", {class: "grid", role: "grid", "aria-label": label}, this.sizes,
      make("thead", {}, this.head), this.body);
    this.element = make("div", {class: "scroll", tabIndex: 0, role: "region", "aria-label": label}, this.table);
    this.more = note();
    this.more.hidden = true;
    this.element.addEventListener("scroll", () => this.later());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => this.onClick(event));
    window.addEventListener("resize", () => this.later());
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
  }

  headerOf(column, i) {
    const button = make("button", {type: "button", title: column.hint ?? ""}, column.title);
    button.addEventListener("click", () => this.sort(i));
    return make("th", {scope: "col", class: column.number ? "number" : "", "aria-sort": "none"}, button);
  }

  setRows(rows) {
    this.all = rows;
    this.order();
    this.measure();
    this.selected = -1;
    this.element.scrollTop = 0;
    this.draw(true);
  }

  // Numbers go down first, names up; the third time is the order the rows came in.
  sort(index) {
    const first = this.columns[index].number ? "descending" : "ascending";
    const second = first === "descending" ? "ascending" : "descending";
    const direction = this.sorted?.index !== index ? first : this.sorted.direction === first ? second : null;
    this.sorted = direction && {index, direction};
    Array.from(this.head.cells).forEach((cell, i) =>
      cell.setAttribute("aria-sort", i === index && direction ? direction : "none"));
    this.order();
    this.selected = -1;
    this.element.scrollTop = 0;
    this.draw(true);
  }

  order() {
    this.rows = this.all;
    if (!this.sorted)
      return;
    const column = this.columns[this.sorted.index], sign = this.sorted.direction === "ascending" ? 1 : -1;
    const keyed = this.all.map((row, i) =>
      ({row, i, key: this.orderOf(column, row), family: column.family?.(row) ?? 0}));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null)
        return (a.key === null) - (b.key === null) || a.i - b.i;
      return a.family - b.family || sign * compareOrders(a.key, b.key) || a.i - b.i;
    });
    this.rows = keyed.map(({row}) => row);
  }

  orderOf(column, row) {
    const key = column.order ? column.order(row) : this.textOf(column, row);
    return key === undefined || key === "" ? null : key;
  }

  textOf(column, row) {
    const cell = column.cell(row);
    return typeof cell === "object" ? cell?.textContent ?? "" : String(cell);
  }

  // Widths must not change while rows come and go: they are those of rows from all over the table.
  measure() {
    const step = Math.max(1, Math.floor(this.all.length / ROWS_MEASURED));
    const widths = this.columns.map((column) => {
      let n = column.title.length + 2;
      for (let row = 0; row < this.all.length; row += step)
        n = Math.max(n, this.textOf(column, this.all[row]).length + 1);
      // The column that takes the rest must not be squeezed out on a narrow screen.
      return column.width === 0 ? `min(var(--rest), ${n}ch + 1rem)`
        : `${column.width ?? Math.min(n, column.most ?? 40)}ch + 1rem`;
    });
    this.columns.forEach((column, i) => {
      this.sizes.children[i].style.width = column.width === 0 ? "auto" : `calc(${widths[i]})`;
    });
    this.table.style.minWidth = `calc(${widths.join(" + ")})`;
  }

  later() {
    if (this.waiting)
      return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(false);
    });
  }

  // The rows are laid out in at most MAX_PIXELS. Where they are higher, scrolling by a pixel passes over
  // more than one pixel of them, so that the end of what is laid out is the end of the rows.
  pixelsPerScrolled() {
    const rows = this.rows.length * ROW_PIXELS, sight = this.element.clientHeight - this.head.clientHeight;
    return rows <= MAX_PIXELS ? 1 : (rows - sight) / (MAX_PIXELS - sight);
  }

  draw(anew) {
    const n = this.printing ? Math.min(this.rows.length, ROWS_ON_PAPER) : this.rows.length;
    const all = this.printing || n <= ROWS_WITHOUT_SCROLLING;
    this.element.classList.toggle("tall", !all);
    const height = this.element.clientHeight || 600, scrolled = this.element.scrollTop;
    const laidOut = Math.min(n * ROW_PIXELS, MAX_PIXELS), top = scrolled * this.pixelsPerScrolled();
    // How far above their place among all rows those in sight are laid out.
    const raised = all ? 0 : top - scrolled;
    const first = all ? 0 : Math.max(0, Math.floor(top / ROW_PIXELS) - 10, Math.floor(raised / ROW_PIXELS));
    const last = all ? n : Math.min(n, Math.floor(top / ROW_PIXELS) + Math.ceil(height / ROW_PIXELS) + 10,
      Math.ceil((raised + laidOut) / ROW_PIXELS));
    if (!anew && first === this.first && last === this.last && raised === this.raised)
      return;
    this.first = first;
    this.last = last;
    this.raised = raised;
    const rows = [];
    // Stripes follow the rows, not the elements.
    for (let i = first; i < last; i++)
      rows.push(this.rowOf(i));
    this.body.replaceChildren(this.gap(first * ROW_PIXELS - raised), ...rows,
      this.gap(laidOut + raised - last * ROW_PIXELS));
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    this.more.hidden = n === this.rows.length;
    this.more.textContent = `Only the first ${plural(n, "row")} of ${this.rows.length.toLocaleString("en")} ` +
      "are printed: filter for fewer.";
  }

  gap(pixels) {
    const cell = make("td", {colSpan: this.columns.length});
    const row = make("tr", {class: "gap", hidden: pixels <= 0, "aria-hidden": "true"}, cell);
    cell.style.height = pixels + "px";
    return row;
  }

  rowOf(i) {
    const row = this.rows[i];
    const again = i > this.first && this.rowKey && this.rowKey(row) === this.rowKey(this.rows[i - 1]);
    const cells = this.columns.map((column, c) => {
      const cell = column.cell(row, i);
      const element = make("td", {class: (column.number ? "number" : "") + (again && c === 0 ? " again" : "")}, cell);
      if (typeof cell === "string")
        element.title = cell;
      return element;
    });
    const element = make("tr", {class: i % 2 ? "odd" : "", "aria-rowindex": i + 2}, cells);
    element.dataset.row = i;
    if (this.onSelect)
      element.setAttribute("aria-selected", i === this.selected);
    return element;
  }

  onClick(event) {
    const row = event.target.closest("tr[data-row]");
    if (row && this.onSelect && !event.target.closest("button"))
      this.select(Number(row.dataset.row));
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_PIXELS) - 2);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (!this.onSelect || !(event.key in steps) || event.target !== this.element || this.rows.length === 0)
      return;
    event.preventDefault();
    this.select(Math.max(0, Math.min(this.rows.length - 1, this.selected + steps[event.key])));
  }

  select(i) {
    this.selected = i;
    const view = this.element, scale = this.pixelsPerScrolled(), seen = view.scrollTop * scale;
    const top = i * ROW_PIXELS, bottom = top + ROW_PIXELS * 3;
    if (view.classList.contains("tall")) {
      if (top < seen)
        view.scrollTop = top / scale;
      else if (bottom > seen + view.clientHeight)
        view.scrollTop = (bottom - view.clientHeight) / scale;
    }
    this.draw(true);
    this.onSelect(this.rows[i]);
  }

  print(printing) {
    this.printing = printing;
    const details = this.element.closest("details");
    if (details && printing) {
      details.dataset.open = details.open;
      details.open = true;
    } else if (details) {
      details.open = details.dataset.open === "true";
    }
    this.draw(true);
  }
}
