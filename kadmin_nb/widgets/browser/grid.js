// A grid of rows that come in pages as one scrolls. Plain DOM, one file, nothing from elsewhere.
// Texts are only ever set as textContent, title or value: a name from a cluster is never markup.

const LINE = 26, HEAD = 28; // pixels of a row, and of the names of columns
const PAGE = 100; // rows of a page
const TALLEST = 8e6; // pixels of an element: browsers have a limit
const KEPT = 60; // pages that are kept
const AHEAD = 4; // rows that are drawn above and below those in view: one that scrolls in is there already

function element(parent, name, role, tag = "div") {
  const made = document.createElement(tag);
  made.className = name;
  if (role) made.setAttribute("role", role);
  if (parent) parent.append(made);
  return made;
}

function between(low, value, high) {
  return Math.max(low, Math.min(high, value));
}

const marked = (state, note, old, applies, used) => ({ state, note, old, applies, used });

// ---- the rows that we have

class Rows {
  constructor(model, view, changed) {
    this.model = model;
    this.view = view;
    this.changed = changed;
    this.pages = new Map();
    this.asked = new Map();
    this.epoch = -1;
    this.total = 0;
    this.take(model.get("first_page"));
  }

  send(message) {
    try {
      this.model.send({ view: this.view, ...message });
      return true;
    } catch {
      return false; // the kernel was restarted
    }
  }

  // Rows of a later epoch make all others old; those of an earlier one come too late.
  take(page) {
    if (page.epoch === undefined || page.epoch < this.epoch) return false;
    if (page.epoch > this.epoch) {
      this.epoch = page.epoch;
      this.pages.forEach((known) => (known.old = true));
      this.asked.clear();
    }
    this.total = page.total;
    this.asked.delete(page.first);
    const marks = new Map(page.marks.map(([row, column, ...mark]) => [`${row}:${column}`, marked(...mark)]));
    const editors = new Map(page.editors.map(([row, column, kind, choices, text]) => [`${row}:${column}`, { kind, choices: choices || [], text }]));
    this.pages.set(page.first, { keys: page.keys, cells: page.cells, indented: page.indented, marks, editors, old: false });
    if (this.pages.size > KEPT) this.pages.delete(this.pages.keys().next().value);
    return true;
  }

  // Ask for the pages of these rows that we lack, or that are old.
  want(first, last) {
    for (let start = first - (first % PAGE); start <= last; start += PAGE) {
      const page = this.pages.get(start);
      if ((page && !page.old) || this.asked.get(start) === this.epoch) continue;
      this.asked.set(start, this.epoch);
      this.send({ kind: "window", first: start, count: PAGE });
    }
  }

  at(row) {
    const page = this.pages.get(row - (row % PAGE));
    return page && row % PAGE < page.keys.length ? [page, row % PAGE] : [null, 0];
  }

  key(row) {
    const [page, offset] = this.at(row);
    return page ? page.keys[offset] : null;
  }

  text(row, column) {
    const [page, offset] = this.at(row);
    return page ? page.cells[column][offset] : null;
  }

  // What a row shows in its first cell where it belongs to the row above it; else nothing.
  indented(row) {
    const [page, offset] = this.at(row);
    return page && page.indented[offset];
  }

  mark(row, column) {
    const [page, offset] = this.at(row);
    return page ? page.marks.get(`${offset}:${column}`) : undefined;
  }

  editor(row, column) {
    const [page, offset] = this.at(row);
    return page ? page.editors.get(`${offset}:${column}`) : undefined;
  }
}

// ---- the widths of columns

const SIDES = 14; // pixels beside a text
const LEAST = 140; // pixels below which a text is not worth showing
const NAME = 160; // pixels of a name that lose its middle so that more columns are in sight
const SMALL = 11 / 13; // the size of old values and figures of use, of that of texts
const NEAR = 80, FULL = 90, MOST = 999; // percent of a limit: from where its figure is shown, looks bad, and is not exact
const INDENT = 16; // pixels of a row that belongs to the one above it

const identifies = ({ look }) => look === "name" || look === "key";
const isText = ({ look }) => look === "text" || look === "prose";

