// A list of which only the rows in sight exist, so that a hundred thousand rows scroll as ten do.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../dom.js";

const ROW_HEIGHT = 34; // as .vrow in the style
const MORE_ROWS = 12; // beyond the edges, so that scrolling shows no blanks

/**
 * `row(i)` draws row i of `total`; `onSight(first, last)` hears which rows are in sight; `onOpen(i)` opens one.
 * It is a grid of one tab stop: arrows, Page Up, Page Down, Home and End move, Enter opens.
 */
export function VirtualList({ total, row, columns, onSight, onOpen, label }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setHeight(Math.min(box.current.clientHeight, window.innerHeight)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MORE_ROWS);
  const last = Math.min(total, Math.ceil((top + height) / ROW_HEIGHT) + MORE_ROWS);
  useEffect(() => onSight?.(first, last), [first, last, total]);

  const move = (to) => {
    const next = Math.max(0, Math.min(total - 1, to));
    setActive(next);
    const y = next * ROW_HEIGHT;
    if (y < box.current.scrollTop) box.current.scrollTop = y;
    else if (y + ROW_HEIGHT > box.current.scrollTop + box.current.clientHeight)
      box.current.scrollTop = y + ROW_HEIGHT - box.current.clientHeight;
  };
  const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1);
  const steps = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: total - 1 };
  const onKeyDown = (event) => {
    if (event.key in steps) move(steps[event.key]);
    else if (event.key === "Enter") onOpen?.(active);
    else return;
    event.preventDefault();
  };
  const rows = [];
  for (let i = first; i < last; i++) rows.push(i);
  return html`<div class="vlist" role="grid" aria-label=${label} aria-rowcount=${total + 1}>
    <div class="vhead" role="row" aria-rowindex="1">${columns.map((name) => html`<span role="columnheader">${name}</span>`)}</div>
    <div class="vbody" ref=${box} tabindex="0" role="rowgroup" aria-label=${label}
      aria-activedescendant=${total ? `row-${active}` : undefined}
      onScroll=${(event) => setTop(event.currentTarget.scrollTop)} onKeyDown=${onKeyDown}>
      <div class="vspace" style=${{ height: `${total * ROW_HEIGHT}px` }}>
        ${rows.map((i) => html`<div key=${i} id=${`row-${i}`} class=${i === active ? "vrow active" : "vrow"} role="row"
          aria-rowindex=${i + 2} aria-selected=${i === active} style=${{ top: `${i * ROW_HEIGHT}px` }}
          onClick=${() => { setActive(i); onOpen?.(i); }}>${row(i)}</div>`)}
      </div>
    </div>
  </div>`;
}
