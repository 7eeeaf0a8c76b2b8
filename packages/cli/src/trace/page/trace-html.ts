import { createHash } from "node:crypto";
import type { JsonObject } from "@xfn/functionio";
import { printJson } from "@xfn/functionio/document";
import type { Trace } from "@xfn/pipeline/trace";
import { tracePage } from "./client.ts";
import { pageData } from "./page-data.ts";
import { STYLE } from "./style.ts";

/**
 * One HTML page, complete in itself: it loads nothing, and can be kept and sent on. Its Content-Security-Policy lets exactly
 * this style and this script run, so that nothing in a trace could, even if it were not escaped.
 */
export function traceHtml(trace: Trace): string {
  const data = pageData(trace);
  const script = `(${tracePage.toString()})(document, JSON.parse(document.getElementById("data").textContent));`;
  const policy = [
    "default-src 'none'",
    `style-src ${hashSource(STYLE)}`,
    `script-src ${hashSource(script)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Trace of ${escapeHtml(data.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1 id="title">Trace</h1>
<ul class="facts" id="facts" aria-label="The run"></ul>
</header>
<main>
<nav aria-label="Pipeline">
<ol class="steps" id="steps"></ol>
<p class="legend" aria-hidden="true"><span class="l-pull">pull</span><span class="l-start">start</span><span class="l-run">run</span><span class="l-other">other</span></p>
</nav>
<div class="panels">
<section class="panel" id="step" aria-label="Step"></section>
<section class="panel questions" aria-labelledby="who">
<h2 id="who">Who set this field?</h2>
<div id="answer" role="status"><p>Choose a field of the desired state: the step that set it is named here, and marked above.</p></div>
<label for="search">Find a field</label>
<input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="spec.storage">
<p id="found" aria-live="polite"></p>
<div id="fields"></div>
</section>
</div>
<noscript><p>This page needs JavaScript. The same trace in text: xfn render --trace.</p></noscript>
</main>
<script type="application/json" id="data">${scriptJson(data as unknown as JsonObject)}</script>
<script>${script}</script>
</body>
</html>
`;
}

function hashSource(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** JSON in a script element: `</script>` and `<!--` would end it, or swallow what follows. */
function scriptJson(value: JsonObject): string {
  return printJson(value).replaceAll("<", "\\u003c");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