// The widths of columns, from those that they want: where not all fit, texts give way, then what identifies a row, which
// has half of the room at most; numbers and badges never do. What is left goes to the last text, else to all numbers alike.
function shared(columns, room) {
  const widths = columns.map(({ wanted }) => wanted), sum = () => widths.reduce((all, width) => all + width, 0);
  const giveWay = (fits, least, isTight) => {
    for (let cap = Math.max(0, ...widths); cap >= least && isTight(); cap -= 2) {
      columns.forEach((column, n) => { if (fits(column)) widths[n] = Math.min(widths[n], cap); });
    }
  };
  const named = () => columns.reduce((all, column, n) => all + (identifies(column) ? widths[n] : 0), 0);
  giveWay(isText, LEAST, () => sum() > room);
  giveWay(identifies, NAME, () => sum() > room);
  giveWay(identifies, 40, () => sum() > room && named() > room / 2);
  const wide = columns.findLastIndex(isText), numbers = columns.map((_, n) => n).filter((n) => columns[n].look === "number");
  const takers = wide >= 0 ? [wide] : numbers.length ? numbers : [columns.length - 1];
  const left = Math.max(0, room - sum());
  for (const n of takers) if (n >= 0) widths[n] += Math.floor(left / takers.length);
  return widths;
}

// ---- the cell editors

const EDITORS = {
  text(start) {
    const input = element(null, "kg-editor", null, "input");
    input.value = start;
    return { node: input, focus: () => input.focus(), value: () => input.value };
  },
  choice(start, editor) {
    const select = element(null, "kg-editor", null, "select");
    const choices = editor.choices.includes(start) ? editor.choices : [start, ...editor.choices];
    for (const choice of choices) {
      const option = element(select, "", null, "option");
      option.value = choice;
      option.textContent = choice || "(reset)";
    }
    select.value = start;
    return { node: select, focus: () => select.focus(), value: () => select.value };
  },
};

// ---- the grid

const KEYS = [
  "Enter or F2 edit · / filter · u undo · U redo · p plan · Delete empty",
  "Ctrl-C/V copy, paste · Shift select · Alt ← → width",
];

