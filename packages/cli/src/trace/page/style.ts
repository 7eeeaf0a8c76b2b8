/** The page's style. Colours have a contrast of at least 4.5 : 1 on their background, in both schemes. */
export const STYLE: string = `
:root {
  color-scheme: light dark;
  --back: #f6f7f9; --panel: #ffffff; --text: #1b1f24; --soft: #555e6a; --line: #d5dae0; --accent: #0b5cad;
  --chosen: #e3effb; --added: #11682f; --changed: #7a4b00; --removed: #b3261e;
  --pull: #6b5bb5; --start: #0b7285; --run: #2b8a3e; --other: #9aa3ad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --panel: #1d2126; --text: #e6e9ed; --soft: #a3adb9; --line: #363d46; --accent: #7ab7f5;
    --chosen: #22364a; --added: #6fd08c; --changed: #e8b45a; --removed: #ff938a;
    --pull: #a99bf0; --start: #4fc3d4; --run: #6fd08c; --other: #6b7480;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header, main { max-width: 1280px; margin: 0 auto; padding: 16px 20px; }
header { padding-top: 24px; padding-bottom: 0; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 8px; font-size: 1.1rem; overflow-wrap: anywhere; }
h3 { margin: 16px 0 6px; font-size: 1rem; overflow-wrap: anywhere; }
h4 { margin: 10px 0 2px; font-size: 0.9rem; }
p { margin: 0 0 8px; }
ul, ol { margin: 0; padding: 0; list-style: none; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 0; margin-top: 4px; color: var(--soft); }
.facts li:not(:last-child)::after { content: "\\00b7" / ""; margin: 0 8px; }
.facts .ok { color: var(--added); } .facts .bad { color: var(--removed); font-weight: 600; }
.steps { display: flex; flex-wrap: wrap; gap: 14px 24px; }
.steps > li { position: relative; flex: 1 1 210px; max-width: 340px; min-width: 0; }
.steps > li:not(:last-child)::after { content: "\\2192" / ""; position: absolute; right: -19px; top: 50%; translate: 0 -50%; color: var(--soft); }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; text-align: left; cursor: pointer; }
button:focus-visible, summary:focus-visible, input:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.step { display: block; width: 100%; height: 100%; padding: 12px 14px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; }
.step:hover { border-color: var(--accent); }
.step[aria-current] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.step.origin-of-field { background: var(--chosen); }
.step > span { display: block; }
.step > .spoken, .spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); font-size: 0; white-space: nowrap; }
button.path { display: inline; position: relative; } button.path:hover { color: var(--accent); text-decoration: underline; }
.choice { display: flex; gap: 6px; align-items: baseline; font-size: 0.85rem; } .choice input { width: auto; } .choice label { margin: 0; }
.step-head { font-weight: 600; overflow-wrap: anywhere; }
.number { display: inline-block; min-width: 1.6em; margin-right: 8px; border-radius: 999px; text-align: center; font-size: 0.85em; background: var(--line); }
.step > .step-line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 8px; font-size: 0.87rem; color: var(--soft); }
.status.Succeeded { color: var(--added); } .status.Fatal, .status.Failed { color: var(--removed); font-weight: 600; }
.step > .bar { display: flex; height: 6px; margin: 6px 0; border-radius: 3px; overflow: hidden; background: var(--back); }
.segment { height: 100%; } .pull { background: var(--pull); } .start { background: var(--start); } .run { background: var(--run); } .other { background: var(--other); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 8px 0 0; font-size: 0.82rem; color: var(--soft); }
.legend span::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 5px; border-radius: 2px; background: var(--c); }
.legend .l-pull { --c: var(--pull); } .legend .l-start { --c: var(--start); } .legend .l-run { --c: var(--run); } .legend .l-other { --c: var(--other); }
.step > .origin-mark { display: none; position: absolute; top: -10px; right: 10px; padding: 0 8px; font-size: 0.8rem; font-weight: 600; color: var(--accent); background: var(--panel); border: 1px solid var(--accent); border-radius: 999px; }
.origin-of-field > .origin-mark { display: block; }
.added { color: var(--added); } .changed { color: var(--changed); } .removed, .deleted { color: var(--removed); }
.panels { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px; align-items: start; margin-top: 16px; }
.panel { min-width: 0; padding: 16px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; }
.image { color: var(--soft); font-family: ui-monospace, monospace; font-size: 0.85rem; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: 6px 24px; margin: 0 0 8px; }
dl > div { min-width: 0; } dt { font-size: 0.8rem; color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.note { color: var(--soft); font-weight: 400; font-size: 0.85rem; }
details.entry { border-top: 1px solid var(--line); padding: 6px 0; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; border-radius: 4px; }
.diff, .tree, .value, .path, .origin, .history { font-family: ui-monospace, monospace; font-size: 0.85rem; overflow-wrap: anywhere; }
.diff li { display: grid; grid-template-columns: 1.4em minmax(0, 1fr); padding: 1px 0; color: var(--text); }
.sign { font-weight: 700; }
.diff .added .sign { color: var(--added); } .diff .changed .sign { color: var(--changed); } .diff .removed .sign { color: var(--removed); }
.value { white-space: pre-wrap; unicode-bidi: isolate; }
ins.value { color: var(--added); text-decoration: none; } del.value { color: var(--removed); text-decoration: none; }
.stderr { max-height: 20em; overflow: auto; margin: 0; padding: 8px 10px; background: var(--back); border-radius: 6px; font: 0.85rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.origin { color: var(--soft); }
.results { display: grid; gap: 4px; } .result { overflow-wrap: anywhere; white-space: pre-wrap; }
.result.Warning strong { color: var(--changed); } .result.Fatal strong { color: var(--removed); }
label { display: block; margin-bottom: 4px; }
input { width: 100%; padding: 7px 10px; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: 6px; }
#found { margin: 4px 0 8px; color: var(--soft); font-size: 0.85rem; }
#answer { max-height: 45vh; overflow: auto; padding: 10px 12px; margin-bottom: 10px; background: var(--chosen); border-radius: 6px; }
#answer h3 { margin-top: 0; } #answer > .value { max-height: 12em; overflow: auto; }
.open-step, .more { color: var(--accent); text-decoration: underline; }
.field { position: relative; display: flex; justify-content: space-between; width: 100%; gap: 0 8px; align-items: baseline; border-radius: 4px; }
.field:hover, .field[aria-pressed] { background: var(--chosen); }
.field .body { min-width: 0; max-height: 6em; overflow: hidden; }
.key { flex: 0 1 auto; min-width: 0; }
.tree li { --depth: 0; padding-left: calc(var(--depth) * 14px); }
.key { color: var(--soft); }
.by { flex: none; max-width: 40%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding: 0 6px; font: 0.78rem/1.5 system-ui, sans-serif; border: 1px solid var(--line); border-radius: 999px; color: var(--soft); }
${Array.from({ length: 12 }, (_, index) => `.tree .depth-${index + 1} { --depth: ${index + 1}; }`).join("\n")}
@media (min-width: 861px) {
  .questions { position: sticky; top: 12px; }
  #fields { max-height: max(260px, calc(100vh - 330px)); overflow: auto; scrollbar-gutter: stable; }
}
@media (max-width: 860px) {
  .panels { grid-template-columns: minmax(0, 1fr); }
  #answer { position: sticky; top: 0; border-bottom: 1px solid var(--line); }
}
@media (max-width: 560px) {
  .tree li { padding-left: calc(var(--depth) * 6px); }
  header, main { padding-left: 12px; padding-right: 12px; }
  .steps > li { flex-basis: 100%; max-width: none; } .steps { gap: 22px; }
  .steps > li:not(:last-child)::after { content: "\\2193" / ""; right: 50%; top: auto; bottom: -23px; translate: 50% 0; }
}
`;
