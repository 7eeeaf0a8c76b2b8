import { createHash } from "node:crypto";
import type { JsonObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import type { Trace } from "@xfn/pipeline/trace";
import { pageData } from "./page-data.ts";
import { pageScript } from "./page-script.ts";
import { STYLE } from "./style.ts";

/**
 * Makes a self-contained HTML page, which loads nothing. Its Content-Security-Policy allows exactly this style and this
 * script, so that text of the trace could not run even if it were not escaped.
 */
export function traceHtml(trace: Trace): string {
  const data = pageData(trace);
  const script = pageScript();
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
<div id="answer" role="status"><p>Choose a field of the desired state to see which step set it. Its card is marked above.</p></div>
<p class="choice"><input id="identity" type="checkbox"><label for="identity">Show names, labels and owners that the pipeline sets</label></p>
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

/** Escapes `<`: in a script element `</script>` would end the JSON, and `<!--` would hide what follows. */
function scriptJson(value: JsonObject): string {
  return printJson(value).replaceAll("<", "\\u003c");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