function render({ model, el }) {
  const view = Math.random().toString(36).slice(2, 12);
  const columns = model.get("columns");
  const rows = new Rows(model, view);
  const drawn = new Map(); // row number -> element
  let top = 0, scale = 1, height = model.get("height"), scrolled = 0; // `scrolled` is the scroller's own measure of `top`
  const measure = document.createElement("canvas").getContext("2d");
  const dragged = new Map(); // widths that somebody chose
  let hidden = columns.map(() => false), widths = [], heads = null, hasMore = false; // whether columns are shown that hold nothing
  const sticky = columns.findIndex((column) => !identifies(column)); // those before it stay in view
  let active = [0, 0], anchor = [0, 0], editing = null, hasFocus = false, isDead = false;
  let isHelping = false; // the two lines say the keys
  let isJudged = false; // after an edit: the remarks stay on the edited cell until somebody moves on

  el.classList.add("kadmin-grid");
  el.dataset.lmSuppressShortcuts = "true"; // else Lab takes keys: `d` twice deletes the notebook's cell
  const scroller = element(el, "kg-scroll");
  scroller.style.height = `${height}px`;
  // All rows' height: the rows that are drawn lie in it at their places, so that the browser itself scrolls them, and a
  // click lands where one looks. Over them the editor of a cell, which is not one of them.
  const layer = element(scroller, "kg-layer");
  const grid = element(layer, "kg-grid", "grid");
  grid.setAttribute("aria-label", model.get("label"));
  grid.setAttribute("aria-colcount", columns.length);
  grid.setAttribute("aria-multiselectable", "true");
  const empty = element(el, "kg-empty");
  // The chosen cell in words, as the formula bar of a spreadsheet: two lines that are always there, so that nothing moves.
  const formula = element(el, "kg-formula");
  const said = [element(formula, "kg-line"), element(formula, "kg-line")];
  const why = element(formula, "kg-link kg-why", null, "button");
  why.textContent = "why…";
  why.addEventListener("click", () => send({ kind: "why" }));
  const foot = element(el, "kg-foot");
  const status = element(foot, "kg-status", "status");
  status.setAttribute("aria-live", "polite");
  status.textContent = model.get("legend");
  const link = (text, act) => {
    const made = element(foot, "kg-link", null, "button");
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  };
  link("Undo", () => send({ kind: "undo" })).title = "Ctrl-Z";
  link("Redo", () => send({ kind: "redo" })).title = "Ctrl-Y";
  const more = link("", () => {
    hasMore = !hasMore;
    layout();
  });
  const keys = link("?", () => help());
  keys.title = "the keys: ?";
  keys.setAttribute("aria-label", "keys");

  const head = element(grid, "kg-row kg-head", "row");
  head.setAttribute("aria-rowindex", 1);
  columns.forEach((column, n) => {
    const cell = element(head, "kg-cell", "columnheader");
    cell.append(column.label);
    cell.title = column.hint || column.label;
    cell.setAttribute("aria-colindex", n + 1);
    cell.tabIndex = -1;
    if (column.look === "number") cell.classList.add("kg-number");
    element(cell, "kg-grip").addEventListener("mousedown", (event) => drag(event, n));
    cell.lastChild.addEventListener("click", (event) => event.stopPropagation());
    cell.lastChild.addEventListener("dblclick", () => setWidth(n, null));
  });

  // -- drawing

  const heightOf = () => rows.total * LINE + HEAD;

  // -- widths

  const widthOf = (text) => Math.ceil(measure.measureText(text).width);

  // A text without its middle, where there is no room for it: names differ at both ends.
  function shortened(text, room) {
    if (widthOf(text) <= room) return text;
    let kept = text.length - 1;
    const cut = () => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
    while (kept > 4 && widthOf(cut()) > room) kept -= Math.max(1, Math.floor(kept / 16));
    return cut();
  }

  const figure = (used) => (used > MOST ? `>${MOST} %` : used >= NEAR ? `${used} %` : "");

  // The pixels of a cell's text with what stands before it.
  function needed(page, row, n) {
    const text = n ? page.cells[n][row] : page.indented[row] || page.cells[0][row];
    const mark = page.marks.get(`${row}:${n}`);
    if (!mark) return widthOf(text) + (n || !page.indented[row] ? 0 : INDENT);
    const before = [mark.old, figure(mark.used)].filter(Boolean).map((small) => 6 + SMALL * widthOf(small));
    return before.reduce((sum, width) => sum + width, widthOf((mark.state === "shadowed" ? "⊘ " : "") + (text || mark.applies)));
  }

  // A column in which nothing stands, and nothing can be typed, is not shown; one that nobody uses only where asked for.
  function fit() {
    const style = getComputedStyle(el);
    const font = `${style.fontSize} ${style.fontFamily}`;
    measure.font = `600 ${font}`;
    heads ||= columns.map((column) => widthOf(column.label));
    measure.font = font;
    const pages = [...rows.pages.values()].filter((page) => page.keys.length);
    const says = columns.map((_, n) => !pages.length || pages.some((page) => page.cells[n].some(Boolean)));
    const isFree = (n) => columns[n].is_editable && pages.some((page) => page.keys.some((_, row) => !isLocked(page.editors.get(`${row}:${n}`))));
    const rare = columns.map((column, n) => column.is_rare && !says[n]);
    hidden = columns.map((_, n) => !says[n] && (rare[n] ? !hasMore : !isFree(n)));
    const kept = rare.filter(Boolean).length;
    more.textContent = hasMore ? "fewer keys" : `more keys (${kept})`;
    more.hidden = !kept;
    for (const page of pages) page.widths ||= columns.map((_, n) => Math.max(0, ...page.keys.map((_, row) => needed(page, row, n))));
    const shown = columns.map((_, n) => n).filter((n) => !hidden[n]);
    const wanted = shown.map((n) => {
      return { look: columns[n].look, wanted: Math.ceil(Math.max(heads[n], ...pages.map((page) => page.widths[n]))) + SIDES };
    });
    shared(wanted, scroller.clientWidth).forEach((width, at) => (widths[shown[at]] = dragged.get(shown[at]) ?? width));
    layer.style.minWidth = `${shown.reduce((sum, n) => sum + widths[n], 0)}px`;
    [head, ...drawn.values()].forEach(arrange);
  }

  function arrange(row) {
    let left = 0;
    [...row.children].forEach((cell, n) => {
      cell.classList.toggle("kg-hidden", hidden[n]);
      cell.style.width = `${widths[n]}px`;
      if (hidden[n] || n >= sticky) return;
      cell.style.left = `${left}px`;
      left += widths[n];
    });
  }

  function setWidth(n, width) {
    width === null ? dragged.delete(n) : dragged.set(n, between(40, width, 2000));
    fit();
  }

  function drag(event, n) {
    const from = event.clientX, width = head.children[n].offsetWidth;
    event.preventDefault();
    event.stopPropagation();
    const move = (over) => setWidth(n, width + over.clientX - from);
    document.addEventListener("mousemove", move);
    document.addEventListener("mouseup", () => document.removeEventListener("mousemove", move), { once: true });
  }

  function layout() {
    fit();
    const bar = scroller.scrollWidth > scroller.clientWidth ? 18 : 2;
    scroller.style.height = `${between(HEAD + 3 * LINE, heightOf() + bar, model.get("height"))}px`;
    const wasAway = !height; // a browser forgets how far a node was scrolled that is out of the page for a while
    height = scroller.clientHeight;
    const whole = heightOf();
    const shown = Math.min(TALLEST, whole);
    layer.style.height = `${shown}px`;
    scroller.style.scrollPaddingTop = `${HEAD}px`;
    scale = whole === shown ? 1 : (whole - height) / (shown - height);
    grid.setAttribute("aria-rowcount", rows.total + 1);
    empty.textContent = rows.total ? "" : "no rows";
    top = clampTop(top);
    for (const end of [active, anchor]) end[0] = between(-1, end[0], rows.total - 1);
    wasAway ? setTop(top) : paint();
  }

  const clampTop = (value) => between(0, value, Math.max(0, heightOf() - height));

  function visible() {
    const first = Math.floor(top / LINE);
    return [first, Math.min(rows.total - 1, first + Math.ceil((height - HEAD) / LINE))];
  }

  function paint() {
    const view = visible(), [first, last] = [Math.max(0, view[0] - AHEAD), Math.min(rows.total - 1, view[1] + AHEAD)];
    if (!isDead) rows.want(Math.max(0, first - 10), Math.max(0, Math.min(rows.total - 1, last + 10)));
    const shown = [];
    for (let row = first; row <= last; row++) shown.push(row);
    const kept = editing ? editing.row : active[0]; // the focus stays in the page while its row is scrolled away
    if (kept >= 0 && kept < rows.total && (kept < first || kept > last)) shown.push(kept);
    for (const [row, node] of drawn) {
      if (!shown.includes(row)) {
        node.remove();
        drawn.delete(row);
      }
    }
    shown.forEach((row) => paintRow(row));
    paintHead();
    if (editing) placeEditor();
  }

  // The pixels of a row below the top of the layer. Where there are more rows than a browser has pixels, those near the
  // view are moved to it, and one that is kept lies just out of it.
  function placeOfRow(row) {
    const place = HEAD + row * LINE;
    return scale === 1 ? place : scroller.scrollTop + between(-9e3, place - top, 9e3);
  }

  function paintRow(row) {
    let node = drawn.get(row);
    if (!node) {
      node = element(grid, "kg-row", "row");
      node.setAttribute("aria-rowindex", row + 2);
      columns.forEach((column, n) => {
        const cell = element(node, "kg-cell", n ? "gridcell" : "rowheader");
        cell.setAttribute("aria-colindex", n + 1);
        if (column.look === "number") cell.classList.add("kg-number");
      });
      arrange(node);
      drawn.set(row, node);
    }
    node.style.transform = `translateY(${placeOfRow(row)}px)`;
    [...node.children].forEach((cell, n) => paintCell(cell, row, n));
  }

  function paintCell(cell, row, n) {
    const text = rows.text(row, n), mark = rows.mark(row, n), editor = rows.editor(row, n), column = columns[n];
    const { state = "", note = "", old, applies = "", used = null } = mark || {}, short = n ? "" : rows.indented(row);
    const content = [text, state, note, old, applies, used, short, identifies(column) && widths[n]].join("\u0000");
    if (cell.kgContent !== content) {
      cell.kgContent = content;
      cell.textContent = "";
      if (used !== null) paintUse(cell, used);
      if (old && old !== text) element(cell, "kg-old", null, "s").textContent = old;
      const whole = text === null ? "…" : short || text || applies;
      const room = widths[n] - SIDES + 2 - (short ? INDENT : 0);
      cell.append(identifies(column) ? shortened(whole, room) : whole);
      cell.classList.toggle("kg-indented", Boolean(short));
      cell.classList.toggle("kg-applies", state === "applies" || Boolean(!text && applies));
      for (const one of ["staged", "danger", "shadowed", "refused"]) cell.classList.toggle(`kg-${one}`, state === one);
      cell.toggleAttribute("aria-invalid", false);
      if (state === "refused") cell.setAttribute("aria-invalid", "true");
      const said = text === null ? "…" : spoken(text, state, old, applies);
      cell.setAttribute("aria-label", used === null ? said : `${said}, ${used} % used`);
      cell.title = [text || applies, note].filter(Boolean).join("\n");
    }
    const canEdit = column.is_editable && !isLocked(editor);
    if (column.is_editable) cell.setAttribute("aria-readonly", canEdit ? "false" : "true");
    cell.classList.toggle("kg-locked", column.is_editable && !canEdit);
    const isActive = row === active[0] && n === active[1];
    cell.tabIndex = isActive ? 0 : -1;
    cell.classList.toggle("kg-active", isActive && hasFocus);
    const isSelected = isInSelection(row, n);
    cell.classList.toggle("kg-selected", isSelected && !isSingle());
    cell.setAttribute("aria-selected", isSelected ? "true" : "false");
  }

  // A thin bar of use against the limit that applies, with the figure where it is near.
  function paintUse(cell, used) {
    const look = used >= FULL ? " kg-full" : used >= NEAR ? " kg-near" : "";
    element(cell, `kg-bar${look}`).style.width = `${between(0, used, 100)}%`;
    if (used >= NEAR) element(cell, `kg-figure${look}`, null, "span").textContent = figure(used);
  }

  function paintHead() {
    [...head.children].forEach((cell, n) => {
      cell.tabIndex = (active[0] === -1 && active[1] === n) || (!rows.total && !n) ? 0 : -1;
      cell.classList.toggle("kg-active", active[0] === -1 && active[1] === n && hasFocus);
    });
  }

  // A cell for those who do not see its colours.
  function spoken(text, state, old, applies) {
    const rest = !text && applies ? `not set, ${applies} applies` : "";
    if (old !== null && old !== undefined) return text ? `${text} was ${old || "not set"}` : `removed, was ${old}, ${rest}`;
    return state === "shadowed" ? `${text}, does not apply` : text || rest;
  }

  // -- where we are

  const isSingle = () => active[0] === anchor[0] && active[1] === anchor[1];

  function selection() {
    const [first, last] = [Math.min(active[0], anchor[0]), Math.max(active[0], anchor[0])];
    const [left, right] = [Math.min(active[1], anchor[1]), Math.max(active[1], anchor[1])];
    return { first: Math.max(0, first), last, left, right };
  }

  function isInSelection(row, column) {
    const { first, last, left, right } = selection();
    return row >= first && row <= last && column >= left && column <= right;
  }

  const cellAt = (row, column) => (row < 0 ? head : drawn.get(row))?.children[column];

  function moveTo(row, column, extend = false, afterEdit = false) {
    isJudged = afterEdit;
    if (isHelping) help();
    const step = column < active[1] ? -1 : 1;
    while (hidden[column]) column += step;
    if (column < 0 || column >= columns.length) column = step > 0 ? hidden.lastIndexOf(false) : hidden.indexOf(false);
    active = [between(-1, row, rows.total - 1), between(0, column, columns.length - 1)];
    if (!extend) anchor = [...active];
    show(active[0]);
    paint();
    const cell = cellAt(...active);
    if (cell) {
      cell.focus({ preventScroll: true });
      showColumn(cell);
    }
    if (active[0] >= 0 && !extend && !afterEdit) announce();
  }

  // Texts for the selected cells.
  function paste(text) {
    const { first, last, left, right } = selection(), key = rows.key(first);
    if (key === null) return;
    const size = { rows: last - first + 1, columns: right - left + 1 };
    send({ kind: "block", position: first, key, column: columns[left].name, ...size, text });
  }

  let announced = "";
  function announce() {
    if (isJudged) return;
    const key = rows.key(active[0]), column = columns[active[1]].name;
    if (key === null || announced === `${rows.epoch} ${key}\u0000${column}`) return;
    announced = `${rows.epoch} ${key}\u0000${column}`;
    rows.send({ kind: "focus", position: active[0], key, column });
  }

  // Something is done to the cell in focus: the remarks are about it from now on.
  function look() {
    if (!isJudged) return;
    isJudged = false;
    announce();
  }

  function show(row) {
    if (row < 0) return;
    const above = row * LINE, below = HEAD + (row + 1) * LINE - height;
    if (top > above) setTop(above);
    else if (top < below) setTop(below);
  }

  function showColumn(cell) {
    const n = Number(cell.getAttribute("aria-colindex")) - 1;
    if (n < sticky) return;
    const before = widths.reduce((sum, width, at) => sum + (at < sticky && !hidden[at] ? width : 0), 0);
    const left = cell.offsetLeft, right = left + cell.offsetWidth;
    if (left - before < scroller.scrollLeft) scroller.scrollLeft = left - before;
    else if (right > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = Math.min(left - before, right - scroller.clientWidth);
  }

  function setTop(value) {
    top = clampTop(value);
    scroller.scrollTop = Math.round(top / scale);
    scrolled = scroller.scrollTop;
    paint();
  }

  // -- changes

  function say(text, ok = true) {
    status.textContent = text;
    status.classList.toggle("kg-bad", !ok);
  }

  function send(message) {
    if (!rows.send(message)) die();
  }

  function edit(start = null) {
    const [row, n] = active;
    if (row < 0) return;
    const editor = rows.editor(row, n), key = rows.key(row);
    if (key === null || isDead) return;
    look();
    if (!columns[n].is_editable || isLocked(editor)) {
      const reason = rows.mark(row, n)?.note;
      say(`${columns[n].label} of ${key} cannot be edited${reason ? `: ${reason}` : ""}`, false);
      return;
    }
    const kind = editor ? editor.kind : "text";
    const text = editor?.text ?? rows.text(row, n);
    const made = EDITORS[kind](start !== null && kind === "text" ? start : text, editor);
    made.node.setAttribute("aria-label", `${columns[n].label} of ${key}`);
    const begun = start !== null && kind === "text" ? text : made.value(); // an editor may write a text otherwise
    editing = { row, column: n, key, made, text: begun };
    placeEditor();
    layer.append(made.node);
    made.focus();
    if (start === null && made.node.select) made.node.select();
    made.node.addEventListener("focusout", (event) => {
      if (editing && editing.made === made && !made.node.contains(event.relatedTarget)) finish(true, null);
    });
  }

  function placeEditor() {
    const { row, column, made } = editing, cell = cellAt(row, column), { style } = made.node;
    if (!cell) return; // rows were filtered away meanwhile
    style.top = `${placeOfRow(row) + cell.offsetTop}px`;
    style.left = `${cell.offsetLeft}px`;
    style.minWidth = `${cell.offsetWidth}px`;
  }

  // Ends the editor; `step` is where the focus goes afterwards, none where somebody has clicked elsewhere.
  function finish(take, step) {
    const { row, column, key, made, text } = editing;
    editing = null;
    const value = made.value();
    made.node.remove();
    const isEdited = take && value !== text;
    if (isEdited) send({ kind: "edit", cells: [{ position: row, key, column: columns[column].name, text: value }] });
    if (step) moveTo(row + step[0], column + step[1], false, isEdited);
    else paint();
  }

  const isLocked = (editor) => editor?.kind === "locked";

  function clear() {
    look();
    const { first, last, left, right } = selection(), cells = [];
    for (let row = first; row <= last; row++) {
      for (let n = left; n <= right; n++) {
        const editor = rows.editor(row, n);
        if (columns[n].is_editable && !isLocked(editor) && rows.key(row) !== null && rows.text(row, n)) {
          cells.push({ position: row, key: rows.key(row), column: columns[n].name, text: "" });
        }
      }
    }
    if (cells.length) send({ kind: "edit", cells });
  }

  function copied() {
    const { first, last, left, right } = selection(), lines = [];
    for (let row = first; row <= last; row++) {
      if (rows.key(row) === null) return null;
      const texts = [];
      for (let n = left; n <= right; n++) if (!hidden[n]) texts.push(quoted(rows.text(row, n)));
      lines.push(texts.join("\t"));
    }
    return lines.join("\n");
  }

  const quoted = (text) => (/["\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  // -- keys, mouse, clipboard

  const MOVES = {
    ArrowUp: () => [-1, 0],
    ArrowDown: () => [1, 0],
    ArrowLeft: () => [0, -1],
    ArrowRight: () => [0, 1],
    PageUp: () => [-Math.floor(height / LINE) + 2, 0],
    PageDown: () => [Math.floor(height / LINE) - 2, 0],
  };

  function jump(event) {
    const far = event.ctrlKey || event.metaKey;
    if (event.key === "Home") return [far ? 0 : active[0], 0];
    if (event.key === "End") return [far ? rows.total - 1 : active[0], columns.length - 1];
    const [down, right] = MOVES[event.key]();
    return far ? [down ? (down < 0 ? 0 : rows.total - 1) : active[0], right ? (right < 0 ? 0 : columns.length - 1) : active[1]] : [active[0] + down, active[1] + right];
  }

  function keyInEditor(event) {
    if (event.isComposing) return;
    if (event.key === "Enter") {
      finish(true, [1, 0]);
    } else if (event.key === "Tab") finish(true, [0, event.shiftKey ? -1 : 1]);
    else if (event.key === "Escape") finish(false, [0, 0]);
    else return;
    event.preventDefault();
  }

  const above = (what) => el.previousElementSibling?.querySelector(what);
  // A key that is a letter, where no text can begin with it: limits are numbers, values of configs are not.
  const LETTERS = {
    "/": () => above("input")?.focus(),
    "?": help,
    u: () => send({ kind: "undo" }),
    U: () => send({ kind: "redo" }),
    p: () => above(".mod-primary")?.click(),
  };
  const takesText = ([row, n]) => row >= 0 && columns[n].is_editable && columns[n].look !== "number";

  function keyInGrid(event) {
    const command = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (event.altKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      setWidth(active[1], head.children[active[1]].offsetWidth + (event.key === "ArrowRight" ? 16 : -16));
    } else if (event.key in MOVES || event.key === "Home" || event.key === "End") moveTo(...jump(event), event.shiftKey);
    else if (event.key === "Enter" || event.key === "F2") edit();
    else if (event.key === "Delete" || (event.key === "Backspace" && !command)) clear();
    else if (event.key === "Escape") moveTo(...active);
    else if (command && key === "z") send({ kind: event.shiftKey ? "redo" : "undo" });
    else if (command && key === "y") send({ kind: "redo" });
    else if (event.key.length > 1 || command || event.altKey) return;
    else if (LETTERS[event.key] && !takesText(active)) LETTERS[event.key]();
    else if (active[0] >= 0) edit(event.key);
    else return;
    event.preventDefault();
  }

  el.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.target.classList.contains("kg-link")) return;
    editing ? keyInEditor(event) : keyInGrid(event);
  });
  for (const name of ["keyup", "keypress"]) el.addEventListener(name, (event) => event.stopPropagation());

  el.addEventListener("copy", (event) => {
    if (editing) return;
    const text = copied();
    say(text === null ? "The selection has not been read in full yet: scroll over it, then copy." : "copied", text !== null);
    if (text === null) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  });
  el.addEventListener("paste", (event) => {
    event.stopPropagation();
    if (editing) return;
    look();
    paste(event.clipboardData.getData("text/plain"));
    event.preventDefault();
  });

  function placeOf(event) {
    const cell = event.target.closest?.(".kg-cell"), row = cell?.parentElement;
    if (!row || row === head) return null;
    return [Number(row.getAttribute("aria-rowindex")) - 2, Number(cell.getAttribute("aria-colindex")) - 1];
  }

  grid.addEventListener("mousedown", (event) => {
    const place = placeOf(event);
    if (!place || event.button) return;
    event.preventDefault();
    if (editing) finish(true, null);
    moveTo(...place, event.shiftKey);
    const drag = (move) => {
      const over = placeOf(move);
      if (over && (over[0] !== active[0] || over[1] !== active[1])) moveTo(...over, true);
    };
    const end = () => {
      document.removeEventListener("mousemove", drag);
      document.removeEventListener("mouseup", end);
    };
    document.addEventListener("mousemove", drag);
    document.addEventListener("mouseup", end);
  });
  grid.addEventListener("dblclick", (event) => placeOf(event) && edit());
  // Painted later: a row that is removed with the focus in it comes here in the middle of painting.
  function focusMoved(isHere) {
    if (hasFocus === isHere) return;
    hasFocus = isHere;
    requestAnimationFrame(paint);
  }
  el.addEventListener("focusin", () => {
    focusMoved(true);
    announce();
  });
  el.addEventListener("focusout", (event) => el.contains(event.relatedTarget) || focusMoved(false));

  // The browser has moved what is drawn by `step`; where a pixel stands for several, a jump beyond it is a place in the whole.
  scroller.addEventListener("scroll", () => {
    const step = scroller.scrollTop - scrolled;
    if (scale > 1 && Math.abs(step) < height + AHEAD * LINE) return step ? setTop(top + step) : paint();
    scrolled = scroller.scrollTop;
    top = clampTop(scrolled * scale);
    paint();
  }, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    const wanted = clampTop(top + event.deltaY);
    if (scale > 1 && wanted !== top && !event.ctrlKey) {
      event.preventDefault();
      setTop(wanted);
    }
  }, { passive: false });

  // -- messages

  function received(message) {
    if (message.kind === "notice") return say(message.text, message.ok);
    if (message.kind === "show") return showCell(message.position, columns.findIndex((column) => column.name === message.column));
    if (message.view === view && message.kind === "window" && rows.take(message)) layout();
  }

  function showCell(position, column) {
    if (hidden[column]) {
      hasMore = true;
      layout();
    }
    moveTo(position, column);
  }

  // Say the keys in the two lines, until somebody moves on.
  function help() {
    isHelping = !isHelping;
    explain();
  }

  function explain() {
    const lines = isHelping ? KEYS : model.get("formula");
    formula.hidden = !lines.length;
    said.forEach((line, n) => (line.textContent = line.title = lines[n] || ""));
    why.hidden = isHelping || lines.length < 2;
  }

  function die() {
    if (isDead) return;
    isDead = true;
    el.classList.add("kg-dead");
    say("The kernel of this table has stopped: run the cell again.", false);
  }

  model.on("msg:custom", received);
  model.on("change:formula", explain);
  explain();
  const greet = () => rows.send({ kind: "hello", epoch: rows.epoch }) || die();
  model.on("comm_live_update", greet); // after a restart nothing can be sent any more
  greet();
  const watcher = new ResizeObserver(layout); // also the first drawing: `el` is not in the page yet
  watcher.observe(scroller);
  return () => {
    rows.send({ kind: "bye" });
    model.off("msg:custom", received);
    model.off("change:formula", explain);
    model.off("comm_live_update", greet);
    watcher.disconnect();
  };
}

export default { render };
