"""Style and script of the paper's page."""

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --line: #d8d8d8; --soft: #666;
  --band: #f4f1ea; --accent: #0072b2; --warn: #b00020; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e6e6; --paper: #16181c; --line: #3a3d44;
  --soft: #a0a0a0; --band: #22252b; --accent: #6cb8ee; --warn: #ff8a80; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0; }}
main {{ max-width: 100em; margin: 0 auto; padding: 1.5em; }}
h1 {{ font-size: 1.6em; line-height: 1.25; }}
h2 {{ font-size: 1.15em; margin-top: 2.2em; border-top: 1px solid var(--line); padding-top: .8em; }}
p {{ max-width: 60em; }} a {{ color: var(--accent); }} code {{ font-size: .92em; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }}
th, td {{ padding: .28em .55em; text-align: right; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }}
th {{ cursor: pointer; font-weight: 600; white-space: normal; vertical-align: bottom; }}
th:nth-child(-n+2), td:nth-child(-n+2), td:nth-child(10), td:nth-child(12) {{ text-align: left; }}
td details code {{ white-space: normal; display: block; max-width: 26em; }}
tr.paper {{ background: var(--band); }} tr.aside {{ color: var(--soft); }}
tr.ours:hover {{ outline: 1px solid var(--accent); }}
td[colspan] {{ text-align: left; }}
td:nth-child(2) {{ white-space: normal; min-width: 13em; overflow-wrap: anywhere; }}
td:nth-child(10) {{ white-space: normal; min-width: 8em; }}
.missing, .missing td {{ color: var(--warn); }} .settings {{ color: var(--soft); }}
summary {{ cursor: pointer; }}
figure {{ margin: .8em 1.2em .8em 0; display: inline-block; max-width: 100%; vertical-align: top; }}
figure img {{ max-width: min(100%, 40em); height: auto; background: #fff; display: block; }}
figcaption {{ font-size: 12.5px; color: var(--soft); max-width: 40em; }}
svg {{ max-width: 100%; height: auto; }} svg text {{ fill: var(--ink); font-size: 11px; }}
svg .grid {{ stroke: var(--line); }}
.legend {{ list-style: none; margin: 0; padding: 0; font-size: 12.5px; }}
.legend span {{ display: inline-block; width: .8em; height: .8em; margin-right: .5em; }}
@media print {{ body {{ font-size: 11px; }} main {{ max-width: none; padding: 0; }}
  details > summary {{ list-style: none; }} section {{ break-inside: avoid-page; }}
  table {{ font-size: 9px; }} .wide {{ overflow: visible; }} }}
</style></head><body><main>
"""
"""Beginning of the page; {title} is its title."""

SCRIPT = """<script>
document.querySelectorAll("th").forEach(head => head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0];
  const column = [...head.parentNode.children].indexOf(head);
  const down = head.dataset.order === "down";
  head.dataset.order = down ? "up" : "down";
  const key = row => row.cells[column] ? row.cells[column].textContent.trim() : "";
  const number = text => parseFloat(text.replace("−", "-"));
  [...body.rows].sort((first, second) => {
    const [a, b] = [key(first), key(second)], [x, y] = [number(a), number(b)];
    const order = isNaN(x) && isNaN(y) ? a.localeCompare(b) : isNaN(x) ? 1 : isNaN(y) ? -1 : x - y;
    return down ? -order : order;
  }).forEach(row => body.append(row));
}));
</script>
"""
"""Sorts a table by the column whose header is clicked."""
