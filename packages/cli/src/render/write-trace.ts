import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { JsonObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import type { Trace } from "@xfn/pipeline/trace";
import { oneLine } from "@xfn/program/terminal-text";
import pico from "picocolors";
import { CliError, usageError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import type { Output } from "../terminal/output.ts";
import { printTrace } from "../trace/print-trace.ts";
import type { TraceForm } from "./render-options.ts";

/** The default file of an HTML page, which is of no use on a terminal. */
export const DEFAULT_PAGE = "trace.html";

/** The destination of a trace. */
export interface WriteTraceOptions {
  /** `--trace-file`, relative to the current directory. Overwritten if it exists. */
  readonly file?: string | undefined;
  /** Gets the trace if there is no file, else one line that names the file. */
  readonly output: Pick<Output, "note">;
  /** Whether to colour the text; default: if stderr is a terminal. Files are never coloured. */
  readonly coloured?: boolean;
}

/** Like recordings, traces are for the user alone, even if the umask allows more. */
const PRIVATE = 0o600;

/** A file of another user, or one in a sticky folder such as /tmp. */
const FOREIGN: ReadonlySet<string> = new Set(["EPERM", "EACCES"]);

/**
 * Writes a trace to stderr or to a file, never to stdout.
 *
 * @throws CliError `Usage` for the file `-`, `Failed` if the file cannot be written
 */
export async function writeTrace(form: TraceForm, trace: Trace, options: WriteTraceOptions): Promise<void> {
  const { output, coloured } = options;
  const file = options.file ?? (form === "html" ? DEFAULT_PAGE : undefined);
  if (file === "-") throw usageError("--trace-file requires the name of a file: stdout is for the rendered objects");
  if (file === undefined) {
    const paint = coloured === undefined ? colours(process.stderr) : pico.createColors(coloured);
    output.note(form === "json" ? traceJson(trace) : printTrace(trace, paint));
    return;
  }
  const text = await fileText(form, trace);
  try {
    await writePrivately(file, text);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    const hint = FOREIGN.has(code)
      ? ": the file or its folder belongs to another user; choose another file with --trace-file"
      : "; see --trace-file";
    throw new CliError("Failed", `cannot write the trace to ${oneLine(file, 300)} (${code})${hint}`, { cause: error });
  }
  output.note(`xfn: trace written to ${oneLine(file, 300)}`);
}

/** A trace has the values of fields, and only those of Secrets are hidden. */
async function writePrivately(file: string, text: string): Promise<void> {
  // Without truncation: a file that is refused stays as it is.
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT, PRIVATE);
  try {
    const stats = await handle.stat();
    // A pipe has no mode of interest.
    if (stats.isFile()) {
      // The owner could add the read permission again, and root can write to the files of all users.
      if (stats.uid !== process.geteuid?.()) throw Object.assign(new Error("not the owner"), { code: "EPERM" });
      await handle.chmod(PRIVATE);
      await handle.truncate();
    }
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
}

async function fileText(form: TraceForm, trace: Trace): Promise<string> {
  if (form === "json") return `${traceJson(trace)}\n`;
  if (form === "text") return `${printTrace(trace, pico.createColors(false))}\n`;
  const { traceHtml } = await import("../trace/page/trace-html.ts");
  return traceHtml(trace);
}

/** Escapes control characters too, so that the JSON is safe on a terminal. */
function traceJson(trace: Trace): string {
  const json = printJson(trace as unknown as JsonObject, 2);
  return json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
